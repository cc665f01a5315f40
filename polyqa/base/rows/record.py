"""A row as it was read, what tells its kind, and how a problem with one is told."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import time
from decimal import Decimal
from typing import Any
from uuid import UUID

from polyqa.base.errors import PolyqaError

_SHOWN = 200
_LISTED = 12


@dataclass(frozen=True)
class Record:
    """What one row holds, before it is checked: decoded JSON, or a mapping from the names of columns.

    A message about it starts with where it stands: the file and the line, the number or the key in it. Where the file
    is an object of rows, the row's ``key`` serves as its id.
    """

    where: str
    value: Any
    key: str | None = None


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
    splits
        Whether an object of lists may be one of splits; else it is one of rows by id.
    """

    what: str
    names: frozenset[str]
    unnamed: Callable[[Sequence[str]], Sequence[str] | None]
    part: str
    splits: bool = True

    def is_row(self, value: Any) -> bool:
        """Tell a row, which may be broken, from an object of rows."""
        return isinstance(value, Mapping) and any(
            str(key).strip().lower() in self.names and isinstance(cell, str | list) for key, cell in value.items()
        )


def plain(value: Any) -> Any:
    """Return a value of a row as Python's own types have it: what numpy and pandas call missing is ``None``."""
    if value is None or isinstance(value, str | int | list | dict):
        return value
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else plain(float(value))  # DECIMAL(38,0) holds ids
    if isinstance(value, UUID | time):
        return str(value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if callable(tolist := getattr(value, "tolist", None)):
        return plain(tolist())
    return value


def as_id(value: Any) -> str:
    """Return an id as text: a whole number is written as one, also where it is a float, as pandas has it.

    `ValueError` if it is neither a text nor a number, nor MongoDB's ``{"$oid": "5f"}``.
    """
    if isinstance(value, Mapping) and len(value) == 1:
        (value,) = value.values()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"an id is a text or a number, not {excerpt(value)[:80]}")
    return str(value)


def folded(record: Record) -> dict[str, Any]:
    """Return a row, which must be a mapping, with keys in small letters, without what is missing, its own key as id."""
    if not isinstance(record.value, Mapping):
        raise problem(record.where, f"expected an object, got {type(record.value).__name__}", excerpt(record.value))
    row: dict[str, Any] = {}
    for name, cell in record.value.items():
        if (value := plain(cell)) is not None:
            row.setdefault(str(name).strip().lower(), value)
    return row if record.key is None else {**row, "id": record.key}


def problem(where: object, what: str, text: str | None = None) -> PolyqaError:
    """Return the error of one line that says where something is wrong, what, and what stands there.

    Characters that would break the line, or that a terminal cannot write, are escaped.
    """
    message = f"{where}: {what}" if text is None else f"{where}: {what}: {text}"
    return PolyqaError("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message))


class NoSplitError(PolyqaError):
    """There is no such split, or it is not said which of several to take; ``first`` is the first of those there are."""

    first: str


def no_split(where: object, split: str | None, names: Iterable[object]) -> NoSplitError:
    """Return the error that a split is none of these, or is not named."""
    there = [*map(str, names)]
    what = f"there is no split {split!r}; there are {listed(there)}"
    if split is None:
        what = f"name a split; there are {listed(there)} (--split NAME, or {where}@NAME)"
    error = NoSplitError(*problem(where, what).args)
    error.first = there[0]
    return error


def excerpt(value: Any) -> str:
    """Return the first 200 characters of a value as JSON.

    The value is encoded no further than that: records may be large, and nested so deeply that encoding
    all of one fails where decoding it did not.
    """
    text = ""
    for piece in json.JSONEncoder(ensure_ascii=False, skipkeys=True, default=str).iterencode(value):
        text += piece[: _SHOWN - len(text)]
        if len(text) >= _SHOWN:
            break
    return text


def listed(names: Iterable[object]) -> str:
    """Return names for a message, the first twelve of them; ``none`` if there are none."""
    texts = [str(name) for name in names]
    return ", ".join([*texts[:_LISTED], "…"] if len(texts) > _LISTED else texts) or "none"
