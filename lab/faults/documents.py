"""What polyqa makes of hostile documents: files that fill memory or disk, lead elsewhere, or steer the terminal.

python -m lab.faults documents [--count 120] [--seed 0] [--json FILE]

Each round makes a folder of one hostile file of every kind, beside a good one, and reads it. A file is *read*, *left
out* for a reason that is named, or *silent*: neither. What must not be: that the reading ends, or lasts, that the good
file is not read, that a text from outside the folder stands in a passage (*leaked*), that something outside is written,
or that a server which a file names is asked.
"""

import gzip
import os
import random
import struct
import tempfile
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.base.files import visible_files
from polyqa.base.text import well_formed
from polyqa.documents import Documents

from ..results import JsonFile, Seed, Table, report
from ..servers import running
from . import counted
from .forks import in_fork

OUTCOMES = ("read", "left out", "silent", "leaked")
_GOOD = "The harbour of Velmora was opened in 1931."
_SECRET = "Vorlag Trensko keeps the key."
_DEEP = 100  # folders
_LIMIT = 900.0  # seconds for a round; each file may take two minutes
_TEXTS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


@dataclass(frozen=True)
class Place:
    """The folder that is read, a file outside of it, a server that counts who asks it, and draws for a round."""

    folder: Path
    secret: Path
    address: str
    draw: random.Random

    def write(self, name: str, data: str | bytes) -> None:
        """Write a file of the folder."""
        (self.folder / name).write_bytes(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)

    def zipped(self, name: str, members: Mapping[str, str | bytes]) -> Path:
        """Write a file of the folder that is an archive."""
        with zipfile.ZipFile(self.folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in members.items():
                archive.writestr(member, data)
        return self.folder / name


def _docx(body: str, before: str = "") -> dict[str, str | bytes]:
    """Return the members of a Word document, with something before its root."""
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    return {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default '
        'Extension="xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"'
        "/></Types>",
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{relation}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<?xml version="1.0"?>{before}<w:document xmlns:w="{_TEXTS}"><w:body><w:p><w:r><w:t>'
        f"{body}</w:t></w:r></w:p></w:body></w:document>",
    }


def _zip_bomb(place: Place) -> None:
    megabytes = place.draw.choice([35, 70])
    place.zipped("bomb.docx", _docx("x") | {"word/media/a.bin": bytes(megabytes << 20)})


def _lying_archive(place: Place) -> None:
    """Claim in its directory that an archive's member is small."""
    path = place.zipped("lies.docx", _docx("x" * (20 << 20)))
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 100)
    path.write_bytes(data)


def _nested_archives(place: Place) -> None:
    inner = b""
    for depth in range(8):
        with tempfile.SpooledTemporaryFile() as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for copy in range(10 if inner else 1):
                    archive.writestr(f"{depth}-{copy}.zip" if inner else "a.txt", inner or bytes(10 << 20))
            file.seek(0)
            inner = file.read()
    members = {"word/embeddings/a.zip": inner, "word/embeddings/b.docx": inner}
    place.zipped("nested.docx", _docx("Beside archives.") | members)


def _archive_leads_out(place: Place) -> None:
    up = place.draw.choice(["../", "../../", str(place.secret.parent) + "/"])
    place.zipped("up.docx", _docx("Above.") | {f"{up}evil.txt": "written", f"word/{up}evil.xml": "<a/>"})


def _entities_grow(place: Place) -> None:
    lines = ['<!ENTITY a0 "aaaaaaaaaa">'] + [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)]
    bomb = f"<!DOCTYPE r [{''.join(lines)}]>"
    if place.draw.random() < 0.5:
        place.zipped("entities.docx", _docx("&a9;", bomb))
    else:
        place.write("entities.xhtml", f"{bomb}<html><body><p>&a9;</p></body></html>")


def _entities_lead_out(place: Place) -> None:
    to = place.draw.choice([place.secret.as_uri(), f"{place.address}/entity"])
    doctype = f'<!DOCTYPE r [<!ENTITY e SYSTEM "{to}"><!ENTITY % p SYSTEM "{to}"> %p;]>'
    if place.draw.random() < 0.5:
        place.zipped("outer.docx", _docx("&e;", doctype))
    else:
        place.write("outer.xhtml", f"{doctype}<html><body><p>Here: &e;</p></body></html>")


