"""Converts a file into blocks.

kreuzberg reads the formats; what it leaves in a text that is no part of it (running headers, navigation, tags,
directives of Sphinx) is removed here. Runs in a process of its own, see `worker`.
"""

import html
import io
import json
import mailbox
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.message import EmailMessage, MIMEPart
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

from charset_normalizer import from_bytes

from polyqa.base.errors import PolyqaError
from polyqa.base.languages import foreign_language
from polyqa.base.rows import SUFFIXES, NoSplitError, cells_of, format_of, read_rows
from polyqa.base.text import well_formed
from polyqa.base.values import MetadataValue
from polyqa.colbert_index.corpus import SHAPE, holds_passage

from . import cleaning
from .blocks import Block, Document, named_after, rows_text
from .markdown import front_matter, markdown_blocks
from .markup import markup_of, rst_as_markdown, wiki_as_markdown
from .records import record_rows
from .transcripts import transcript_blocks
from .workbooks import read_workbook

FORMATS = {
    ".pdf": "PDF", ".docx": "DOCX", ".pptx": "PPTX", ".xlsx": "XLSX", ".odt": "ODT", ".rtf": "RTF",
    ".html": "HTML", ".htm": "HTML", ".xhtml": "HTML", ".md": "Markdown", ".markdown": "Markdown",
    ".rst": "reStructuredText", ".txt": "text", ".text": "text", ".epub": "EPUB", ".ipynb": "notebook",
    ".eml": "e-mail", ".mbox": "mailbox", ".csv": "CSV", ".tsv": "TSV", ".json": "JSON", ".jsonl": "JSONL",
    ".ndjson": "JSONL", ".vtt": "WebVTT", ".srt": "SubRip",
    ".docm": "DOCX", ".pptm": "PPTX", ".ppsx": "PPTX", ".xlsm": "XLSX",
    ".qmd": "Markdown", ".rmd": "Markdown", ".mdx": "Markdown",
}  # fmt: skip
"""The formats by suffix."""
SAVE_AS = {
    ".doc": "DOCX", ".ppt": "PPTX", ".odp": "PPTX", ".xls": "XLSX", ".ods": "XLSX", ".msg": "e-mail (.eml)",
}  # fmt: skip
"""Formats that are not read, each with one in which its program can save."""

