"""Files of every format, as people have them, and broken ones; all made here."""

import gzip
import json
import mailbox
import os
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.documents import Documents, Splitter, holds_documents, worker

pytest.importorskip("kreuzberg")

MARKDOWN = """---
title: Falcon handbook
author: Ann
date: 2024-01-02
tags: [birds, north]
page: 7
---
# Handbook

Falcons are [grey](grey.md) and **fast**.

!!! note "Mind"
    They bite.

## Install

```sh
# no heading
fly --now

```
"""
RST = """
Guide
=====

.. contents::

The :class:`~birds.Falcon` of :doc:`the north </north>` hunts at dawn and
eats this::

    mouse

    vole

.. versionadded:: 2.0

   It dives.

.. tab:: Unix

   .. bird-usage:: dive

Nests
-----

* one nest
  on a cliff
"""
HTML = """<html><head><title>Nests | Falcon docs</title><script>var x = 1</script></head><body>
<nav><a href="/">Home</a> <a href="/x">Shop</a></nav><ul><li><a href="/a">All birds</a></li></ul>
<div class="banner"><p>We use cookies to improve this site. <button>Accept</button></p></div>
<main><h1>Nests<a href="#n">¶</a></h1><p>A nest on a <a href="/cliff">cliff</a> is safe.</p>
<table><tr><th>Nest</th><th>Height</th></tr><tr><td>North</td><td>90 m</td></tr></table>
<dl><dt>Eyrie</dt><dd>A nest of a falcon</dd></dl></main>
<footer>Copyright 2024 Falcon Inc.</footer></body></html>"""
RFC = "\f".join(
    f"Bird                     Standards Track                 [Page {page}]\n\n"
    "RFC 9999          Falcons          May 2024\n\n"
    f"{page}.  Rule {'abcdef'[page]}\n\n   A falcon of kind {page} obeys the\n   rule of its cliff.\n"
    for page in range(1, 5)
)


def pdf(path: Path, pages: list[list[str]], password: str | None = None, *, header_first: bool = False) -> None:
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), encrypt=StandardEncryption(password) if password else None)
    for number, lines in enumerate(pages, 1):
        body = [("Helvetica-Bold", 18, 72, 740, lines[0])]
        body += [("Helvetica", 11, 72, 710 - 14 * at, line) for at, line in enumerate(lines[1:])]
        around = [
            ("Helvetica", 9, 72, 800, "The Falcon Book"),
            ("Helvetica", 9, 280, 30, f"Page {number} of {len(pages)}"),
        ]
        for font, size, x, y, line in around + body if header_first else body + around:
            canvas.setFont(font, size)
            canvas.drawString(x, y, line)
        canvas.showPage()
    canvas.save()


BOOK = [
    ["1 Wings", "The wings of a falcon are nar-", "row and long, so that it is the fastest bird", "of all that fly."],
    ["2 Eyes", "Its eyes see a mouse from far away,", "even at dawn, when there is little light."],
    ["3 Nest", "It builds no nest of its own on a cliff", "but takes one that a raven has left."],
]


def docx(path: Path) -> None:
    import docx

    document = docx.Document()
    document.core_properties.author = "Ben"
    document.sections[0].header.paragraphs[0].text = "RUNNING HEAD"
    document.add_heading("Releases", 1)
    document.add_heading("Falcon", 2)
    document.add_paragraph("Falcon 2 came out on 3 May 2021.")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ("Name", "Year", "Falcon", "2021"), strict=True):
        cell.text = text
    document.save(path)


def pptx(path: Path) -> None:
    import pptx

    slides = pptx.Presentation()
    for title, text in (("Falcons", "Fast birds."), ("Prey", "Mice and voles.")):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
    slides.save(path)