def _page_asks(place: Place) -> None:
    outside = f'<img src="{place.address}/i"><link rel="stylesheet" href="{place.address}/c"><iframe src="'
    script = f"<script>fetch('{place.address}/s')</script><object data='{place.secret.as_uri()}'></object>"
    refresh = f'<meta http-equiv="refresh" content="0;url={place.address}/r">'
    place.write(
        "page.html", f'<html><head>{refresh}</head><body><p>A page.</p>{outside}file:///">{script}</body></html>'
    )


def _macros(place: Place) -> None:
    place.zipped("macro.docx", _docx("With macros.") | {"word/vbaProject.bin": b"\xd0\xcf\x11\xe0" + bytes(500)})
    place.write("sum.csv", '=cmd|"/C calc"!A0,b\n@SUM(1),2\n')


def _links(place: Place) -> None:
    kind = place.draw.randrange(4)
    for name in ("link.md", "link.pdf", "link.json", "link.docx"):
        target = (place.secret, place.secret.parent, Path(name), Path("/dev/zero"))[kind]
        (place.folder / name).symlink_to(target)
    (place.folder / "linked").symlink_to(place.secret.parent, target_is_directory=True)


def _pipe(place: Place) -> None:
    os.mkfifo(place.folder / "pipe.md")
    (place.folder / "to-pipe.md").symlink_to(place.folder / "pipe.md")


def _names(place: Place) -> None:
    for name in ("\x1b]0;owned\x07.md", "two\nlines.md", "up\\..\\..\\x.md", "\u202egpj.md", "caf\udce9.md", "-rf.md"):
        place.write(name, f"# A name\n\nIts number is {place.draw.random()}.")
    place.write(f"{'n' * 252}.md", "# Long\n\nIts name is long.")


def _front_matter(place: Place) -> None:
    front_matters = (
        "source: /etc/passwd\nSource: a\npid: x\nsection: y\npage: 7",
        "date: 2024-13-45\nn: 0b_",
        f"n: 1{'0' * 400}\nx: .nan\ny: -.inf",
        "x: !!python/object/apply:os.system ['touch /tmp/x']",
        'title: "\\e]52;c;aGk=\\a"\nauthor: "\\ud800"',
        f"a: {'[' * 3_000}",
        "a: &a [1,2]\n" + "".join(f"b{n}: &b{n} [*{'a' if n == 0 else f'b{n - 1}'}, x]\n" for n in range(50)),
    )
    for number, lines in enumerate(front_matters):
        place.write(f"front-{number}.md", f"---\n{lines}\n---\nThe text of file {number}.")


