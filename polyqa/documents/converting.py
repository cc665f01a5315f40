"""Converts a file into blocks.

kreuzberg reads the formats; what it leaves in a text that is no part of it (running headers, navigation, tags,
directives of Sphinx) is removed here. Runs in a process of its own, see `worker`.
"""

import mailbox
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from charset_normalizer import from_bytes

from polyqa.base.values import MetadataValue

from . import cleaning
from .blocks import Block, Document
from .markup import flat_markdown, flat_roles, flat_rst, front_matter, markup_of

TEXT_FORMATS = {".txt": "text/plain", ".text": "text/plain", ".md": "text/markdown", ".markdown": "text/markdown",
                ".rst": "text/x-rst"}  # fmt: skip
FORMATS = {
    ".pdf": "PDF", ".docx": "DOCX", ".pptx": "PPTX", ".xlsx": "XLSX", ".html": "HTML", ".htm": "HTML", ".xhtml": "HTML",
    ".md": "Markdown", ".markdown": "Markdown", ".rst": "reStructuredText", ".txt": "text", ".text": "text",
    ".epub": "EPUB", ".eml": "e-mail", ".mbox": "mailbox", ".csv": "CSV", ".json": "JSON",
}  # fmt: skip
"""The formats by suffix."""

_REFERENCE = re.compile(r"(?<=\w)__?(?=[\s.,;:)!?]|$)")
_SLIDE = re.compile(r"slide-mark (\d+)")


class UnreadableError(Exception):
    """A file cannot be converted; the message is the reason."""


def convert(path: Path) -> Iterator[Document]:
    """Yield the document that a file holds, or the messages of a mailbox.

    Raises
    ------
    UnreadableError
        If it cannot be read.
    """
    suffix = path.suffix.lower()
    if re.fullmatch(r"(?i)(genindex|py-modindex|search)\b.*\.html?", path.name):
        raise UnreadableError("is an index of links")
    if suffix == ".mbox":
        for message in mailbox.mbox(path, create=False):
            yield _extracted(message.as_bytes(), ".eml", "message/rfc822")
    elif suffix in TEXT_FORMATS:
        yield _text_document(decoded(path.read_bytes()), suffix)
    else:
        yield _extracted(path, suffix, None)