def xlsx(path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.properties.creator, book.properties.created = "Dot", datetime(2022, 2, 3)
    book.active.title = "Prices"
    for row in (("Bird", "Price"), ("Falcon", 90), ("Hawk", 70)):
        book.active.append(row)
    book.save(path)


def epub(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile '
            'full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        archive.writestr(
            "book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Tales</dc:title></metadata><manifest><item id="a" '
            'href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine>'
            "</package>",
        )
        archive.writestr("a.xhtml", "<html><body><h1>One</h1><p>A falcon fell in love.</p></body></html>")


def mail(subject: str, text: str) -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["Date"] = subject, "cy@example.org", "Thu, 3 Dec 2020 15:18:27 +0100"
    message.set_content(text)
    return message


def mbox(path: Path) -> None:
    box = mailbox.mbox(path)
    box.add(mail("Ring", "The ring is blue."))
    box.add(mail("Re: Ring", "It is green."))
    box.add(without_text := EmailMessage())
    without_text.add_attachment(b"GIF89a", maintype="image", subtype="gif")
    box.add(without_text)
    box.add(
        b"Subject: Odd\nFrom: cy@example.org\nDate: Thu, 3 Dec 2020 15:18:27 +0100\n"
        b"Content-Type: text/plain; charset=x-unknown\n\nIt is red.\n"
    )
    box.close()


FILES: dict[str, Callable[[Path], object]] = {
    "a.md": lambda path: path.write_text(MARKDOWN),
    "sub/b.rst": lambda path: path.write_text(RST),
    "c.html": lambda path: path.write_text(HTML),
    "rfc.txt": lambda path: path.write_text(RFC),
    "latin.txt": lambda path: path.write_bytes("Der Süden grüßt die Vögel.\r\rSo ist es.".encode("latin-1")),
    "cp1252.html": lambda path: path.write_bytes(
        '<html><head><meta charset="windows-1252"><title>Burg</title></head><body><p>Le château fut bâti à Liège – '
        "dit-on.</p></body></html>".encode("cp1252")
    ),
    "utf16.txt": lambda path: path.write_text("Falken fliegen.", encoding="utf-16"),
    "d.pdf": lambda path: pdf(path, BOOK),
    "e.docx": docx,
    "f.pptx": pptx,
    "g.xlsx": xlsx,
    "h.epub": epub,
    "i.eml": lambda path: path.write_bytes(mail("Ringed", "A falcon was ringed today.").as_bytes()),
    "j.mbox": mbox,
    "k.csv": lambda path: path.write_text('Bird,Prey\nFalcon,"mouse, vole"\nHawk,hare\n'),
    "l.json": lambda path: path.write_text(json.dumps({"falcon": {"colour": "grey", "prey": ["mouse", "vole"]}})),
    "m.jsonl": lambda path: path.write_text('{"id": "p1", "title": "Owl", "text": "Owls fly at night."}\n'),
}
ANN = {"author": "Ann", "date": "2024-01-02", "tags": "birds, north"}
BOOKKEEPER = {"author": "Dot", "date": "2022-02-03"}
CY = {"author": "cy@example.org", "date": "2020-12-03"}
# File, then what its passages are: title, text, metadata without the source.
EXPECTED = {
    "a.md": [
        (
            "Falcon handbook › Handbook",
            "Falcons are grey and fast.\n\nMind: They bite.",
            {**ANN, "section": "Handbook", "line": 10},
        ),
        (
            "Falcon handbook › Install",
            "# no heading\nfly --now",
            {**ANN, "section": "Handbook › Install", "line": 18},
        ),
    ],
    "sub/b.rst": [
        (
            "Guide",
            "The Falcon of the north hunts at dawn and eats this:\n\nmouse\nvole\n\nNew in version 2.0.\n\nIt dives.",
            {"line": 7},
        ),
        ("Guide › Nests", "one nest on a cliff.", {"section": "Nests", "line": 25}),
    ],
    "c.html": [
        ("Nests", "A nest on a cliff is safe.", {}),
        ("Nests › North", "Nest: North; Height: 90 m.", {}),
        ("Nests › Eyrie", "Eyrie: A nest of a falcon.", {}),
    ],
    "rfc.txt": [
        (
            f"Rule b › Rule {'abcdef'[page]}" if page > 1 else "Rule b",
            f"A falcon of kind {page} obeys the rule of its cliff.",
            {"page": page} | ({"section": f"{page}. Rule {'abcdef'[page]}"} if page > 1 else {}),
        )
        for page in range(1, 5)
    ],
    "latin.txt": [("latin", "Der Süden grüßt die Vögel.\n\nSo ist es.", {"line": 1})],
    "utf16.txt": [("utf16", "Falken fliegen.", {"line": 1})],
    "e.docx": [
        (title, text, {"author": "Ben", "date": "2013-12-23", "section": "Falcon"})
        for title, text in (
            ("Releases › Falcon", "Falcon 2 came out on 3 May 2021."),
            ("Releases › Falcon › Falcon", "Name: Falcon; Year: 2021."),
        )
    ],
    "f.pptx": [
        ("Falcons", "Fast birds.", {"date": "2013-01-27", "page": 1}),
        ("Falcons › Prey", "Mice and voles.", {"date": "2013-01-27", "section": "Prey", "page": 2}),
    ],
    "h.epub": [("Tales › One", "A falcon fell in love.", {"section": "One"})],
    "g.xlsx": [
        (f"g › Prices › {bird}", f"Bird: {bird}; Price: {price}.", {**BOOKKEEPER, "section": "Prices"})
        for bird, price in (("Falcon", 90), ("Hawk", 70))
    ],
    "i.eml": [("Ringed", "A falcon was ringed today.", CY)],
    "j.mbox": [("Ring", "The ring is blue.", CY), ("Re: Ring", "It is green.", CY), ("Odd", "It is red.", CY)],
    "cp1252.html": [("Burg", "Le château fut bâti à Liège – dit-on.", {})],
    "k.csv": [
        ("k › Falcon", "Bird: Falcon; Prey: mouse, vole.", {"line": 2}),
        ("k › Hawk", "Bird: Hawk; Prey: hare.", {"line": 3}),
    ],
    "l.json": [
        ("l › falcon", "colour: grey.", {"section": "falcon"}),
        ("l › prey", "mouse.\n\nvole.", {"section": "falcon › prey"}),
    ],
    "m.jsonl": [("Owl", "Owls fly at night.", {})],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("birds")
    (folder / "sub").mkdir()
    for name, make in FILES.items():
        make(folder / name)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / ".hidden.md").write_text("# Secret\n\nDo not read.")
    (folder / "~$e.docx").write_bytes(b"\3Ann")
    return folder


@pytest.fixture(scope="module")
def documents(folder: Path) -> tuple[Documents, list[Passage]]:
    documents = Documents(folder)
    return documents, list(documents)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_becomes_passages(documents: tuple[Documents, list[Passage]], name: str) -> None:
    passages = [passage for passage in documents[1] if passage.metadata["source"] == name]
    found = [(p.title, p.text, {key: value for key, value in p.metadata.items() if key != "source"}) for p in passages]
    assert found == EXPECTED[name]


def test_a_table_without_a_header_names_no_columns(tmp_path: Path) -> None:
    (tmp_path / "facts.html").write_text(
        "<html><body><main><h1>Falcon</h1><table><tr><th>Name</th><td>Peregrine</td></tr><tr><th>Speed</th>"
        "<td>390 km/h</td></tr></table></main></body></html>"
    )
    (tmp_path / "faq.csv").write_text("Why?,It is the fastest of all birds.\nHow?,It dives.\n")
    assert [(passage.text, passage.metadata.get("line")) for passage in Documents(tmp_path)] == [
        ("Name: Peregrine.\n\nSpeed: 390 km/h.", None),
        ("Why? It is the fastest of all birds.\n\nHow? It dives.", 1),
    ]


@pytest.mark.parametrize(
    "table", ['Bird,Note\nHawk,"It is\nrare."\nOwl,None.\n', "Bird,Note\nHawk,It is rare.\n\nOwl,None.\n"]
)
def test_a_table_of_which_a_row_may_stand_in_another_line_tells_none(tmp_path: Path, table: str) -> None:
    (tmp_path / "birds.csv").write_text(table)
    assert [(passage.text, passage.metadata.get("line")) for passage in Documents(tmp_path)] == [
        ("Bird: Hawk; Note: It is rare.", None),
        ("Bird: Owl; Note: None.", None),
    ]


def test_a_cell_over_several_rows_of_a_web_page_stands_in_each(tmp_path: Path) -> None:
    (tmp_path / "fees.html").write_text(
        "<html><body><main><h1>Fees</h1><table><tr><th>Zone</th><th>Class</th><th>Fee</th></tr>"
        '<tr><td rowspan="2">North</td><td>A</td><td rowspan=3>10</td></tr><tr><td>B</td></tr>'
        "<tr><td colspan=2>South</td></tr></table></main></body></html>"
    )
    assert [passage.text for passage in Documents(tmp_path)] == [
        "Zone: North; Class: A; Fee: 10.",
        "Zone: North; Class: B; Fee: 10.",
        "Zone: South; Class: South; Fee: 10.",
    ]


def test_a_workbook_reads_as_it_is_seen(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sales, secret = book.active, book.create_sheet("Secret")
    sales.title, secret.sheet_state = "Sales", "hidden"
    secret.append(["Ann", 9])
    for row in (
        ("Zone", "Class", "Share", "Sold", "On", "Stock"),
        ("North", "A", 0.125, 1234.5, datetime(2024, 1, 31), 12345678),
        (None, "B", 0.5, -9, "=1/0", 12.5),
    ):
        sales.append(row)
    sales.merge_cells("A2:A3")
    for row in (2, 3):
        sales.cell(row, 3).number_format, sales.cell(row, 4).number_format = "0.0%", "#,##0.00\\ [$€-407];[Red]-0"
    sales.cell(2, 6).number_format, sales.cell(3, 6).number_format = '#,##0,"K"', "0"  # thousands, whole numbers
    book.save(tmp_path / "sales 2024.xlsx")
    assert [(passage.title, passage.text) for passage in Documents(tmp_path)] == [
        (
            "sales 2024 › Sales › North A",
            "Zone: North; Class: A; Share: 12.5%; Sold: 1,234.50 €; On: 2024-01-31; Stock: 12345678.",
        ),
        ("sales 2024 › Sales › North B", "Zone: North; Class: B; Share: 50.0%; Sold: -9.00 €; Stock: 13."),
    ]


def test_what_a_pdf_draws_first_is_no_title(tmp_path: Path) -> None:
    pdf(tmp_path / "a.pdf", BOOK, header_first=True)
    assert {passage.title.partition(" › ")[0] for passage in Documents(tmp_path)} == {"1 Wings"}


@pytest.mark.parametrize(
    "table",
    [
        'Bird,Part\nFalcon,5" wing\nHawk,"eye, left"\n',
        'Bird|Part\nFalcon|5" wing\n\nHawk|eye, left\n',
        'Bird\tPart\nFalcon\t5" wing\nHawk\teye, left\n',
        'Bird;Part\n"Falcon";5" wing\nHawk;eye, left\n',
        'sep=;\nBird;Part\nFalcon;5" wing\nHawk;eye, left\n',
    ],
)
def test_a_lone_quote_costs_no_rows(tmp_path: Path, table: str) -> None:
    (tmp_path / "a.csv").write_text(table)
    assert [passage.text for passage in Documents(tmp_path)] == [
        'Bird: Falcon; Part: 5" wing.',
        "Bird: Hawk; Part: eye, left.",
    ]


def test_what_looks_like_a_tag_stays_and_tags_go(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<html><head><title>&lt;video&gt;</title></head><body><h1>Film</h1><p>Use &lt;video&gt; or "
        "<code>&lt;table&gt;</code> if a &#60; <b>b</b>.</p><pre>&lt;i&gt;</pre></body></html>"
    )
    (tmp_path / "b.csv").write_text("Command,Use\ncopy <source>,copies\nmove,<p>It <b>moves</b>.</p>\n")
    assert [(passage.title, passage.text) for passage in Documents(tmp_path)] == [
        ("<video> › Film", "Use <video> or <table> if a < b.\n\n<i>"),
        ("b › copy <source>", "Command: copy <source>; Use: copies."),
        ("b › move", "Command: move; Use: It moves."),
    ]


def test_a_pdf_has_pages_sections_and_no_running_lines(documents: tuple[Documents, list[Passage]]) -> None:
    passages = [passage for passage in documents[1] if passage.metadata["source"] == "d.pdf"]
    assert [passage.metadata["page"] for passage in passages] == [1, 2, 3]
    assert [passage.metadata.get("section") for passage in passages][1:] == ["2 Eyes", "3 Nest"]
    whole = " ".join(passage.text for passage in passages)
    assert "narrow and long" in whole
    assert "The Falcon Book" not in whole
    assert not any(word.isdigit() for word in whole.split())


def test_a_docx_without_styles_has_its_headings_and_signs(tmp_path: Path) -> None:
    import docx
    from docx.oxml import OxmlElement

    document = docx.Document()
    for text, bold in (("Wings", True), ("Length:\t90 cm", False), ("Mind the claws!", True), ("Q&A", True)):
        document.add_paragraph().add_run(text).bold = bold
    run = document.add_paragraph().add_run("They see day")
    run._r.append(OxmlElement("w:noBreakHyphen"))
    run.add_text("old prey if a<b & 'b>c'.")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ("Bird", "Sight", "Hawk", "2*3*4 km"), strict=True):
        cell.paragraphs[0].add_run(text).bold = text == "Bird"
    document.save(tmp_path / "a.docx")
    assert [(passage.title, passage.text) for passage in Documents(tmp_path)] == [
        ("Wings", "Length: 90 cm.\n\nMind the claws!"),
        ("Wings › Q&A", "They see day-old prey if a<b & 'b>c'."),
        ("Wings › Q&A › Hawk", "Bird: Hawk; Sight: 2*3*4 km."),
    ]


def test_one_line_says_what_was_read(documents: tuple[Documents, list[Passage]]) -> None:
    summary = documents[0].summary()
    assert summary.startswith("read 17 files: 3 text, 2 HTML, ")
    assert summary.endswith(f"; {len(documents[1])} passages; 1 file of other formats (.png)")


def test_a_packed_corpus_is_told_by_its_format(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Falcons dive.")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "Owls hunt."}\n'))
    documents = Documents(tmp_path)
    assert len(list(documents)) == 2
    assert documents.summary() == "read 2 files: 1 Markdown, 1 JSONL; 2 passages"


def test_a_page_whose_name_begins_as_an_index_is_read(tmp_path: Path) -> None:
    for name in ("search-committee.html", "search.html", "genindex-A.html"):
        (tmp_path / name).write_text("<html><body><p>The committee met in May.</p></body></html>")
    assert [passage.metadata["source"] for passage in Documents(tmp_path)] == ["search-committee.html"]


def test_ids_come_from_the_content(folder: Path, documents: tuple[Documents, list[Passage]], tmp_path: Path) -> None:
    (tmp_path / "another.md").write_text(MARKDOWN)
    (tmp_path / "copy.md").write_text(MARKDOWN)
    again = list(Documents(tmp_path))
    first = [passage.pid for passage in documents[1] if passage.metadata["source"] == "a.md"]
    assert [passage.pid for passage in again] == first  # a text that stands in two files is one passage
    assert {passage.metadata["source"] for passage in again} == {"another.md"}
    assert len({passage.pid for passage in documents[1]}) == len(documents[1])
    assert "p1" in {passage.pid for passage in documents[1]}  # a corpus keeps its ids


def test_one_file(folder: Path) -> None:
    assert {passage.place for passage in Documents(folder / "e.docx")} == {"e.docx, Falcon"}
    for missing in ("nothing", f"{'n' * 300}.md"):
        with pytest.raises(PolyqaError, match="neither a folder nor a file"):
            Documents(folder / missing)
    assert not holds_documents(folder / ("n" * 300))
    with pytest.raises(PolyqaError, match=r"picture.png has no format that is read: Arrow, CSV, "):
        list(Documents(folder / "picture.png"))
    assert all(holds_documents(folder / name) for name in ("minutes.doc", "picture.png"))
    assert not holds_documents(folder / "m.jsonl@dev")


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 40_000_000)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def cut(path: Path) -> None:
    pdf(path, BOOK)
    path.write_bytes(path.read_bytes()[:700])


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "bomb.docx": (bomb, "unpacks from 0.0 to 40 MB, which is refused"),
    "cut.pdf": (cut, "cannot be read"),
    "empty.md": (lambda path: path.touch(), "is empty"),
    "locked.pdf": (lambda path: pdf(path, BOOK, "secret"), "is protected by a password"),
    "locked.docx": (lambda path: path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99)), "password"),
    "old.doc": (lambda path: path.write_bytes(bytes(99)), "has a format that is not read: save it as DOCX"),
    "noise.docx": (lambda path: path.write_bytes(os.urandom(999)), "is damaged"),
    "bytes.txt": (lambda path: path.write_bytes(bytes(99)), "holds binary data, not text"),
    "one-line.txt": (sparse, "has 1,024 MB; at most 256 MB are read"),
    "out.md": (lambda path: path.symlink_to("/etc/hostname"), "is a link out of the folder"),
    "away": (lambda path: path.symlink_to("/etc"), "is a link to a folder"),
    "gone.md": (lambda path: path.symlink_to(path.with_name("nothing.md")), "cannot be read (No such file"),
    "loop.md": (lambda path: path.symlink_to(path), "leads back to itself" if sys.version_info < (3, 13) else "cannot"),
    "line.csv": (lambda path: path.write_bytes(b"\0" * 200_000), "holds binary data"),
    "half.json": (lambda path: path.write_text('{"a":'), "cannot be read"),
    "deep.json": (lambda path: path.write_text("[" * 100_000), "cannot be read"),
    "blank.html": (lambda path: path.write_text("<html><body></body></html>"), "holds no text"),
    "broken.jsonl": (lambda path: path.write_text("{"), "cannot be read as a corpus"),
}


