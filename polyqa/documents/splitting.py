"""Splits documents, and passages that are too long, into passages that ColBERT reads whole."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby, zip_longest

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.base.values import MetadataValue, Passage
from polyqa.colbert_index.checkpoint import EMBEDDED_CHECKPOINT, resolve_checkpoint
from polyqa.colbert_index.lengths import SPECIAL_TOKENS, document_tokenizer, token_counts
from polyqa.metrics.text import SECTION, normalize_words

from .blocks import Block, Document, named_after

_LEAST_TOKENS = 16  # of a passage's text, however long its title is
_STEP = 16
_LONGEST_PART = 80  # characters of a title's parts
_NUMBER = re.compile(r"\A(?:\d+(?:\.\d+)*\.|\d+(?:\.\d+)+)\s+(?=\S)")  # of a section: "3.", "3.1"
_LONGEST_LEAD = 200  # characters of a sentence that leads to items
_SHORT_ITEM = 8  # words
_LONGEST_LIST = 400  # characters of its items
_SAYS_SOMETHING = 3  # words of a heading
_MARKED_UP = ("md", "markdown", "rst")  # in which headings have the levels that their writer wants
_OPENING = frozenset(
    (
        *("abstract", "about", "background", "contents", "executive summary", "foreword", "general", "introduction"),
        *("overview", "preamble", "preface", "purpose", "scope", "summary", "table of contents"),
    )
)
"""First sections of many documents, which name none of them."""
_LONGEST_NAME = 60  # characters of the cells that name a row
_NAMED_ITEM = re.compile(r"((?:\([^()]*\)|[^.:;!?(#]|[.:;!?#](?=\S)){1,80}):\s+\S")
"""*loop.index: The iteration, from 1*; not a comment of code (*Fix what # fmt: off does*)."""


class Splitter:
    """Splits texts between paragraphs, else between sentences, else between words.

    Parameters
    ----------
    tokens
        The most tokens of a passage, with its title and special tokens.
    overlap
        Tokens that a passage repeats of the one before.
    checkpoint
        The ColBERT checkpoint whose tokens are counted.

    Raises
    ------
    PolyqaError
        If the sizes are out of range, or a package of the extra `documents` is missing.
    """

    def __init__(self, tokens: int = 180, overlap: int = 0, checkpoint: str = EMBEDDED_CHECKPOINT) -> None:
        needs("semantic_text_splitter", extra="documents", for_="Splitting documents")
        if not 32 <= tokens <= 512:
            raise PolyqaError(f"A passage has 32 to 512 tokens, not {tokens}.")
        if not 0 <= overlap <= tokens // 2:
            raise PolyqaError(f"The overlap is at most half a passage, {tokens // 2} tokens, not {overlap}.")
        self.tokens, self.overlap = tokens, overlap
        self.location = resolve_checkpoint(checkpoint)
        self._tokenizer = document_tokenizer(self.location)

    def split(self, title: str, text: str) -> list[tuple[int, str]]:
        """Return the parts of a text of this title that fit into a passage, and where in the text each begins."""
        from semantic_text_splitter import TextSplitter

        of_title, of_text = token_counts(self._tokenizer, [title, text])
        limit = max(_LEAST_TOKENS, self.tokens - SPECIAL_TOKENS - of_title)
        if of_text <= limit:
            return [(0, text)]
        parts = -(-of_text // limit)
        desired = min(limit, -(-of_text // (parts * _STEP)) * _STEP)  # parts of about the same length
        splitter = TextSplitter.from_callback(  # given the tokenizer, it would copy it for each size
            lambda part: token_counts(self._tokenizer, [part])[0], (desired, limit), min(self.overlap, desired // 2)
        )
        return splitter.chunk_indices(text)

    def passages(self, document: Document, source: str) -> Iterator[Passage]:
        """Yield the passages of a document, without ids; the source is its path in the folder."""
        file, _, suffix = source.rsplit("/", 1)[-1].rpartition(".")
        title = (
            document.title
            or _first_heading(document.blocks, alone=suffix.lower() in _MARKED_UP)
            or named_after(file or suffix)
        )
        sections = [
            (_without_repeats(title, path), blocks)
            for path, blocks in _sections(_with_lists_told(document.blocks), title)
        ]
        paths = {section for section, _ in sections}
        endings = Counter(path[-last:] for path in paths for last in range(1, len(path) + 1))
        for section, part in ((section, part) for section, blocks in sections for part in _parts(blocks)):
            headings = [title, *_telling(section, endings), part.name]
            full_title = SECTION.join(_short(_NUMBER.sub("", heading)) for heading in headings if heading)
            lead, blocks = len(part.lead), part.lead + part.blocks
            split = self.split(full_title, "\n\n".join(block.text for block in blocks))
            if lead and len(split) > 1:  # else a passage might hold nothing but the lead
                lead, blocks = 0, part.blocks
                split = self.split(full_title, "\n\n".join(block.text for block in blocks))
            starts = [0, *accumulate(len(block.text) + 2 for block in blocks)]
            for start, text in split:
                number = max(bisect_right(starts, start) - 1, lead)
                block = blocks[number]
                place: dict[str, MetadataValue] = {"source": source}
                if section:
                    place["section"] = SECTION.join(section)
                if block.page is not None:
                    place["page"] = block.page
                elif block.line is not None:
                    before = block.text[: max(0, start - starts[number])]
                    place["line"] = block.line + (before.count("\n") if block.kind in ("code", "table") else 0)
                yield Passage(pid="", title=full_title, text=text, metadata={**document.metadata, **place})


def _without_repeats(title: str, path: Sequence[str]) -> tuple[str, ...]:
    """Return the headings that repeat neither the document's title nor the heading above them."""
    words = [normalize_words(heading) for heading in (title, *path)]
    return tuple(heading for at, heading in enumerate(path, 1) if words[at] not in (words[0], words[at - 1]))


def _first_heading(blocks: Sequence[Block], *, alone: bool) -> str:
    """Return the heading that a document begins with, if it is its title; empty if it is that of a section only.

    It is no title where others stand beside it and it is one of `_OPENING`, stands below a text, or has to stand
    ``alone``, as that of Markdown and reStructuredText has. Nor is it one below a text if it is of a lower level.
    """
    first = next((block for block in blocks[:3] if block.kind == "heading"), None)
    if first is None:
        return ""
    below = first is not blocks[0]
    beside = sum(block.kind == "heading" and block.level <= first.level for block in blocks) > 1
    of_section = beside and (alone or below or normalize_words(_NUMBER.sub("", first.text)) in _OPENING)
    return "" if of_section or (below and first.level > 1) else first.text


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_PART else f"{text[:_LONGEST_PART].rsplit(' ', 1)[0]} …"


def _sections(blocks: Sequence[Block], title: str) -> Iterator[tuple[tuple[str, ...], list[Block]]]:
    """Yield the texts that stand under each heading, with the path of headings that leads to it.

    A heading of three words or more over nothing is a text itself, unless it is the title. So is each heading of a
    document that has no other text.
    """
    path: list[tuple[int, str]] = []
    placed = []
    bare = all(block.kind == "heading" for block in blocks)
    for block, after in zip_longest(blocks, blocks[1:]):
        if block.kind == "heading":
            above = [(level, text) for level, text in path if level < block.level]
            path = [*above, (block.level, block.text)]
            over_nothing = after is None or (after.kind == "heading" and after.level <= block.level)
            says_something = len(block.text.split()) >= _SAYS_SOMETHING and block.text != title
            if bare or (over_nothing and says_something):
                placed.append((() if bare else tuple(text for _, text in above), replace(block, kind="text")))
        else:
            placed.append((tuple(text for _, text in path), block))
    for section, group in groupby(placed, key=lambda pair: pair[0]):
        yield section, [block for _, block in group]


def _telling(section: tuple[str, ...], endings: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    """Return the last heading of a path, with as many before it as tell it from the other paths of a document.

    >>> _telling(("build", "Options"), {("Options",): 2, ("build", "Options"): 1}), _telling((), {})
    (('build', 'Options'), ())
    """
    return next((section[-last:] for last in range(1, len(section)) if endings[section[-last:]] == 1), section)


@dataclass(frozen=True)
class _Part:
    """What a passage may hold: blocks, what leads to them (other passages repeat it), and their name, if any."""

    blocks: list[Block]
    lead: list[Block] = field(default_factory=list)
    name: str = ""


def _parts(blocks: Iterable[Block]) -> Iterator[_Part]:
    """Yield what a passage may hold: each row of a table, and each item of a list that has a name, stands alone."""
    prose: list[Block] = []
    lead: list[Block] = []
    for name, entry in _entries(blocks):
        if name is None:
            prose.extend(entry)
            lead = []
            continue
        if prose and _leads(prose[-1]):
            lead = [prose.pop()]
        if prose:
            yield _Part(prose)
        prose = []
        yield _Part(entry, lead, name)
    if prose:
        yield _Part(prose)


def _with_lists_told(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks with each list of a few words an item as one sentence with what leads to it, to be quoted whole."""
    result: list[Block] = []
    for in_list, group in groupby(blocks, key=lambda block: block.item > 0):
        items = list(group)
        lead = result[-1] if result else None
        if in_list and lead is not None and lead.kind == "text" and lead.text.endswith(":") and _is_short_list(items):
            texts = [item.text.removesuffix(".") for item in items]
            comma = "; " if any("," in text for text in texts) else ", "
            result[-1] = replace(lead, text=f"{lead.text} {comma.join(texts)}.")
        else:
            result += items
    return result


def _is_short_list(items: Sequence[Block]) -> bool:
    """Return whether each item is a few words: no sentences, nothing with a name of its own and nothing nested."""
    alone = len({item.item for item in items}) == len(items) > 1
    return (
        alone
        and all(item.kind == "text" and len(item.text.split()) <= _SHORT_ITEM for item in items)
        and not any(_NAMED_ITEM.match(item.text) or re.search(r"[.!?:;] ", item.text) for item in items)
        and sum(len(item.text) for item in items) <= _LONGEST_LIST
    )


def _leads(last: Block) -> bool:
    """Return whether a sentence, or a row without columns, says what the rows or items behind it are about."""
    return len(last.text) < _LONGEST_LEAD and (last.kind == "table" or last.text.endswith(":"))


def _entries(blocks: Iterable[Block]) -> Iterator[tuple[str | None, list[Block]]]:
    """Yield rows, the blocks of each item, and other blocks; with a name, which may be empty, what can stand alone."""
    for item, group in groupby(blocks, key=lambda block: block.item):
        entry = list(group)
        if item:
            match = _NAMED_ITEM.match(entry[0].text)
            yield (match[1].strip() if match else None), entry
            continue
        for block in entry:
            if block.kind != "table":
                yield None, [block]
                continue
            rows = block.text.split("\n")
            for number, (row, name) in enumerate(zip(rows, _row_names(rows), strict=True)):
                yield name, [replace(block, text=row, line=None if block.line is None else block.line + number)]


def _row_names(rows: Sequence[str]) -> list[str | None]:
    """Return what tells each row of a table from the others: its first cell, or two; none for a row without columns.

    >>> _row_names(["Of 2024.", "Bird: Hawk; Kind: 1; Prey: hare.", "Bird: Hawk; Kind: 2; Prey: vole."])
    [None, 'Hawk 1', 'Hawk 2']
    """
    cells = [[cell.partition(": ")[2] or cell for cell in row.removesuffix(".").split("; ")] for row in rows]
    with_columns = ["; " in row and ": " in row for row in rows]
    first = [row[0] for row, has in zip(cells, with_columns, strict=True) if has]
    width = 1 if len({*first}) == len(first) else 2
    return [_as_name(" ".join(row[:width])) if has else None for row, has in zip(cells, with_columns, strict=True)]


def _as_name(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME and re.search(r"[^\W\d_]{2}", text) else ""


def split_passages(passages: Iterable[Passage], splitter: Splitter) -> Iterator[Passage]:
    """Yield passages that the index reads whole: those that fit as they are, the others in parts.

    The first part keeps the id of the whole, the others have its number behind a ``#``: ``12``, ``12#2``, ``12#3``.
    """
    for passage in passages:
        for number, (_, text) in enumerate(splitter.split(passage.title, passage.text), 1):
            pid = passage.pid if number == 1 else f"{passage.pid}#{number}"
            yield passage if text == passage.text else passage.model_copy(update={"pid": pid, "text": text})
