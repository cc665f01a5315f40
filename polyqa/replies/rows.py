"""Readings in rows: ``1. reading | answer [3]``, and Markdown tables."""

import re
from collections.abc import Sequence

from polyqa.base.values import Interpretation

from .nothing import is_null, looks_like_refusal
from .records import passage_number, split_citation
from .tagged import question_of
from .text import is_item, shown, split_numbered, strip_dress, without_bullet

_BAR = re.compile(r"\s+\|\s+")
_TIGHT_BAR = re.compile(r"(?<=[?\"”])\s*\|\s*")  # counts where no other bar stands
_CELL = re.compile(r"(?<!\\)\|")
_SEPARATOR = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_COLUMNS = {
    "question": ("disambiguated question", "interpretation", "reading", "question", "dq", "disambiguation", "meaning"),
    "answer": ("disambiguated answer", "short answer", "answer", "da"),
    "passage": ("passage", "pid", "source", "citation", "passage number", "passages", "sources", "no of passage"),
    "": ("", "n", "no", "nr", "number", "id", "original question"),
}
_ASKS = re.compile(r"\b(?:who|whom|whose|what|when|where|which|how)\b", re.I)
_CONTINUES = re.compile(r"(?:and|or|but)\b")
_BRACKETED = re.compile(r"\[\w*\]")  # "reading | answer [3]" repeats the prompt
_BARE_NUMBER = re.compile(r"[\[(]?\s*(?:passage\s*)?\d{1,3}\s*[\])]?", re.I)


def _bars(text: str) -> list[re.Match[str]]:
    return list(_BAR.finditer(text)) or list(_TIGHT_BAR.finditer(text))


def has_rows(text: str) -> bool:
    """Return whether a line of a text has a bar that may part a reading from its answer."""
    return any(_bars(line) or line.strip().startswith("|") for line in text.splitlines())