def test_a_broken_file_costs_itself(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nIt works.")
    for name, (make, _) in BROKEN.items():
        make(tmp_path / name)
    documents = Documents(tmp_path)
    assert [passage.text for passage in documents] == ["It works."]
    assert documents.left_out.keys() == BROKEN.keys()
    for name, (_, reason) in BROKEN.items():
        assert reason in documents.left_out[name], name
    assert f"{len(BROKEN)} files left out: away is a link to a folder" in documents.summary()


def test_a_link_that_is_named_itself_is_followed(tmp_path: Path) -> None:
    for name in ("far", "near"):
        (tmp_path / name).mkdir()
    (tmp_path / "far" / "book.md").write_text("# Good\n\nIt works.")
    (link := tmp_path / "near" / "book.md").symlink_to(tmp_path / "far" / "book.md")
    assert [passage.text for passage in Documents(link)] == ["It works."]


def test_a_folder_of_broken_files_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.md").touch()
    with pytest.raises(PolyqaError, match=r"holds no file that can be read: .*a\.md is empty"):
        list(Documents(tmp_path))


def test_a_file_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("word " * 2_000_000)
    monkeypatch.setattr(worker, "MOST_SECONDS", 0.01)
    converter = worker.Worker(Splitter())
    assert converter.passages(tmp_path / "a.md", "a.md") == "took more than 0.01 seconds"
    monkeypatch.setattr(worker, "MOST_SECONDS", 60)
    (tmp_path / "b.json").write_text('[{"name": "caf\\udce9"}]')  # half a character, which no process can tell another
    told = converter.passages(tmp_path / "b.json", "b.json")  # in a new process
    assert [passage.text for passage in told] == ["name: caf."]
    converter.close()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["corpus.jsonl"], False),
        (["corpus.tsv", "README.md", "LICENSE.txt", "dataset_infos.json"], False),
        (["corpus.jsonl", "qrels/test.tsv"], False),
        (["corpus.jsonl", "prices.tsv"], True),
        (["README.md"], True),
        (["corpus.jsonl", "guide.pdf"], True),
        (["guide.md"], True),
        ([], True),
    ],
)
def test_what_is_converted(tmp_path: Path, names: list[str], expected: bool) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\tIt flies." if name == "corpus.tsv" else "query-id\tscore\n")
    assert holds_documents(tmp_path) is expected
    assert not holds_documents(tmp_path / "corpus.jsonl")
    assert holds_documents(tmp_path / "guide.pdf")


