"""What a converted file consists of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from polyqa.base.values import MetadataValue

Kind = Literal["heading", "text", "table", "code"]


@dataclass(frozen=True)
class Block:
    """A heading, a paragraph, a table or a piece of code, in the order of the file.

    Attributes
    ----------
    text
        Of a table, a row a line.
    kind
        What it is; a list item is a text.
    item
        Of what stands in a list: which item of the file's outermost lists it belongs to, from 1; else 0.
    level
        Of a heading, from 1.
    page, line
        Where it begins, from 1; at most one of them is known.
    size
        Of its type, in points; 0 if unknown.
    """

    text: str
    kind: Kind = "text"
    level: int = 0
    page: int | None = None
    line: int | None = None
    item: int = 0
    size: float = 0


@dataclass(frozen=True)
class Document:
    """A converted file: its title (empty if it names none), its blocks, and what it says of itself."""

    title: str
    blocks: Sequence[Block]
    metadata: Mapping[str, MetadataValue]


def rows_text(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a table as text: each row names its columns, so that it can stand alone.

    The first row names them; or the first one that is as wide as the table, if titles of the table stand above it.
    Where the names come again, a second table begins: the rows of each end with the line above its names.

    >>> rows_text([["Birds", ""], ["Bird", "Prey"], ["Hawk", "hare"], ["Owl", ""]])
    'Birds.\nBird: Hawk; Prey: hare.\nBird: Owl.'
    >>> rows_text([["2021", ""], ["Zone", "Sales"], ["North", "7"], ["2022", ""], ["Zone", "Sales"], ["North", "9"]])
    '2021.\nZone: North; Sales: 7; 2021.\n2022.\nZone: North; Sales: 9; 2022.'
    """
    rows = [[" ".join(cell.split()).removesuffix(" 00:00:00") for cell in row] for row in rows]
    filled = [sum(map(bool, row)) for row in rows]
    least = max(filled, default=0) / 2
    head = next(
        (at for at, cells in enumerate(filled) if cells > least or (cells == least and not rows[at][0]) or not cells), 0
    )
    if len(rows) < head + 2:
        head = -1
    names = [*(rows[head] if head >= 0 else []), *[""] * max(map(len, rows), default=0)]
    heads = [at for at, row in enumerate(rows) if at >= head >= 0 and row == rows[head]]
    lines, above = [], ""
    for at, row in enumerate(rows):
        if at in heads:
            above = _line([], rows[at - 1]) if len(heads) > 1 and at and filled[at - 1] <= least else ""
        elif at + 1 in heads and filled[at] <= least:
            lines.append(_line([], row))
        else:
            line = _line(names if at > head else [], row)
            lines.append(f"{line}; {above}" if line and above else line)
    return "\n".join(f"{line.rstrip('.')}." for line in lines if line)


def _line(names: Sequence[str], row: Sequence[str]) -> str:
    named = zip_longest(names[: len(row)], row, fillvalue="")
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)
