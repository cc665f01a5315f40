"""What a converted file consists of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    level
        Of a heading, from 1.
    page, line
        Where it begins, from 1; at most one of them is known.
    """

    text: str
    kind: Kind = "text"
    level: int = 0
    page: int | None = None
    line: int | None = None


@dataclass(frozen=True)
class Document:
    """A converted file: its title (empty if it names none), its blocks, and what it says of itself."""

    title: str
    blocks: Sequence[Block]
    metadata: Mapping[str, MetadataValue]


def rows_text(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a table as text: each row names its columns, which the first one holds, so that it can stand alone.

    >>> rows_text([["Bird", "Prey"], ["Hawk", "hare"], ["Owl", ""]])
    'Bird: Hawk; Prey: hare.\nBird: Owl.'
    """
    rows = [[" ".join(cell.split()).removesuffix(" 00:00:00") for cell in row] for row in rows]
    if len(rows) < 2:
        return "".join("; ".join(filter(None, row)) for row in rows)
    header = [*rows[0], *[""] * max(map(len, rows))]
    lines = [
        "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(header, row, strict=False) if cell)
        for row in rows[1:]
    ]
    return "\n".join(f"{line.rstrip('.')}." for line in lines if line) or "; ".join(filter(None, rows[0]))