def test_a_table_with_a_text_column_is_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,title,text\n7,Owl,Owls fly at night.\n")
    (tmp_path / "b.json").write_text('[{"id": 8, "text": "Hawks fly by day."}]')
    assert [(passage.pid, passage.title, passage.text) for passage in Documents(tmp_path)] == [
        ("7", "Owl", "Owls fly at night."),
        ("8", "", "Hawks fly by day."),
    ]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", "Customer,Segment,Revenue\nAcme,Enterprise,5\n", True),
        ("a.csv", "Product,Contents,Documents\nPump,hose,manual.pdf\n", True),
        ("a.csv", "docno,segment\n7,It flies.\n", False),
        ("a.csv", "product\tversion\tdate\nHeron\t1.2\t2024\n", True),
        ("a.tsv", "product\tversion\tdate\nHeron\t1.2\t2024\n", True),
        ("a.tsv", "product\tversion\nHeron\t1.2\n", True),
        ("a.tsv", "id\tpassage\n7\tIt flies.\n", False),
        ("a.tsv", "7\tIt flies.\tHeron\n", False),
        ("a.tsv", "heron\tIt flies over the cold northern sea.\n", False),
        ("a.csv", "content,date\n,2023\nFalcons fly over the cold northern sea.,2024\n", False),
        ("a.json", '[{"bike": "Kestrel", "body": "steel", "paragraphs": "two"}]', True),
        ("a.json", '[{"title": "Kestrel", "body": "steel"}]', False),
        ("a.json", '{"dev": [{"id": 1, "text": "It flies."}], "test": [{"id": 2, "text": "It hunts."}]}', False),
        ("a.json", '{"data": [{"title": "Tea", "paragraphs": [{"context": "Green."}]}]}', False),
        ("a.json", '[{"question": "Hot?", "docs": [{"text": "Green."}]}]', False),
        ("a.json", '{"a": {"colour": "grey"}, "b": {"text": "It flies."}}', True),
    ],
)
def test_a_column_that_may_be_no_text_makes_no_corpus(tmp_path: Path, name: str, content: str, expected: bool) -> None:
    (tmp_path / name).write_text(content)
    assert holds_documents(tmp_path / name) is expected


