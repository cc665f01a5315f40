"""Encodings of texts that name none, mails, and texts that begin with fields."""

import mailbox
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from polyqa.documents.converting import convert, decoded


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "El año pasado la compañía española abrió una oficina en la montaña."),
        ("cp1252", "A informação não está disponível na região, e as condições são boas."),
        ("cp1252", "L'été dernier, la société a ouvert un bureau à l'étranger."),
        *(("cp1252", text) for text in ("Café offen.", "Größe: 5", "Straße", "5 €", "It’s – so", "Über uns")),
        *(("cp1251", "Мост через реку."), ("shift_jis", "PDFファイルを開く"), ("utf-16", "大桥")),
        ("cp1250", "Az őszi időjárás hűvös, Győr városa szép és nagy."),
        ("cp1250", "Zażółć gęślą jaźń. W Łodzi mieszkała pani, która lubiła książki."),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. Město leží na řece."),
    ],
)
def test_the_encoding_of_a_text_is_that_of_its_language(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("header", "title", "author"),
    [
        ("Subject: Grün\nFrom: Jörg <j@x.org>".encode(), "Grün", "Jörg"),
        ("Subject: Grün\nFrom: Jörg <j@x.org>".encode("cp1252"), "Grün", "Jörg"),
        (b"Subject: Hi\n there\nFrom: =?utf-8?b?xxx?= <j@x.org>", "Hi there", "\ufffd"),
        (b"Subject: Hi\nFrom: a@", "Hi", None),
        (b'Subject: Hi\nFrom: "a" <', "Hi", None),
        (b"Subject: Hi\nFrom: a@[1.2.3", "Hi", None),
    ],
)
def test_an_odd_header_costs_a_field_at_most(header: bytes, title: str, author: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(header + b"\n\nIt rained.\n")
    (document,) = convert(tmp_path / "a.eml")
    assert (document.title, document.metadata.get("author")) == (title, author)


def test_a_line_that_a_mailbox_escapes_is_no_quotation(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "a.mbox")
    for header in (b"From: a@", b"From: j@x.org"):
        box.add(header + b"\n\n> Old.\n\nFrom 2024 on it is free.\n")
    box.close()
    assert [block.text for document in convert(tmp_path / "a.mbox") for block in document.blocks] == [
        "From 2024 on it is free."
    ] * 2


@pytest.mark.parametrize("suffix", ["eml", "mbox"])
def test_a_mail_that_is_attached_to_a_mail_is_read(suffix: str, tmp_path: Path) -> None:
    inner, outer, bare = EmailMessage(), EmailMessage(), EmailMessage()
    inner["Subject"], inner["From"] = "Budget", "ann@x.org"
    inner.set_content("It is 40 euros.")
    outer["Subject"] = "Fwd"
    outer.set_content("See below.")
    outer.add_attachment(inner)
    bare.set_content(outer)
    if suffix == "eml":
        (tmp_path / "a.eml").write_bytes(bare.as_bytes())
    else:
        mailbox.mbox(tmp_path / "a.mbox").add(bare)
    found = [(one.title, [block.text for block in one.blocks]) for one in convert(tmp_path / f"a.{suffix}")]
    assert found == [("Fwd", ["See below."]), ("Budget", ["It is 40 euros."])]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize("header", [b"", b"Content-Type: text/plain; charset=us-ascii\n"])
def test_a_mail_that_names_no_charset_keeps_its_letters(header: bytes, encoding: str, tmp_path: Path) -> None:
    text = "Die Vögel fliegen über die kühle Nordsee."
    (tmp_path / "a.eml").write_bytes(b"Subject: Hi\n" + header + b"\n" + text.encode(encoding))
    (document,) = convert(tmp_path / "a.eml")
    assert [block.text for block in document.blocks] == [text]


def test_a_mail_in_the_charset_of_windows_that_names_another_is_read_as_programs_show_it(tmp_path: Path) -> None:
    header = b"Subject: Hi\nContent-Type: text/plain; charset=ISO-8859-1\nContent-Transfer-Encoding: 8bit\n\n"
    (tmp_path / "a.eml").write_bytes(header + b"It\x92s 5 \x80.\n")
    (document,) = convert(tmp_path / "a.eml")
    assert [block.text for block in document.blocks] == ["It\u2019s 5 €."]


GRID = [["Zone", "2023", ""], ["", "Q1", "Q2"], ["North", "1", "2"], ["", "3", "4"]]
WIDE = ((0, 0, 1, 0), (0, 1, 0, 2), (2, 0, 3, 0))  # from which row and column to which others a cell reaches


def docx(path: Path) -> None:
    import docx

    document = docx.Document()
    _fill(document.add_table(4, 3).cell)
    document.save(str(path))


def pptx(path: Path) -> None:
    import pptx

    deck = pptx.Presentation()
    _fill(deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_table(4, 3, 0, 0, 900, 900).table.cell)
    deck.save(str(path))


def _fill(cell: Callable[[int, int], Any]) -> None:
    for top, left, bottom, right in WIDE:
        cell(top, left).merge(cell(bottom, right))
    for row, texts in enumerate(GRID):
        for column, text in enumerate(texts):
            if text:
                cell(row, column).text = text


def xlsx(path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in GRID:
        book.active.append([text or None for text in row])
    for top, left, bottom, right in WIDE:
        book.active.merge_cells(None, top + 1, left + 1, bottom + 1, right + 1)
    book.save(path)


def csv(path: Path) -> None:
    path.write_text("\n".join(map(",".join, [*GRID[:3], ["North", *GRID[3][1:]]])))


def html(path: Path) -> None:
    path.write_text(
        "<table><tr><th rowspan=2>Zone<th colspan=2>2023<tr><th>Q1<th>Q2"
        "<tr><td rowspan=2>North<td>1<td>2<tr><td>3<td>4</table>"
    )


def odt(path: Path) -> None:
    covered = "<table:covered-table-cell/>"
    rows, columns = (f'table:number-{them}-spanned="2"' for them in ("rows", "columns"))
    cells = [
        _cell("Zone", rows) + _cell("2023", columns) + covered,
        covered + _cell("Q1") + _cell("Q2"),
        _cell("North", rows) + _cell("1") + _cell("2"),
        covered + _cell("3") + _cell("4"),
    ]
    head, *body = (f"<table:table-row>{row}</table:table-row>" for row in cells)
    table = f"<table:table-header-rows>{head}</table:table-header-rows>{''.join(body)}"
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table")
    )
    text = f"<office:body><office:text><table:table>{table}</table:table></office:text></office:body>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", f"<office:document-content {names}>{text}</office:document-content>")


