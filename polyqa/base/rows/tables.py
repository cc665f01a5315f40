"""Reads tables of lines, CSV and TSV, of which it is not known whether cells are quoted."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from .record import Record, Shape, problem
from .text import read_lines

csv.field_size_limit(2**31 - 1)  # a cell may be a whole document; of Python's own limit 128 KiB is the beginning
_MOST_LINES = 10_000  # of one cell
_DELIMITERS = ("\t", ";", "|", ",")  # the likeliest first: there are commas in texts and numbers
_SAMPLE = 10  # lines


def read_table(path: Path, shape: Shape, delimiter: str | None) -> Iterator[Record]:
    """Yield the rows of a table as mappings from the names of its columns, in small letters.

    If no delimiter is given, it is that of `_delimiter`.

    ColBERT's and MS MARCO's collections quote nothing, DPR's passages are quoted where they must be. So cells count as
    quoted where all quotes of a row fit together. Line breaks in a cell of a TSV file are known only where a header
    names the columns: else a quotation that spans two passages would make one of them.
    """
    numbered = read_lines(path)
    first = next(((number, line) for number, line in numbered if line.strip()), None)
    if first is None:
        return
    if delimiter is None:
        sample = [*islice(numbered, _SAMPLE - 1)]
        numbered = chain(sample, numbered)
        delimiter = _delimiter([first[1], *(line for _, line in sample)])
    ((_, names),) = _rows([first], delimiter, several_lines=False)
    header = [cell.strip().lower() for cell in names]
    columns: Sequence[str] | None = header if shape.names.intersection(header) else None
    below = numbered if columns else chain([first], numbered)
    for number, cells in _rows(below, delimiter, several_lines=bool(columns) or delimiter != "\t"):
        if not any(cell.strip() for cell in cells):
            continue
        where = f"{path}: line {number}"
        columns = columns or (shape.unnamed(cells) if delimiter == "\t" else None)
        if columns is None:
            known_names = ", ".join(sorted(shape.names)[:6])
            raise problem(
                where, f"the first line must name the columns (one of {known_names}, …)", delimiter.join(cells)[:80]
            )
        # Of what ends with an empty column, some leave out the last mark.
        if not min(2, len(columns)) <= len(cells) <= len(columns):
            between = " <TAB> " if delimiter == "\t" else f"{delimiter} "
            mismatch = f"{len(cells)} columns, expected {between.join(columns)}"
            raise problem(where, mismatch, repr(delimiter.join(cells)[:60]))
        yield Record(where, dict(zip(columns, cells, strict=False)))


def cells_of(text: str) -> Iterator[tuple[int, list[str]]]:
    r"""Yield the cells of each row of a table that is no corpus, behind the number of its first line.

    >>> list(cells_of('Pump;Price, net\nFalcon, 5";2,50\n'))
    [(1, ['Pump', 'Price, net']), (2, ['Falcon, 5"', '2,50'])]
    """
    lines = re.sub(r'\A"?sep=."?\n', "\n", text).split("\n")  # what tells Excel the delimiter is no row
    delimiter = _delimiter([line for line in lines[:_SAMPLE] if line.strip()])
    rows = _rows(enumerate(lines, 1), delimiter, several_lines=True)
    return (row for row in rows if any(cell.strip() for cell in row[1]))


def _delimiter(lines: Sequence[str]) -> str:
    """Return what stands between cells: of the marks that the first line has, what all have equally or most often."""
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines]

    def fit(mark: str) -> tuple[bool, int, int]:
        counts = [line.count(mark) for line in bare]
        return min(counts) == max(counts), min(counts), sum(counts)

    return max((mark for mark in _DELIMITERS if bare and mark in bare[0]), key=fit, default=",")


def _rows(
    numbered: Iterable[tuple[int, str]], delimiter: str, *, several_lines: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with the number of its first line."""
    coming, ahead = iter(numbered), deque[tuple[int, str]]()

    def take() -> tuple[int, str] | None:
        return ahead.popleft() if ahead else next(coming, None)

    def lines(taken: list[tuple[int, str]]) -> Iterator[str]:
        """Yield the lines of a row, and note them, as long as its last cell is not closed."""
        yield taken[0][1]
        while several_lines and len(taken) < _MOST_LINES and (line := take()):
            taken.append(line)
            yield f"\n{line[1]}"

    while line := take():
        number, text = line
        cells, taken = None, [line]
        if '"' in text:
            with suppress(csv.Error):
                cells = next(csv.reader(lines(taken), delimiter=delimiter, strict=True))
        if cells is None or (delimiter == "\t" and len(taken) > 1 and any("\t" in cell for cell in cells)):
            ahead.extendleft(reversed(taken[1:]))
            cells = text.split(delimiter)
        yield number, cells