_SAME_INSIDE = {
    ".docm": ".docx", ".pptm": ".pptx", ".ppsx": ".pptx", ".xlsm": ".xlsx", ".qmd": ".md", ".rmd": ".md", ".mdx": ".md",
}  # fmt: skip
"""Office's files with macros, or that open as a show; Markdown with code that is run."""
_WEB = (".html", ".htm", ".xhtml")
_LINES = (".jsonl", ".ndjson")
_BOLD = (".docx", ".rtf")  # in which lines in bold type may be headings
_TEXTS = (".md", ".markdown", ".rst", ".txt", ".text")
_TRANSCRIPTS = (".vtt", ".srt")
_ARCHIVES = (".docx", ".pptx", ".odt", ".epub")
_MARKUP = (".xml", ".xhtml", ".html", ".htm")
_WORDS = re.compile(rb"(<[wm]:t(?:\s[^<>]*)?>)([^<]*&[^<]*)")
_AND = "\ufdd1"  # which is no character
_SPACE = b'<w:t xml:space="preserve"> </w:t>'
_EMPHASIS = re.compile(r"(?<!\w)\*{2,3}|\*{2,3}(?!\w)|(?<![\w*])\*(\S[^*]*)\*(?![\w*])")
"""What kreuzberg leaves of it in slides, and in cells of DOCX."""
_CHARSET = re.compile(rb"<meta\b[^>]{0,200}?\bcharset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
_ESCAPED = re.compile(rb"<title\b[^<]*|<[^<>]*>|(&(?:lt|#0*60|#x0*3c);)", re.IGNORECASE)
"""Finds signs that a web page shows, or passes over tags and the title, which kreuzberg reads rightly."""
_MARKED_UP = re.compile(r"</[a-z]\w*>|<br ?/?>", re.IGNORECASE)
_TABLE = re.compile(rb"(?is)<(table(?::table)?|a:tbl)(?=[\s>])(?:(?!<\1[\s>]).)*?</\1\s*>")
"""Of HTML, ODT or PPTX, and so the four below."""
_ROW = re.compile(rb"(?i)(?=<(?:tr|a:tr|table:table-row)[\s>])")
_ROW_END = re.compile(rb"(?i)(?=</(?:t(?:r|head|body|foot|able)|a:tr|table:table-row)\s*>|\Z)")
_CELL = re.compile(rb"(?i)(?=<(?:t[dh]|a:tc|table:table-cell)[\s/>])")
_SPAN = re.compile(
    rb"(?i)(?<![\w:-])(?:table:number-)?(row|col|grid)(?:umn)?s?-?span(?:ned)?\s*=\s*[\"']?\s*(\d+)[\"']?"
)
_COVERED = re.compile(
    rb"(?s)<table:covered-table-cell\b[^>]*(?:/>|>.*?</table:covered-table-cell>)"
    rb"|<a:tc\b[^>]*\b[hv]Merge=\"(?:1|true)\"[^>]*(?:/>|>.*?</a:tc>)"
)
"""A cell in whose place another one stands that is wider or higher."""
_WIDEST = 1000  # columns, and rows: as browsers have it
_SHORTEST_WORD = 3  # letters, one of which at least any text has
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CENTRAL = ("Polish", "Czech", "Hungarian", "Romanian")
_AS_BROWSERS = dict.fromkeys(("iso-8859-1", "iso8859-1", "latin1", "us-ascii", "ascii"), "cp1252")
"""Encodings that browsers read as another one (WHATWG, Encoding)."""
_OF_CORPORA = SHAPE.names | {"question"}  # whose columns a file of JSON lines has, unless it is a table
_FIRST_ROWS = 20  # of a table, which tell whether its rows are passages
_LINE_SPACING = 1.2  # of the size of the type
_SLIDE = re.compile(r"slide-mark (\d+)")


def is_ready(path: Path, split: str | None = None) -> bool:
    """Return whether a file, or a split of it, holds passages already: a corpus's format, or rows with a text."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS or suffix not in SUFFIXES:
        return suffix not in FORMATS and format_of(path) in SUFFIXES
    try:
        rows = (row.value for row in islice(read_rows(path, SHAPE, split), _FIRST_ROWS))
        if suffix in _LINES:
            return not all(isinstance(row, Mapping) and _OF_CORPORA.isdisjoint(map(str.lower, row)) for row in rows)
        first = next(rows, None)
        return SHAPE.is_row(first) and any(map(holds_passage, chain([first], rows)))
    except NoSplitError as error:  # which split is to be read the reader of corpora asks
        return split is None and is_ready(path, error.first)
    except PolyqaError as error:  # the ids of a TSV file in another encoding would be lost without a word
        return suffix in _LINES or (suffix == ".tsv" and isinstance(error.__cause__, UnicodeDecodeError))


class UnreadableError(Exception):
    """A file cannot be converted; the message is the reason."""


def convert(path: Path) -> Iterator[Document]:
    """Yield the document that a file holds, or the messages of a mailbox; `UnreadableError` if it cannot be read."""
    suffix = path.suffix.lower()
    suffix = _SAME_INSIDE.get(suffix, suffix)
    if re.fullmatch(r"(?i)(genindex(-\w+)?|py-modindex|search)\.html?", path.name):
        raise UnreadableError("is an index of links")
    if suffix == ".mbox":
        box = mailbox.mbox(path, create=False)
        escaped = (box.get_bytes(key) for key in box.keys())  # noqa: SIM118 - a mailbox iterates over its messages, parsed
        yield from _mails((re.sub(rb"(?m)^>(>*From )", rb"\1", data) for data in escaped), archived=True)
    elif suffix == ".eml":
        yield from _mails([path.read_bytes()], archived=False)
    elif suffix in (".csv", ".tsv"):
        numbered = [*cells_of(decoded(path.read_bytes()))]  # with a lone quote (5" pump), kreuzberg makes a single row
        a_row_a_line = [number for number, _ in numbered] == [*range(1, len(numbered) + 1)]
        yield _table(path, [cells for _, cells in numbered], 1 if a_row_a_line else None)
    elif suffix in _LINES:
        text = decoded(path.read_bytes()).rstrip()
        a_row_a_line = all(map(str.strip, text.split("\n")))
        yield _table(path, record_rows(text, by_line=True), 0 if a_row_a_line else None)  # no line names the columns
    elif suffix == ".json" and (rows := record_rows(decoded(path.read_bytes()), by_line=False)):
        yield _table(path, rows, None)
    elif suffix == ".xlsx":
        yield _workbook(path)
    elif suffix == ".ipynb":
        yield _notebook(path)
    elif suffix in _TRANSCRIPTS:
        yield Document("", cleaning.cleaned(transcript_blocks(decoded(path.read_bytes()))), {})
    elif suffix in _TEXTS:
        yield _text_document(decoded(path.read_bytes()), suffix)
    elif suffix in _WEB:
        data = path.read_bytes()
        charset = _CHARSET.search(data, 0, 4096)
        yield _web_page(decoded(data, charset[1].decode() if charset else ""))
    else:
        yield _extracted(path, suffix)


def decoded(data: bytes, encoding: str = "") -> str:
    """Return the text of a file in UTF-8, the encoding that it names, or that which fits; line ends are Unix's."""
    if data[:2] not in _UTF16_MARKS and b"\0" in data[:8192]:
        raise UnreadableError("holds binary data, not text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        try:
            text = data.decode(_AS_BROWSERS.get(encoding.lower(), encoding or "unknown"))
        except (LookupError, UnicodeDecodeError):
            text = data.decode(_guessed(data), errors="replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _guessed(data: bytes) -> str:
    """Return the encoding that fits; Windows' for the West where that for Central Europe fits no better.

    A few signs, as in *Größe* and *5 €*, may look like those of another script; of that a text has whole words.
    """
    if data[:2] in _UTF16_MARKS:
        return "utf-16"
    fitting = from_bytes(data[: 1 << 20], cp_exclusion=["utf_16", "utf_16_be", "utf_16_le", "utf_32"])
    best = fitting.best()
    if best is None:
        raise UnreadableError("its encoding is unknown")
    runs = re.findall(r"[^\W\d_\x00-\u024f\u1e00-\u1eff]+", str(best))  # of letters that are not Latin
    if runs and max(map(len, runs)) < _SHORTEST_WORD:
        return "cp1252"
    as_well = {match.encoding for match in fitting if (match.chaos, match.coherence) == (best.chaos, best.coherence)}
    western = best.encoding == "cp1250" and "cp1252" in as_well and foreign_language(str(best)) not in _CENTRAL
    return "cp1252" if western else best.encoding


def _text_document(text: str, suffix: str) -> Document:
    metadata: dict[str, MetadataValue] = {}
    if suffix not in (".md", ".markdown", ".rst"):
        suffix = markup_of(text)
    if suffix == ".txt":
        return Document("", cleaning.titled(cleaning.plain_blocks(text), text), metadata)
    if suffix in (".md", ".markdown"):
        metadata, text = front_matter(text)
    else:
        text = rst_as_markdown(text) if suffix == ".rst" else wiki_as_markdown(text)
    blocks: list[Block] = []
    for block in markdown_blocks(text):
        if block.kind == "text" and _TABLE.search(block.text.encode()):  # of HTML; its rows have other lines than here
            blocks += [replace(part, text=_EMPHASIS.sub(r"\1", part.text)) for part in _web_page(block.text).blocks]
        else:
            blocks += cleaning.cleaned([block])
    title = next((str(metadata.pop(name)) for name in [*metadata] if name.lower() == "title"), "")
    return Document(cleaning.inline(_literal(title)), blocks, metadata)


def _table(path: Path, rows: Sequence[Sequence[str]], first: int | None) -> Document:
    """Return the rows of a table, the first of which stands in this line, and each in one; ``None`` if they do not."""
    text = rows_text([[_literal(cell) for cell in row] for row in rows])
    line = None if first is None else first + len(rows) - len(text.split("\n"))  # below the names of the columns
    return Document(named_after(path.stem), cleaning.cleaned([Block(text, "table", line=line)]), {})


def _workbook(path: Path) -> Document:
    sheets, about = read_workbook(path)
    blocks = []
    for name, rows in sheets.items():
        table = rows_text([[_literal(cell) for cell in row] for row in rows])
        blocks += [Block(_literal(name), "heading", 1), Block(table, "table")] if table else []
    return Document(_title(about["title"] or "") or named_after(path.stem), cleaning.cleaned(blocks), _metadata(about))


def _notebook(path: Path) -> Document:
    """Return the texts and the code of a Jupyter notebook, without what the code printed."""
    texts = {"markdown": "{}", "code": "~~~~~~\n{}\n~~~~~~"}
    cells = json.loads(decoded(path.read_bytes()))["cells"]
    parts = [texts[cell["cell_type"]].format("".join(cell["source"])) for cell in cells if cell["cell_type"] in texts]
    document = _text_document("\n\n".join(parts), ".md")
    return replace(document, blocks=[replace(block, line=None) for block in document.blocks])


def _mails(messages: Iterable[bytes], *, archived: bool) -> Iterator[Document]:
    """Yield messages and those attached to them, but for those without a text; `UnreadableError` if all are."""
    lacking: UnreadableError | None = None
    any_read = False
    for data in messages:
        outermost = message_from_bytes(data, policy=policy.default)
        attached = (part.get_payload() for part in outermost.walk() if part.get_content_type() == "message/rfc822")
        for message in (outermost, *chain.from_iterable(attached)):
            try:
                yield _mail(message, archived=archived)
                any_read = True
            except UnreadableError as error:
                lacking = error
    if lacking is not None and not any_read:
        raise lacking


def _mail(message: EmailMessage, *, archived: bool) -> Document:
    """Return the text of a message; what it quotes stands in another one if it is part of an archive."""
    body, page = message.get_body(("plain", "html")), message.get_body(("html",))
    if body is None:
        raise UnreadableError("holds no text")
    content = _content(body)
    if page is not None and not content.strip():  # some programs send an empty plain text beside the page
        body, content = page, _content(page)
    if body.get_content_subtype() == "html":
        blocks = _web_page(content).blocks
    else:
        text = re.sub(r"\n-- \n(?s:.*)", "\n", content.replace("\r\n", "\n"))  # a signature
        if archived:
            text = re.sub(r"(?m)^(?:On [^\n]*\n?[^\n]*(?:wrote|writes):[ \t]*\n+)?(?:>.*(?:\n|\Z))+", "\n", text)
        text = re.sub(r"(?m)^(?:> ?)+", "", text)  # in one line with others the mark would say "more than"
        text, *patch = re.split(r"(?m)^(?=diff --git |Index: |--- a/)", text, maxsplit=1)
        blocks = [replace(block, line=None, page=None) for block in cleaning.plain_blocks(text)]
        blocks += cleaning.cleaned([Block(part, "code") for part in patch])
    senders, sent = getattr(_header(message, "from"), "addresses", ()), _header(message, "date")
    fields = {
        "author": cleaning.inline(well_formed(senders[0].display_name or senders[0].addr_spec)) if senders else "",
        "date": sent.datetime.date().isoformat() if sent and sent.datetime else "",
    }
    return Document(
        well_formed(" ".join(str(_header(message, "subject") or "").split())),
        blocks,
        {name: value for name, value in fields.items() if value},
    )


def _content(body: MIMEPart) -> str:
    """Return the text of a part of a message, in the charset that it names, or that which fits."""
    charset = body.get_content_charset("")
    with suppress(LookupError):  # a charset that nobody knows
        if charset and charset not in _AS_BROWSERS:
            return str(body.get_content())
    return decoded(bytes(body.get_payload(decode=True)), charset.replace("us-ascii", ""))  # which many write for none


def _header(message: EmailMessage, name: str) -> Any:
    """Return a header as Python parses it; ``None`` if there is none, or none that Python can parse.

    Letters that are not encoded as they should be are read as UTF-8, or else as Windows' for the West.
    """
    raw = next((str(value) for key, value in message.raw_items() if key.lower() == name), None)
    if raw is None:
        return None
    data = raw.encode(errors="surrogateescape")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    with suppress(AttributeError, LookupError, TypeError, ValueError, HeaderParseError):  # faults of the parser
        return policy.default.header_factory(name, "".join(text.splitlines()))
    return None


def _result(file: Path | bytes, mime_type: str = "", *, slides: bool = False) -> Any:
    """Return what kreuzberg makes of a file; its cleaning and caching are off, and running lines stay for ours."""
    import kreuzberg

    config = kreuzberg.ExtractionConfig(
        use_cache=False,
        enable_quality_processing=False,
        output_format="markdown",
        include_document_structure=True,
        pages=kreuzberg.PageConfig(
            extract_pages=True, insert_page_markers=slides, marker_format="\n\nslide-mark {page_num}\n\n"
        ),
        content_filter=kreuzberg.ContentFilterConfig(
            include_headers=True, include_footers=True, strip_repeating_text=False
        )
        if isinstance(file, Path) and file.suffix.lower() == ".pdf"
        else None,
        concurrency=kreuzberg.ConcurrencyConfig(max_threads=1),
    )
    try:
        if isinstance(file, bytes):
            return kreuzberg.extract_bytes_sync(file, mime_type, config=config)
        return kreuzberg.extract_file_sync(file, config=config)
    except (kreuzberg.KreuzbergError, OSError, RuntimeError, ValueError) as error:
        raise UnreadableError(_reason(str(error))) from error


def _web_page(page: str) -> Document:
    less_than = cleaning.LESS_THAN.encode()
    escaped = _ESCAPED.sub(lambda match: less_than if match[1] else match[0], page.encode())
    result = _result(_with_listed_terms(escaped), "text/html")
    # Of these kreuzberg's structure lacks the terms of lists of definitions.
    body = re.sub(r"\A---\n(?s:.*?)\n(?:---\n|\n## title: .*\n|\n)", "", result.content)
    blocks = [replace(block, line=None) for block in markdown_blocks(body, web=True)]
    return _document(_title(str(result.metadata.get("title") or "")), blocks, result.metadata)


def _extracted(path: Path, suffix: str) -> Document:
    from kreuzberg import detect_mime_type_from_path

    slides = suffix == ".pptx"
    if suffix in _ARCHIVES:
        result = _result(_mended(path, suffix), detect_mime_type_from_path(str(path)), slides=slides)
    else:
        result = _result(path)
    nodes = result.document["nodes"] if result.document else []
    blocks = list(_blocks(nodes, paged=suffix == ".pdf", bold=suffix in _BOLD))
    title = _title(str(result.metadata.get("title") or ""))
    if suffix in (".docx", ".pptx"):
        blocks = [replace(block, text=block.text.replace(_AND, "&")) for block in blocks]
        blocks = [
            replace(block, text=_EMPHASIS.sub(r"\1", block.text)) if slides or block.kind == "table" else block
            for block in blocks
        ]
    if slides:
        blocks = list(_on_slides(blocks))
    elif suffix in _BOLD:
        blocks = cleaning.bold_headings(blocks)
    elif suffix == ".pdf":
        pages = {page["page_number"]: page["content"] for page in result.pages or [] if page["content"].strip()}
        blocks = cleaning.printed_blocks(_whole(blocks, pages))
        printed = " ".join(block.text for block in blocks)  # without running lines, which may be drawn first
        lines = (line.strip() for line in next(iter(pages.values()), "").split("\n"))
        first = next((line for line in lines if line and line in printed), "")
        title = title or (first if len(first) < 100 and re.search(r"[^\W\d_]{3}", first) else "")
    elif suffix == ".json":  # its first heading is a key's
        title = title or named_after(path.stem)
    return _document(title, blocks, result.metadata)


def _document(title: str, blocks: Sequence[Block], about: Mapping[str, Any]) -> Document:
    blocks = cleaning.cleaned(blocks)
    heading = next((block.text for block in blocks if block.kind == "heading"), "")
    if heading and title.casefold().startswith(heading.casefold()):  # "Install | Falcon documentation"
        title = heading
    return Document(title, blocks, _metadata(about))


def _mended(path: Path, suffix: str) -> bytes:
    """Return an archive with wide cells of tables repeated, and other signs for those that kreuzberg drops in DOCX.

    These are a space for a tab, a hyphen for one that does not break, and what XML must escape: Q&A becomes QA.
    """
    result = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(result, "w") as copy:
        for entry in archive.infolist():
            data = archive.read(entry)
            if entry.filename.endswith(_MARKUP):
                data = _TABLE.sub(_wide_cells_repeated, data)
                if suffix == ".docx":
                    data = re.sub(rb"<w:tab\s*/>", _SPACE, data)
                    data = re.sub(rb"<w:noBreakHyphen\s*/>", b"<w:t>-</w:t>", data)
                    data = _WORDS.sub(_unescaped, data)
            copy.writestr(entry, data, zipfile.ZIP_STORED)  # pictures and films are not packed again
    return result.getvalue()


def _unescaped(words: re.Match[bytes]) -> bytes:
    text = html.unescape(words[2].decode())
    return words[1] + text.replace("&", _AND).replace("<", cleaning.LESS_THAN).encode()


def _with_listed_terms(page: bytes) -> bytes:
    r"""Return a web page whose lists of definitions are lists of items: kreuzberg runs a term into what it means.

    It also drops which cells of a table are headings: a row's gets a colon where a term and its meaning make a row.

    >>> _with_listed_terms(b"<dl><dt>flag1<dd>Sets it.</dd></dl>")
    b'<ul><li>flag1: Sets it.</li></ul>'
    >>> _with_listed_terms(b"<tr><th>Name</th><td>Falcon</td></tr>")
    b'<tr><th>Name:</th><td>Falcon</td></tr>'
    """
    page = _TABLE.sub(_wide_cells_repeated, page)
    page = re.sub(rb"(?i)<(/?)dl\b", rb"<\1ul", page)
    page = re.sub(
        rb"(?is)<dt\b[^>]*>((?:(?!<dt\b).)*?)[\s:]*(?:</spa[n]>)?(?:</dt>\s*)?<dd\b[^>]*>", rb"<li>\1: ", page
    )
    page = re.sub(
        rb"(?is)(<tr\b[^>]*>\s*<th\b(?:(?!<t[hdr]\b).)*?)(</th>\s*<td\b(?:(?!<t[hdr]\b).)*</tr)", rb"\1:\2", page
    )
    return re.sub(rb"(?i)</dd\b", rb"</li", page)


def _wide_cells_repeated(table: re.Match[bytes]) -> bytes:
    r"""Return a table of HTML, ODT or PPTX in which a cell over several rows or columns stands in each of them.

    kreuzberg leaves these empty, or takes what is to the right of them in their place. What stands alone in its row,
    such as a title, stays as it is.

    >>> _wide_cells_repeated(re.match(b".*", b"<tr><td rowspan=2>North<td>A</tr><tr><td>B</tr>"))
    b'<tr><td >North<td>A</tr><tr><td >North<td>B</tr>'
    """
    if not _SPAN.search(table[0]):
        return table[0]
    first, *lines = _ROW.split(_COVERED.sub(b"", table[0]))
    result = [first]
    tall: dict[int, tuple[bytes, int]] = {}  # by column: a cell, and in how many rows it is still to stand
    for line in lines:
        cells, behind = _ROW_END.split(line, maxsplit=1)
        begin, *own_cells = _CELL.split(cells)
        if len(own_cells) == 1 and not tall:
            result.append(line)
            continue
        row: list[bytes] = []
        while own_cells or len(row) in tall:
            (cell, rows), columns = tall.pop(len(row), (b"", 0)), 1
            if not rows:
                tag, end, content = own_cells.pop(0).partition(b">")
                spans = {kind.lower(): min(int(number), _WIDEST) for kind, number in _SPAN.findall(tag)}
                rows, columns = spans.pop(b"row", 1), max([1, *spans.values()])
                cell = _SPAN.sub(b"", tag) + end + content
            tall |= {column: (cell, rows - 1) for column in range(len(row), len(row) + columns) if rows > 1}
            row += [cell] * columns
        result += [begin, *row, behind]
    return b"".join(result)


def _whole(blocks: Sequence[Block], pages: Mapping[int, str]) -> list[Block]:
    """Take the lines of a page where its blocks lack more than a tenth of its words, or tear them into a table.

    kreuzberg loses paragraphs of some pages, and what it takes for a table in a PDF mostly is text with wide spaces.
    """
    by_page: dict[int, list[Block]] = {}
    for block in blocks:
        by_page.setdefault(block.page or 1, []).append(block)
    result: list[Block] = []
    for page in sorted({*by_page, *pages}):
        words = Counter(re.findall(r"\w+", pages.get(page, "")))
        missing = words - Counter(re.findall(r"\w+", " ".join(block.text for block in by_page.get(page, []))))
        torn = any(block.kind == "table" for block in by_page.get(page, []))
        lost = page in pages and (torn or missing.total() > words.total() / 10)
        result += cleaning.page_blocks(cleaning.literal(pages[page]), page) if lost else by_page.get(page, [])
    return result


def _reason(message: str) -> str:
    text = " ".join(message.split())
    if re.search(r"password|encrypt", text, re.IGNORECASE):
        return "is protected by a password"
    return f"cannot be read ({text[:120]})"


def _blocks(nodes: Sequence[Mapping[str, Any]], *, paged: bool, bold: bool) -> Iterator[Block]:
    """Yield what stands in a file, with pages, or with lines in bold type as its lowest headings."""
    page = 1 if paged else None
    for number, node in enumerate(nodes, 1):
        content = node["content"]
        page = node.get("page", page) if paged else None
        if node.get("content_layer") in ("header", "footer"):
            continue
        match content["node_type"]:
            case "heading":
                yield Block(_literal(content["text"]), "heading", int(content["level"]), page=page, size=_size(node))
            case "table":
                yield Block(_rows(content["grid"]), "table", page=page)
            case "code" | "formula":
                yield Block(content.get("text", ""), "code", page=page)
            case "page_break" | "group" | "list" | "metadata_block" | "slide":
                pass
            case kind:
                text, item = content.get("text") or "", number if kind == "list_item" else 0
                if bold and not item and _is_bold(node, text):
                    yield Block(_literal(text), "heading", cleaning.LOWEST)
                else:
                    yield Block(_literal(text), page=page, item=item, size=_size(node))


def _literal(text: str) -> str:
    """Return a text or a cell for `cleaning.inline`, in which no tag is left: what shops export holds HTML."""
    return cleaning.literal(cleaning.inline(text) if _MARKED_UP.search(text) else text)


def _is_bold(node: Mapping[str, Any], text: str) -> bool:
    return any(
        mark["kind"]["annotation_type"] == "bold" and mark["start"] == 0 and mark["end"] >= len(text.rstrip())
        for mark in node.get("annotations") or ()
    )


def _size(node: Mapping[str, Any]) -> float:
    """Return the size of the type of a printed text, in points: its height, without what its line spacing takes."""
    box = node.get("bbox")
    lines = (node["content"].get("text") or "").count("\n") + 1
    return (box["y1"] - box["y0"]) / (1 + _LINE_SPACING * (lines - 1)) if box else 0


def _rows(grid: Mapping[str, Any]) -> str:
    rows = [[""] * int(grid["cols"]) for _ in range(int(grid["rows"]))]
    for cell in grid["cells"]:
        rows[cell["row"]][cell["col"]] = _literal(cell["content"])
    # A title that is as wide as its table of DOCX stands in each column.
    rows = [row[:1] if len({*row}) == 1 and (len(row) > 2 or not at) else row for at, row in enumerate(rows)]
    return rows_text([row for row in rows if any(row)])


def _on_slides(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks with the numbers of their slides; what stands alone on a slide is its text, too."""
    numbered, page = [], 1
    for block in blocks:
        if mark := _SLIDE.fullmatch(block.text.strip()):
            page = int(mark[1])
        elif block.text.strip() != "Notes:":
            numbered.append(replace(block, page=page))
    for _, slide in groupby(numbered, key=lambda block: block.page):
        content = list(slide)
        yield from content
        if all(block.kind == "heading" for block in content):
            yield from (replace(block, kind="text") for block in content)


def _title(text: str) -> str:
    """Return a title, unless a program made it up."""
    title = cleaning.inline(cleaning.literal(text))
    made_up = (
        r"(?i)((powerpoint[ -])?pr[eä]sentation\d*|powerpoint-presentatie|"
        r"(pr[eé]sentation|a?presenta\w+ (de|do|standard di)|prezentacja programu|презентация) powerpoint|"
        r"microsoft (word|excel|powerpoint) - .*|(untitled|unbenannt).*|unknown|do[ck]ument\d*|\(anonymous\)|"
        r".*\.(docx?|dvi|tex|indd|pptx?|xlsx?|qxd|ps))"
    )
    return "" if re.fullmatch(made_up, title) else title


def _metadata(about: Mapping[str, Any]) -> dict[str, MetadataValue]:
    authors = about.get("authors") or [about.get("author")]
    day = re.match(r"\d{4}-\d\d-\d\d", str(about.get("created_at") or ""))
    keywords = about.get("keywords") or []
    fields = {
        "author": ", ".join(str(author) for author in authors if author and str(author).strip("()") != "anonymous"),
        "date": day[0] if day else "",
        "tags": ", ".join(map(str, keywords)) if isinstance(keywords, list) else str(keywords),
    }
    return {name: value for name, value in fields.items() if value}