def _cell(text: str, spans: str = "") -> str:
    return f"<table:table-cell {spans}><text:p>{text}</text:p></table:table-cell>"


@pytest.mark.parametrize("made", [docx, pptx, odt, xlsx, html, csv])
def test_cells_that_are_wide_or_high_stand_in_each_column_and_row(made: Callable[[Path], None], tmp_path: Path) -> None:
    made(path := tmp_path / f"a.{made.__name__}")
    (table,) = (block for document in convert(path) for block in document.blocks if block.kind == "table")
    assert table.text.split("\n") == ["Zone: North; 2023 Q1: 1; 2023 Q2: 2.", "Zone: North; 2023 Q1: 3; 2023 Q2: 4."]
    assert table.line == (3 if made is csv else None)


@pytest.mark.parametrize(("made", "suffix"), [(docx, "docm"), (pptx, "pptm"), (pptx, "ppsx"), (xlsx, "xlsm")])
def test_files_of_office_with_macros_are_read_as_those_without(
    made: Callable[[Path], None], suffix: str, tmp_path: Path
) -> None:
    made(plain := tmp_path / f"a.{made.__name__}")
    other = plain.rename(tmp_path / f"a.{suffix}")
    (table,) = (block for document in convert(other) for block in document.blocks if block.kind == "table")
    assert table.text.split("\n") == ["Zone: North; 2023 Q1: 1; 2023 Q2: 2.", "Zone: North; 2023 Q1: 3; 2023 Q2: 4."]


