"""What tells the rows of one kind from what holds rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shape:
    """What a kind of row looks like.

    Attributes
    ----------
    what
        Its name in messages: ``passages`` or ``questions``.
    names
        Keys in small letters; a row has one of them at least.
    unnamed
        Returns the names of the columns of a TSV file whose first line names none, from the cells of that line;
        ``None`` if they cannot be told.
    part
        What the files with such rows are called in a folder of BEIR.
    """

    what: str
    names: frozenset[str]
    unnamed: Callable[[Sequence[str]], Sequence[str] | None]
    part: str

    def is_row(self, value: Any) -> bool:
        """Tell a row, which may be broken, from an object of rows."""
        return isinstance(value, Mapping) and any(
            str(key).strip().lower() in self.names and (isinstance(cell, str | list) or _is_inner(cell))
            for key, cell in value.items()
        )


def _is_inner(cell: Any) -> bool:
    return isinstance(cell, Mapping) and isinstance(cell.get("text"), str)  # a question of Natural Questions