def parse_rows(text: str) -> list[Interpretation]:
    r"""Read a table, or one reading a line: reading, bar, answer, and the passage's number in brackets.

    The number, and the bullet before the reading, may be absent; lines without bullet and bar are passed over. Of
    several bars the one after the question mark counts. "none" as the answer drops the reading.

    >>> parse_rows("1. When did the 1953 film come out? | 1953 [2]\n2. And the book? | none")
    [Interpretation(question='When did the 1953 film come out?', answer='1953', pid='2')]

    Raises
    ------
    ValueError
        If an item has no answer, or where a row is to be parted cannot be told.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if any(_SEPARATOR.fullmatch(line) and "|" in line for line in lines) or _is_boxed(lines):
        return _table([line for line in lines if "|" in line])
    rows = [row for line in lines for row in _rows_of(line)]
    found = []
    for row in rows:
        bars = _bars(row)
        if not bars:
            if is_item(row):
                raise ValueError(f"no interpretation found in: {shown(text)}: no answer in {row!r:.80}")
            continue
        if row.rstrip().endswith(":") or _is_header(_BRACKETED.sub("", without_bullet(row)).split("|")):
            continue
        found.append(_row(without_bullet(row)))
    return _told(found)


def _is_boxed(lines: Sequence[str]) -> bool:
    boxed = [line for line in lines if line.strip().startswith("|") and line.strip().endswith("|")]
    return len(boxed) > 1 and _is_header(_cells(boxed[0]))


def _is_row(text: str) -> bool:
    ends = text.rstrip().endswith("|")  # the answer is still to come
    return not ends and any(text[: bar.start()].strip() and text[bar.end() :].strip() for bar in _bars(text))


def _rows_of(line: str) -> list[str]:
    """Return the rows of a line: more than one if it is a numbered list, or one with semicolons, on one line."""
    if len(_bars(line)) < 2:
        return [line]
    numbered = split_numbered(line.strip(), _is_row)
    if len(numbered) > 1:
        return numbered
    pieces: list[str] = []
    for piece in re.split(r"\s*;\s+", line.strip()):
        if not pieces or (_is_row(piece) and _is_row(pieces[-1])):
            if pieces and _CONTINUES.match(piece):
                raise ValueError(f"no interpretation found in: {shown(line)}: one reading or several?")
            pieces.append(piece)
        else:
            pieces[-1] += f"; {piece}"
    if len(pieces) > 1 and all(map(_is_row, pieces)):
        asked = [len(_asked(piece)) for piece in pieces]
        told = [piece[_bars(piece)[0].end() :] for piece in pieces]
        if not any(asked) or any(_ASKS.search(part) for answer in told for part in answer.split(";")[1:]):
            raise ValueError(f"no interpretation found in: {shown(line)}: one reading or several?")
        if not all(asked):
            raise ValueError(f"no interpretation found in: {shown(line)}: one reading or several?")
        return pieces
    return [line]


def _asked(row: str) -> list[re.Match[str]]:
    """Return the bars that a question mark stands before."""
    return [bar for bar in _bars(row) if re.search(r"\?[\"”*_`')]*\Z", row[: bar.start()])]


def _row(row: str) -> list[str]:
    """Return the question, the answer and the citation of a row."""
    bars, asked = _bars(row), _asked(row)
    if len(asked) > 1:
        raise ValueError(f"no interpretation found in: {shown(row)}: several questions in one row")
    if not bars:
        raise ValueError(f"no interpretation found in: {shown(row)}: no reading before the bar")
    if not asked and (len(bars) > 1 or row.rstrip().endswith("?")):
        # "a | b | c", or a question in which there is a bar
        raise ValueError(f"no interpretation found in: {shown(row)}: which part is the answer?")
    bar = (asked or bars)[0]
    question, answer = row[: bar.start()], row[bar.end() :]
    headed = question_of(question)
    cells = _bars(answer)
    if cells and _BARE_NUMBER.fullmatch(strip_dress(answer[cells[-1].end() :])):
        return [headed or question, answer[: cells[-1].start()], answer[cells[-1].end() :]]
    return [headed or question, answer, ""]


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.replace("\\|", "|").strip() for cell in _CELL.split(inner)]


def _column(cell: str) -> str | None:
    name = re.sub(r"[^a-z ]", "", strip_dress(without_bullet(cell) or cell).lower().replace("_", " ")).strip()
    return next((column for column, names in _COLUMNS.items() if name in names), None)


def _is_header(cells: Sequence[str]) -> bool:
    columns = [_column(cell) for cell in cells]
    return None not in columns and "question" in columns


def _table(lines: Sequence[str]) -> list[Interpretation]:
    columns: list[str | None] = []
    rows: list[list[str]] = []
    for line in lines:
        if _SEPARATOR.fullmatch(line):
            continue
        cells = _cells(line)
        if not columns:
            columns = [_column(cell) for cell in cells]
            questions = [place for place, column in enumerate(columns) if column == "question"]
            if columns.count("answer") != 1 or not questions:
                raise ValueError(
                    f"no interpretation found in: {shown(line)}: a table needs columns question and answer"
                )
            if len(questions) > 1:  # the original question stands beside the disambiguated one
                own = [
                    place for place in questions if "ambig" in cells[place].lower() or "interp" in cells[place].lower()
                ]
                if len(own) != 1:
                    raise ValueError(f"no interpretation found in: {shown(line)}: several columns of questions")
                columns = ["" if place in questions and place not in own else one for place, one in enumerate(columns)]
            continue
        if len(cells) != len(columns):
            raise ValueError(f"no interpretation found in: {shown(line)}: {len(columns)} cells were expected")
        by_column = dict(zip(columns, cells, strict=True))
        rows.append([by_column["question"], by_column["answer"], by_column.get("passage", "")])
    return _told(rows)


def _told(rows: Sequence[Sequence[str]]) -> list[Interpretation]:
    found = []
    for question, answer, cited in rows:
        text, number = split_citation(strip_dress(answer))
        text = strip_dress(text)
        if is_null(text) or looks_like_refusal(text):
            continue
        pid = passage_number(cited) if cited else number
        if not is_null(question):
            found.append(Interpretation(question=strip_dress(question), answer=text, pid=pid))
    return found


def questions_in_rows(text: str) -> list[str]:
    """Return the questions of a table that has a column of them; nothing if the text is no such table."""
    lines = [line for line in text.splitlines() if "|" in line and not _SEPARATOR.fullmatch(line)]
    if not lines or not _is_boxed(text.splitlines()):
        return []
    columns = [_column(cell) for cell in _cells(lines[0])]
    if columns.count("question") != 1:
        return []
    place = columns.index("question")
    return [cells[place] for cells in map(_cells, lines[1:]) if len(cells) == len(columns)]
