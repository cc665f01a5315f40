"""What a converted file consists of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, zip_longest
from operator import itemgetter
from typing import Literal

from polyqa.base.text import well_formed
from polyqa.base.values import MetadataValue

Kind = Literal["heading", "text", "table", "code"]
_NOTION_ID = re.compile(r" [0-9a-f]{32}(?:_all)?\Z")
_ENDS = re.compile(r"\w{2}[.!]\Z|[。！।]\Z")
_FOUR_WORDS = re.compile(r"\b(?:\w+\W+){3}\w|[。！।]\Z")


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


def named_after(file: str) -> str:
    """Return what a file says by its name, without its suffix, and without the id that Notion adds to it.

    >>> named_after("Services 9999aaaa2222bbbb3333cccc4444dddd")
    'Services'
    """
    return well_formed(_NOTION_ID.sub("", file) or file)


def rows_text(rows: Sequence[Sequence[str]]) -> str:
    r"""Return a table as text: each row names its columns, so that it can stand alone.

    The first row names them; or the first one that is as wide as the table, if titles of the table stand above it. A
    row that says something itself names none: a term with its meaning. Where the names come again, a second table
    begins: the rows of each end with the line above its names. Sentences in cells, but for the first, stay sentences.
    Names that stand above several others go before these.

    >>> rows_text([["Birds", ""], ["Bird", "Prey"], ["Hawk", "hare"], ["Owl", ""]])
    'Birds.\nBird: Hawk; Prey: hare.\nBird: Owl.'
    >>> rows_text([["Name:", "Falcon"], ["Kind:", "bird"]]), rows_text([["a", "All that it is."], ["b", "Some."]])
    ('Name: Falcon.\nKind: bird.', 'a: All that it is.\nb: Some.')
    >>> rows_text([["Duty", "Junior", "Senior"], ["Code", "You write some code.", "You review the code of others."]])
    'Duty: Code; Junior: You write some code. Senior: You review the code of others.'
    >>> rows_text([["2021", ""], ["Zone", "Sales"], ["North", "7"], ["2022", ""], ["Zone", "Sales"], ["North", "9"]])
    '2021.\nZone: North; Sales: 7; 2021.\n2022.\nZone: North; Sales: 9; 2022.'
    >>> rows_text([["Zone", "2023", "2023"], ["Zone", "Sales", "Costs"], ["North", "7", "5"]])
    'Zone: North; 2023 Sales: 7; 2023 Costs: 5.'
    >>> rows_text([["All", "All", "All", "May"], ["Zone", "Sales", "Costs", "Gain"], ["North", "7", "5", "2"]])
    'All: May.\nZone: North; Sales: 7; Costs: 5; Gain: 2.'
    """
    rows = [[" ".join(cell.split()).removesuffix(" 00:00:00") for cell in row] for row in rows]
    filled = [sum(bool(cell) for cell, _ in groupby(row)) for row in rows]  # what is wide counts once
    half = max(filled, default=0) / 2
    head = next(
        (at for at, cells in enumerate(filled) if cells > half or (cells == half and not rows[at][0]) or not cells), 0
    )
    if len(rows) < head + 2 or _says_something(rows[head]):
        head = -1
    rows = [[cell.removesuffix(":") for cell in row] for row in rows]
    if head > 0 and filled[head - 1] > 1 and _names_below(rows[head - 1], rows[head]):
        head -= 1
    while 0 <= head < len(rows) - 2 and (below := _names_below(rows[head], rows[head + 1])):
        rows[head : head + 2], filled[head : head + 2] = [below], filled[head + 1 : head + 2]
    names = [*(rows[head] if head >= 0 else []), *[""] * max(map(len, rows), default=0)]
    heads = [at for at, row in enumerate(rows) if at >= head >= 0 and row == rows[head]]
    lines, above = [], ""
    for at, row in enumerate(rows):
        if at in heads:
            above = _line([], rows[at - 1]) if len(heads) > 1 and at and filled[at - 1] <= half else ""
        elif at + 1 in heads and filled[at] <= half:
            lines.append(_line([], row))
        else:
            line = _line(names if at > head else [], row)
            lines.append(f"{line}; {above}" if line and above else line)
    return "\n".join(f"{line.rstrip('.')}." for line in lines if line)


def _names_below(above: Sequence[str], row: Sequence[str]) -> list[str]:
    """Return the names of columns in two rows as one, if the upper ones stand above several; else nothing.

    They do if each stands again, or nothing, to its right, above names that differ and are no figures unless they come
    again below another one. The other columns have one name in both rows, or in one of them.

    >>> _names_below(["", "2023", "", "2024", ""], ["Zone", "1", "2", "1", "2"])
    ['Zone', '2023 1', '2023 2', '2024 1', '2024 2']
    >>> _names_below(["Name", "Phone", "Phone"], ["Ann", "Work", "Home"])
    []
    """
    filled: list[str] = []
    for name in above:
        filled.append(name or "".join(filled[-1:]))
    columns = list(zip(filled, row, strict=False))
    groups = [[lower for _, lower in group] for _, group in groupby(columns, key=itemgetter(0))]
    wide = [group for group in groups if len(group) > 1]
    alone = [column for column in columns if filled.count(column[0]) == 1]
    names = list(chain.from_iterable(wide))
    are_names = len({*names}) < len(names) or not any(name[:1].isdigit() for name in names)
    told_apart = all(all(group) and len({*group}) == len(group) for group in wide)
    in_one_row = all(name == lower or "" in (name, lower) for name, lower in alone)
    if not (len(groups) > 1 and wide and are_names and told_apart and in_one_row):
        return []
    return [upper if upper == lower else f"{upper} {lower}".strip() for upper, lower in columns]


def _says_something(row: Sequence[str]) -> bool:
    """Return whether a row holds a term and its meaning, or another sentence, rather than the names of columns."""
    return (len(row) == 2 and row[0].endswith(":")) or any(map(_is_sentence, row))


def _is_sentence(cell: str) -> bool:
    return bool(_ENDS.search(cell[-3:]) and _FOUR_WORDS.search(cell))


def _line(names: Sequence[str], row: Sequence[str]) -> str:
    row = row if any(names) else [cell for cell, _ in groupby(row)]
    if not any(names) and len(row) == 2 and all(row):
        return f"{row[0]}{'' if row[0][-1] in '.!?' else ':'} {row[1]}"
    named_cells = zip_longest(names[: len(row)], row, fillvalue="")
    first, *following = [f"{name}: {cell}" if name else cell for name, cell in named_cells if cell] or [""]
    line, joint = first, "; "
    for cell in following:
        line, joint = f"{line}{joint}{cell}", " " if _is_sentence(cell) else "; "
    return line