def decoded(data: bytes) -> str:
    """Return the text of a file in whatever encoding; line ends are those of Unix."""
    if data[:2] not in (b"\xff\xfe", b"\xfe\xff") and b"\0" in data[:8192]:
        raise UnreadableError("holds binary data, not text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        best = from_bytes(data[: 1 << 20]).best()
        if best is None:
            raise UnreadableError("its encoding is unknown") from None
        text = data.decode(best.encoding, errors="replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _text_document(text: str, suffix: str) -> Document:
    metadata: dict[str, MetadataValue] = {}
    source = text
    if suffix not in (".md", ".markdown", ".rst"):
        suffix = markup_of(text)
    if suffix in (".md", ".markdown"):
        metadata, text = front_matter(text)
        text = flat_markdown(text)
    elif suffix == ".rst":
        source, text = flat_roles(text), flat_rst(text)
    else:
        return Document("", cleaning.plain_blocks(text), metadata)
    document = _extracted(text.encode(), suffix, TEXT_FORMATS[suffix])
    title = cleaning.inline(str(metadata.pop("title", document.title)))
    blocks = document.blocks
    if suffix == ".rst":  # the underscores of references
        title = _REFERENCE.sub("", title)
        blocks = [b if b.kind == "code" else replace(b, text=_REFERENCE.sub("", b.text)) for b in blocks]
    return Document(title, _with_lines(blocks, source), metadata)


def _result(file: Path | bytes, mime_type: str | None, output_format: str, slides: bool = False) -> Any:
    """Return what kreuzberg makes of a file; its cleaning and caching are off, and running lines stay for ours."""
    import kreuzberg

    config = kreuzberg.ExtractionConfig(
        use_cache=False,
        enable_quality_processing=False,
        output_format=output_format,
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
            return kreuzberg.extract_bytes_sync(file, str(mime_type), config=config)
        return kreuzberg.extract_file_sync(file, config=config)
    except (kreuzberg.KreuzbergError, OSError, RuntimeError, ValueError) as error:
        raise UnreadableError(_reason(str(error))) from error


def _extracted(file: Path | bytes, suffix: str, mime_type: str | None) -> Document:
    slides = suffix == ".pptx"
    result = _result(file, mime_type, "markdown", slides)  # as plain text a page of a PDF would be one paragraph
    about: Mapping[str, Any] = result.metadata
    blocks = list(_blocks(result.document["nodes"] if result.document else [], paged=suffix == ".pdf"))
    if slides:
        blocks = list(_on_slides(blocks))
    elif suffix == ".pdf":
        pages = _result(file, mime_type, "plain").pages or []
        blocks = cleaning.printed_blocks(
            _whole(blocks, {page["page_number"]: page["content"] for page in pages if page["content"].strip()})
        )
    elif suffix in (".html", ".htm", ".xhtml"):
        blocks = cleaning.web_blocks(blocks)
    elif suffix == ".csv":
        rows = [row for block in blocks for row in block.text.splitlines()]
        blocks = [Block(row, "table", line=line) for line, row in enumerate(rows, 2)]
    title = about.get("subject") if suffix == ".eml" else about.get("title")
    if suffix in (".xlsx", ".csv", ".json") and not title:  # their first heading is a sheet's or a key's
        title = file.stem if isinstance(file, Path) else ""
    blocks = cleaning.cleaned(blocks)
    title = _title(str(title or ""))
    heading = next((block.text for block in blocks if block.kind == "heading"), "")
    if heading and title.casefold().startswith(heading.casefold()):  # "Install | Falcon documentation"
        title = heading
    return Document(title, blocks, _metadata(about, suffix))


def _whole(blocks: Sequence[Block], pages: Mapping[int, str]) -> list[Block]:
    """Take the text of a page where its blocks lack more than a tenth of it: kreuzberg loses paragraphs of some."""
    by_page: dict[int, list[Block]] = {}
    for block in blocks:
        by_page.setdefault(block.page or 1, []).append(block)
    result: list[Block] = []
    for page in sorted({*by_page, *pages}):
        words = Counter(re.findall(r"\w+", pages.get(page, "")))
        missing = words - Counter(re.findall(r"\w+", " ".join(block.text for block in by_page.get(page, []))))
        lost = missing.total() > words.total() / 10
        result += cleaning.page_blocks(pages[page], page) if lost else by_page.get(page, [])
    return result


def _reason(message: str) -> str:
    text = " ".join(message.split())
    if re.search(r"password|encrypt", text, re.IGNORECASE):
        return "is protected by a password"
    return f"cannot be read ({text[:120]})"


def _blocks(nodes: Sequence[Mapping[str, Any]], *, paged: bool) -> Iterator[Block]:
    page = 1 if paged else None
    for node in nodes:
        content = node["content"]
        page = node.get("page", page) if paged else None
        if node.get("content_layer") in ("header", "footer"):
            continue
        match content["node_type"]:
            case "heading":
                yield Block(content["text"], "heading", int(content["level"]), page=page)
            case "table":
                yield Block(_rows(content["grid"]), "table", page=page)
            case "code" | "formula":
                yield Block(content.get("text", ""), "code", page=page)
            case "page_break" | "group" | "list" | "metadata_block" | "slide":
                pass
            case "list_item":
                yield Block(f"- {content['text']}", page=page)
            case _:
                yield Block(content.get("text") or "", page=page)


def _rows(grid: Mapping[str, Any]) -> str:
    """Return a table as text: each row names its columns, so that it can stand alone."""
    rows: dict[int, dict[int, str]] = {}
    for cell in grid["cells"]:
        rows.setdefault(cell["row"], {})[cell["col"]] = " ".join(cell["content"].split()).removesuffix(" 00:00:00")
    numbers = sorted(rows)
    if len(numbers) < 2:
        return "\n".join("; ".join(filter(None, rows[number].values())) for number in numbers)
    header = rows[numbers[0]]
    lines = []
    for number in numbers[1:]:
        cells = [(header.get(column), cell) for column, cell in rows[number].items() if cell]
        lines.append("; ".join(f"{name}: {cell}" if name else cell for name, cell in cells))
    return "\n".join(f"{line.rstrip('.')}." for line in lines if line) or "; ".join(filter(None, header.values()))


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
    title = cleaning.inline(text)
    made_up = (
        r"(?i)((powerpoint )?presentation\d*|microsoft \w+ - .*|untitled.*|unknown|document\d*|"
        r".*\.(docx?|dvi|tex|indd|pptx?|xlsx?|qxd|ps))"
    )
    return "" if re.fullmatch(made_up, title) else title


def _metadata(about: Mapping[str, Any], suffix: str) -> dict[str, MetadataValue]:
    authors = about.get("authors") or [about.get("from_name") or about.get("from_email") or about.get("author")]
    written = str(about.get("created_at") or "")
    if suffix == ".eml" and written:
        try:
            written = parsedate_to_datetime(written).date().isoformat()
        except ValueError:
            written = ""
    day = re.match(r"\d{4}-\d\d-\d\d", written)
    keywords = about.get("keywords") or []
    fields = {
        "author": ", ".join(str(author) for author in authors if author),
        "date": day[0] if day else "",
        "tags": ", ".join(map(str, keywords)) if isinstance(keywords, list) else str(keywords),
    }
    return {name: value for name, value in fields.items() if value}


def _with_lines(blocks: Sequence[Block], source: str) -> list[Block]:
    """Find the line at which each block begins, by its first words in the source from the last block on."""
    words, starts, at = [], [], 1
    for word in re.finditer(r"\w+", source):
        words.append(word[0])
        starts.append((at, word.start()))
        at += len(word[0]) + 1
    joined = f" {' '.join(words)} "
    offsets = [offset for offset, _ in starts]
    line_ends = [match.start() for match in re.finditer("\n", source)]
    placed, cursor, line = [], 0, 1
    for block in blocks:
        beginning = re.findall(r"\w+", block.text)
        for length, far in ((8, len(joined)), (4, 20_000), (2, 2_000)):
            place = joined.find(f" {' '.join(beginning[:length])} ", cursor, cursor + far) if beginning else -1
            if place >= 0:
                line = bisect_right(line_ends, starts[bisect_right(offsets, place + 1) - 1][1]) + 1
                cursor = place + 1
                break
        placed.append(replace(block, line=line))
    return placed
