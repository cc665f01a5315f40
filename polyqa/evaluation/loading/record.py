"""A record as it was read, and how a problem with one is told."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from polyqa.base.errors import PolyqaError

_SHOWN = 200
_LISTED = 12


@dataclass(frozen=True)
class Record:
    """What one record holds, before it is checked.

    Attributes
    ----------
    where
        The file and the line, the number or the key in it: what a message about the record starts with.
    value
        The decoded JSON, or the row.
    key
        The record's key, where the file is an object of records; it serves as the id.
    """

    where: str
    value: Any
    key: str | None = None


def problem(where: object, what: str, shown: str | None = None) -> PolyqaError:
    """Return the error of one line that says where something is wrong, what, and what stands there.

    Characters that would break the line, or that a terminal cannot write, are escaped.
    """
    message = f"{where}: {what}" if shown is None else f"{where}: {what}: {shown}"
    return PolyqaError("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message))


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
    every = [str(name) for name in names]
    return ", ".join([*every[:_LISTED], "…"] if len(every) > _LISTED else every) or "none"
