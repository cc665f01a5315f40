"""Reads tables of lines, CSV and TSV, of which it is not known whether cells are quoted."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from .record import Record, Shape, problem
from .text import read_lines

_MOST_LINES = 10_000  # of one cell
_DELIMITERS = ("\t", ";", "|", ",")  # the likeliest first: there are commas in texts and numbers
_SAMPLE = 10  # lines


class _StrayQuoteError(ValueError):
    """A cell begins with a quote, and is not quoted."""


def read_table(path: Path, shape: Shape, delimiter: str | None) -> Iterator[Record]:
    """Yield the rows of a table as mappings from the names of its columns, in small letters.

    If no delimiter is given, it is that of `_delimiter`.

    ColBERT's and MS MARCO's collections quote nothing, DPR's passages are quoted where they must be. So a cell counts
    as quoted if it begins and ends with a quote and doubles every one in it. Line breaks in a cell of a TSV file are
    known only where a header names the columns: else a quotation that spans two passages would make one of them.
    """
    numbered = read_lines(path)
    first = next(((number, line) for number, line in numbered if line.strip()), None)
    if first is None:
        return
    if delimiter is None:
        sample = [*islice(numbered, _SAMPLE - 1)]
        numbered = chain(sample, numbered)
        delimiter = _delimiter([first[1], *(line for _, line in sample)])
    splitter = _Splitter(delimiter)
    header = [cell.strip().lower() for cell in splitter.cells(first[1], stray=True) or ()]
    named = bool(shape.names.intersection(header))
    ahead = deque([] if named else [first])
    columns: Sequence[str] | None = header if named else None
    for number, cells in _rows(numbered, ahead, splitter, several_lines=named or delimiter != "\t"):
        if not any(cell.strip() for cell in cells):
            continue
        where = f"{path}: line {number}"
        columns = columns or (shape.unnamed(cells) if delimiter == "\t" else None)
        if columns is None:
            names = ", ".join(sorted(shape.names)[:6])
            raise problem(
                where, f"the first line must name the columns (one of {names}, …)", delimiter.join(cells)[:80]
            )
        # Of what ends with an empty column, some leave out the last mark.
        if not min(2, len(columns)) <= len(cells) <= len(columns):
            between = " <TAB> " if delimiter == "\t" else f"{delimiter} "
            what = f"{len(cells)} columns, expected {between.join(columns)}"
            raise problem(where, what, repr(delimiter.join(cells)[:60]))
        yield Record(where, dict(zip(columns, cells, strict=False)))


def cells_of(text: str) -> Iterator[list[str]]:
    r"""Yield the cells of each row of a table that is no corpus.

    >>> list(cells_of('Pump;Price, net\nFalcon, 5";2,50\n'))
    [['Pump', 'Price, net'], ['Falcon, 5"', '2,50']]
    """
    lines = text.split("\n")
    delimiter = _delimiter([line for line in lines[:_SAMPLE] if line.strip()])
    rows = _rows(iter(enumerate(lines, 1)), deque(), _Splitter(delimiter), several_lines=True)
    return (cells for _, cells in rows if any(cell.strip() for cell in cells))


def _delimiter(lines: Sequence[str]) -> str:
    """Return what stands between cells: of the marks that the first line has, what all have equally or most often."""
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines]

    def fit(mark: str) -> tuple[bool, int, int]:
        counts = [line.count(mark) for line in bare]
        return min(counts) == max(counts), min(counts), sum(counts)

    return max((mark for mark in _DELIMITERS if bare and mark in bare[0]), key=fit, default=",")


def _rows(
    numbered: Iterator[tuple[int, str]], ahead: deque[tuple[int, str]], splitter: "_Splitter", *, several_lines: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with the number of its first line; lines are taken from ``ahead`` first."""
    while line := ahead.popleft() if ahead else next(numbered, None):
        cells = splitter.cells(line[1])
        taken = [line]
        while cells is None and several_lines and len(taken) < _MOST_LINES:
            more = ahead.popleft() if ahead else next(numbered, None)
            if more is None:
                break
            taken.append(more)
            if '"' in more[1]:
                try:
                    cells = splitter.joined([text for _, text in taken])
                except _StrayQuoteError:
                    break
        if cells is None:
            ahead.extendleft(reversed(taken[1:]))
            cells = splitter.cells(line[1], stray=True)
        yield line[0], cells or []


class _Splitter:
    """Splits lines into cells."""

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter
        self._quoted = re.compile(rf'"((?:[^"]|"")*+)" *(?={re.escape(delimiter)}|\Z)')
        self._begun = re.compile(r'"(?:[^"]|"")*+\Z')

    def cells(self, text: str, *, stray: bool = False) -> list[str] | None:
        """Return the cells of a row; ``None`` if the end of a quoted one is missing, unless quotes may be ``stray``."""
        if '"' not in text:
            return text.split(self.delimiter)
        try:
            return self._cells(text, stray=stray)
        except _StrayQuoteError:
            return self._cells(text, stray=True)

    def joined(self, lines: list[str]) -> list[str] | None:
        """Return the cells of a row of several lines; an error if its quotes do not fit together."""
        cells = self._cells("\n".join(lines), stray=False)
        if cells and self.delimiter == "\t" and any("\t" in cell for cell in cells):
            raise _StrayQuoteError
        return cells

    def _cells(self, text: str, *, stray: bool) -> list[str] | None:
        cells: list[str] = []
        at = 0
        while at <= len(text):
            if text.startswith('"', at):
                if match := self._quoted.match(text, at):
                    cells.append(match[1].replace('""', '"'))
                    at = match.end() + len(self.delimiter)
                    continue
                if not stray:
                    if self._begun.match(text, at):
                        return None
                    raise _StrayQuoteError
            end = text.find(self.delimiter, at)
            end = len(text) if end < 0 else end
            cells.append(text[at:end])
            at = end + len(self.delimiter)
        return cells