def _long_lines(place: Place) -> None:
    size = place.draw.choice([100_000, 1 << 20])
    place.write("words.txt", "word " * (size // 5))
    place.write("letters.md", "x" * size)
    place.write("brackets.md", "[" * 5_000 + "](" * 5_000)
    with (place.folder / "gigabyte.txt").open("wb") as file:
        file.truncate(1 << 30)


def _nested(place: Place) -> None:
    deep = place.draw.choice([1_000, 30_000])
    place.write("deep.json", '{"a":' * deep + "1" + "}" * deep)
    place.write("corpus.json", '[{"text": "a", "b": ' + "[" * deep + "]" * deep + "}]")
    place.write("deep.html", "<div>" * deep + "In the depth." + "</div>" * deep)
    place.write("deep.md", "> " * deep + "quoted")


def _pdf(content: bytes, pages: bytes = b"<</Type/Pages/Kids[3 0 R]/Count 1>>") -> bytes:
    stream = b"<</Length " + str(len(content)).encode() + b"/Filter/FlateDecode>>stream\n" + content + b"\nendstream"
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 500 500]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"
    body, offsets = b"%PDF-1.4\n", []
    for number, thing in enumerate([b"<</Type/Catalog/Pages 2 0 R>>", pages, page, stream, font], 1):
        offsets.append(len(body))
        body += str(number).encode() + b" 0 obj" + thing + b"endobj\n"
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return body + table + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n" + str(len(body)).encode() + b"\n%%EOF"


def _prints(place: Place) -> None:
    import zlib

    text = zlib.compress(b"BT /F1 12 Tf 50 400 Td (A print of the north.) Tj ET")
    good = _pdf(text)
    place.write("cut.pdf", good[: place.draw.randrange(20, len(good) - 1)])
    flipped = bytearray(good)
    for _ in range(20):
        flipped[place.draw.randrange(len(good))] ^= 1 << place.draw.randrange(8)
    place.write("flipped.pdf", bytes(flipped))
    place.write("loop.pdf", _pdf(text, b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2/Parent 2 0 R>>"))
    place.write("many.pdf", _pdf(text, b"<</Type/Pages/Kids[" + b"3 0 R " * 200 + b"]/Count 999999999>>"))
    place.write("bomb.pdf", _pdf(zlib.compress(b" " * (30 << 20), 1)))


def _corpora(place: Place) -> None:
    place.write("half.jsonl", '{"id": 1, "text": "One."}\n{"id": 2, "te')
    place.write("odd.jsonl", '{"id": [], "text": "T", "title": {"a": 1}}\n')
    place.write("numbers.jsonl", '{"id": 1e400, "text": "T"}\n' + '{"id": ' + "9" * 5_000 + ', "text": "T"}\n')
    place.write("half.parquet", b"PAR1" + place.draw.randbytes(300) + b"PAR1")
    place.write("nul.csv", "text,title\na\0b,c\n" + '"' * 1_001)
    place.write("same.tsv", "1\tA text.\n1\tAnother text.\n")


def _other_suffix(place: Place) -> None:
    wrong = (b"\x7fELF" + bytes(200), gzip.compress(bytes(1 << 20)), b"MZ" + bytes(99), b"\xff\xd8\xff" + bytes(99))
    for suffix in (".pdf", ".docx", ".xlsx", ".pptx", ".epub", ".html", ".md", ".rst", ".eml", ".mbox", ".json"):
        place.write(f"wrong{suffix}", place.draw.choice(wrong))


def _noise(place: Place) -> None:
    for suffix in (".pdf", ".xlsx", ".html", ".md", ".rst", ".txt", ".eml", ".mbox", ".csv", ".parquet"):
        place.write(f"noise{suffix}", place.draw.randbytes(place.draw.choice([1, 100, 10_000])))


def _mails(place: Place) -> None:
    deep = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(500))
    place.write("deep.eml", f"Subject: x\n{deep}Content-Type: text/plain\n\nInside.")
    place.write("headers.eml", "".join(f"X-{n}: {'y' * 100}\n" for n in range(5_000)) + "Subject: \x1b[31m\n\nA text.")
    place.write("box.mbox", "From a\nSubject: s\n\nText.\n" + "From \n" * 500)
    attached = "Content-Transfer-Encoding: base64\nContent-Disposition: attachment; filename=../../evil.txt\n\nZXZp\n"
    place.write("attached.eml", f"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nText.\n--b\n{attached}--b--")


def _deep_folders(place: Place) -> None:
    folder = place.folder
    while len(os.fsencode(folder)) < 3_800:
        folder /= "d"
        folder.mkdir()
    (folder / "deep.md").write_text("# Deep\n\nIt lies deep.", encoding="utf-8")


def _changing(place: Place) -> None:
    """Is written, emptied and removed again and again while the folder is read, see `_change`."""
    place.write("moving.md", "# Moving\n\nIt moves.")


Kind = Callable[[Place], None]
KINDS: Mapping[str, Kind] = {
    "a zip bomb": _zip_bomb,
    "an archive that lies about its size": _lying_archive,
    "archives in archives": _nested_archives,
    "an archive with `../`": _archive_leads_out,
    "XML entities that grow": _entities_grow,
    "XML entities that read other files": _entities_lead_out,
    "a page that asks a server": _page_asks,
    "macros and formulas": _macros,
    "links out of the folder": _links,
    "a pipe": _pipe,
    "names of files": _names,
    "front matter": _front_matter,
    "long lines": _long_lines,
    "deeply nested": _nested,
    "damaged PDFs": _prints,
    "damaged corpora": _corpora,
    "another format than the suffix": _other_suffix,
    "noise": _noise,
    "e-mail": _mails,
    "deep folders": _deep_folders,
    "a file that changes meanwhile": _changing,
}
"""What is hostile about files, and what makes some."""


def _read(folder: Path) -> Any:
    documents = Documents(folder)
    passages = [(str(passage.metadata["source"]), f"{passage.title} {passage.text}") for passage in documents]
    return [passages, list(documents.files), documents.left_out]


def _files(folder: Path) -> set[Path]:
    return set(visible_files(folder, lambda place, error: None))


def _remove_deep(home: Path) -> None:
    """Remove a file that lies deeper than what removes folders can go."""
    deepest = max(_files(home), key=lambda path: len(path.parts))
    if len(deepest.parts) > _DEEP:
        deepest.unlink()
        os.removedirs(deepest.parent)


def _change(path: Path, over: threading.Event) -> None:
    number = 0
    while not over.wait(0.01):
        number += 1
        if number % 3 == 0:
            path.unlink(missing_ok=True)
        else:
            path.write_text("# Moving\n\nIt moves.\n" * (number % 3), encoding="utf-8")


def read_round(home: Path, kinds: Mapping[str, Kind], seed: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Make a folder with a hostile file of every kind, and read it; return how often which outcome came, and faults."""
    folder, outside = home / "folder", home / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "good.md").write_text(f"# Velmora\n\n{_GOOD}", encoding="utf-8")
    (outside / "secret.md").write_text(_SECRET, encoding="utf-8")
    kind_of: dict[str, str] = {}
    requested_paths: list[str] = []

    def respond(handler: BaseHTTPRequestHandler, _: object) -> None:
        requested_paths.append(handler.path)
        handler.send_error(404)

    with running(respond) as address:
        for kind, make in kinds.items():
            before = _files(folder)
            make(Place(folder, outside / "secret.md", address, random.Random(f"{kind} {seed}")))
            kind_of |= {well_formed(str(path.relative_to(folder))): kind for path in _files(folder) - before}
        over = threading.Event()
        moving = threading.Thread(target=_change, args=(folder / "moving.md", over))
        outcome = None
        if "moving.md" in kind_of:
            moving.start()
        try:
            outcome = in_fork(lambda: _read(folder), _LIMIT)
        finally:
            over.set()
            if moving.ident is not None:
                moving.join()
        if outcome.kind != "done":
            return {}, [f"round {seed} | {outcome.kind}: {outcome.text}"]
        passages, files, left_out = outcome.value
        counts: dict[str, Counter[str]] = {}
        leaked = {source for source, text in passages if _SECRET in text}
        wrong = [f"round {seed} | {kind_of[source]} | {source!r} leaked" for source in leaked if source in kind_of]
        for name, kind in kind_of.items():
            how = "leaked" if name in leaked else "read" if name in files else "left out" if name in left_out else ""
            if not how and name == "moving.md":
                how = "left out"  # it was not there when the folder was listed
            counts.setdefault(kind, Counter())[how or "silent"] += 1
            if not how:
                wrong.append(f"round {seed} | {kind} | {name!r} silent")
        if not any(_GOOD in text for source, text in passages if source == "good.md"):
            wrong.append(f"round {seed} | the good file was not read: {left_out.get('good.md')}")
        if requested_paths:
            wrong.append(f"round {seed} | a server was asked for {requested_paths}")
        if [path.name for path in outside.rglob("*")] != ["secret.md"] or {*home.iterdir()} != {folder, outside}:
            wrong.append(f"round {seed} | something was written outside of the folder")
        return counts, wrong


def attack(count: int, seed: int) -> tuple[Table, list[str], int]:
    """Read folders until so many hostile files were in them; return the counts, what went wrong, and their number."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    wrong: list[str] = []
    files = rounds = 0
    while files < count and not (rounds and not files):
        with tempfile.TemporaryDirectory() as home:
            seen, faults = read_round(Path(home), KINDS, seed + rounds)
            _remove_deep(Path(home))
        for kind, kind_counts in seen.items():
            counts[kind] += kind_counts
        files = sum(kind_counts.total() for kind_counts in counts.values())
        wrong += faults
        rounds += 1
    return counted(["hostile files", "files"], OUTCOMES, counts), wrong, files


def command(
    count: Annotated[int, typer.Option(min=1, help="At least so many hostile files.")] = 200,
    seed: Seed = 0,
    json_file: JsonFile = None,
) -> None:
    """Read folders of hostile documents."""
    table, wrong, files = attack(count, seed)
    typer.echo("\n".join(wrong), err=True)
    report(f"{files} hostile files; what went wrong otherwise: {len(wrong)}", table, json_file)