@pytest.mark.parametrize(("between", "line"), [("\n", 1), ("\n\n", None)])
def test_rows_of_json_lines_know_their_lines_only_if_none_is_empty(
    between: str, line: int | None, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text(between.join(['{"Site": "Oslo"}', '{"Site": "Rome"}']) + "\n\n")
    (sites,) = convert(tmp_path / "a.jsonl")
    assert [(block.text, block.line) for block in sites.blocks] == [("Site: Oslo.\nSite: Rome.", line)]


@pytest.mark.parametrize(("info", "suffix"), [("{r}", "Rmd"), ("{r fit, echo=FALSE}", "md"), ("{python}", "qmd")])
def test_code_of_r_markdown_and_quarto_is_code(info: str, suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{suffix}").write_text(f"# Fit\n\n```{info}\n# Read the data\nx <- 1\n```\n")
    (fit,) = convert(tmp_path / f"a.{suffix}")
    assert [(block.kind, block.text) for block in fit.blocks] == [
        ("heading", "Fit"),
        ("code", "# Read the data\nx <- 1"),
    ]


def test_what_mdx_takes_from_elsewhere_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.mdx").write_text(
        "---\ntitle: Set up\n---\nimport Tabs from '@theme/Tabs';\nimport \"./x.css\"\n\n# Install\n\n"
        "import the keys from 'home' first.\n\n```js\nimport a from 'a';\n```\n"
    )
    (page,) = convert(tmp_path / "a.mdx")
    assert [(block.text, block.line) for block in page.blocks] == [
        ("Install", 7),
        ("import the keys from 'home' first.", 9),
        ("import a from 'a';", 12),
    ]


def test_tables_of_html_in_markdown_have_rows(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# Offices\n\nCall us.\n\n<table>\n<tr><th>Office</th><th>Hours</th></tr>\n\n<tr>\n<td rowspan=2>\n\n"
        "**Oslo** [map](m)\n\n</td><td>8 &lt; 9</td></tr>\n<tr><td>10</td></tr>\n</table>\n\nOr write.\n\n"
        "```\n<table>\n```\n\nBy hand."
    )
    (offices,) = convert(tmp_path / "a.md")
    assert [(block.text, block.line) for block in offices.blocks] == [
        ("Offices", 1),
        ("Call us.", 3),
        ("Office: Oslo map; Hours: 8 < 9.\nOffice: Oslo map; Hours: 10.", None),
        ("Or write.", 17),
        ("<table>", 20),
        ("By hand.", 23),
    ]


def test_a_value_of_a_workbook_over_two_columns_is_one_of_both(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (("Site", "Monday", "Friday", "Phone"), ("Oslo", "closed", None, "12"), ("Rome", "8 am", "9 am", "34")):
        book.active.append(row)
    book.active.merge_cells("B2:C2")
    book.save(tmp_path / "a.xlsx")
    (sites,) = convert(tmp_path / "a.xlsx")
    assert sites.blocks[-1].text.split("\n")[0] == "Site: Oslo; Monday: closed; Friday: closed; Phone: 12."


def test_a_title_as_wide_as_its_table_names_no_columns(tmp_path: Path) -> None:
    import docx

    document = docx.Document()
    table = document.add_table(0, 2)
    for row in (("Birds", "Birds"), ("Bird", "Prey"), ("Hawk", "hare")):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.save(str(tmp_path / "a.docx"))
    (birds,) = convert(tmp_path / "a.docx")
    assert [block.text for block in birds.blocks] == ["Birds.\nBird: Hawk; Prey: hare."]


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        *((title, False) for title in ("PowerPoint-Präsentation", "Presentación de PowerPoint", "Dokument1")),
        *((title, False) for title in ("Présentation PowerPoint", "Microsoft Word - offer_2", "Untitled document")),
        *((title, True) for title in ("Microsoft Teams - First steps", "PowerPoint tips", "Präsentation der Zahlen")),
    ],
)
def test_a_title_that_a_program_made_up_is_none(title: str, kept: bool, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(f"<html><head><title>{title}</title></head><body><p>It rained.</p></body></html>")
    (document,) = convert(tmp_path / "a.html")
    assert document.title == (title if kept else "")


def test_a_mail_whose_plain_text_is_empty_has_that_of_its_page(tmp_path: Path) -> None:
    message = EmailMessage()
    message.set_content(" \n")
    message.add_alternative("<p>It is 40 euros.</p>", subtype="html")
    (tmp_path / "a.eml").write_bytes(message.as_bytes())
    (document,) = convert(tmp_path / "a.eml")
    assert [block.text for block in document.blocks] == ["It is 40 euros."]


def test_what_a_mail_quotes_has_no_signs_of_more_than(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(
        "Subject: Hi\n\nYes.\n\nOn Monday Ann wrote:\n> It costs\n> > 40 euros.\n>\n> Is it dear?\n"
    )
    (document,) = convert(tmp_path / "a.eml")
    texts = [block.text for block in document.blocks]
    assert texts == ["Yes.", "On Monday Ann wrote: It costs 40 euros.", "Is it dear?"]


def test_a_title_in_front_matter_may_have_a_capital(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nTitle: Falcon\nTeam: North\n---\nIt flies.")
    (document,) = convert(tmp_path / "a.md")
    assert (document.title, document.metadata) == ("Falcon", {"Team": "North"})