def test_a_converter_that_is_killed_costs_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Short.")
    converter = worker.Worker(Splitter())
    assert isinstance(converter.passages(tmp_path / "a.md", "a.md"), list)
    process = converter._process
    assert process is not None
    process.kill()
    process.wait()
    assert "ended its converter" in converter.passages(tmp_path / "a.md", "a.md")
    assert isinstance(converter.passages(tmp_path / "a.md", "a.md"), list)  # in a new process
    converter.close()


def test_nothing_is_run_from_the_folder_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Short.")
    for name in ("json", "yaml", "charset_normalizer"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    converter = worker.Worker(Splitter())
    assert [passage.text for passage in converter.passages(Path("docs/a.md"), "a.md")] == ["Short."]
    converter.close()
    assert not (tmp_path / "run").exists()


def test_files_lie_as_deep_as_the_system_allows(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Not deep.")
    folder = tmp_path
    while len(os.fsencode(folder)) < 3_800:  # of the 4,096 that Linux takes
        folder /= "d"
        folder.mkdir()
    (folder / "a.md").write_text("Deep.")
    assert {passage.text for passage in Documents(tmp_path)} == {"Deep.", "Not deep."}
    (folder / "a.md").unlink()
    os.removedirs(folder)  # pytest could not go so deep


@pytest.mark.usefixtures("no_permission")
def test_a_subfolder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "a.md").write_text("Short.")
    documents = Documents(tmp_path)
    assert [passage.text for passage in documents] == ["Short."]
    assert documents.left_out == {"locked": "cannot be read (Permission denied)"}
