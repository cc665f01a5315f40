"""Reads a list of JSON objects as a table: tickets, products and the like, as programs export them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

_ABOUT = ("meta", "metadata", "links", "_links", "pagination", "paging", "page")
"""What programs call that which they say of a list, beside it."""


def record_rows(text: str, *, by_line: bool) -> list[list[str]]:
    r"""Return the rows of a table, the first of which names the columns; none if the JSON is no list of objects.

    The list may stand in an object, beside what says how long it is, but not beside texts. What is nested has the
    names above in its own.

    >>> issues = '{"total": 1, "page": {"size": 9}, "issues": [{"id": 7, "of": {"title": "It hangs", "tags": [1, 2]}}]}'
    >>> record_rows(issues, by_line=False)
    [['id', 'of title', 'of tags'], ['7', 'It hangs', '1, 2']]
    """
    if by_line:
        data: Any = [_record(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    else:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return []
    if isinstance(data, Mapping):
        beside = {name: value for name, value in data.items() if name.lower() not in _ABOUT}
        contents = [value for value in beside.values() if isinstance(value, list | Mapping) or " " in str(value)]
        data = contents[0] if len(contents) == 1 else None
    if not isinstance(data, list) or not all(isinstance(record, Mapping) for record in data):
        return []
    cells = [_cells(record) for record in data]
    names = list(dict.fromkeys(name for row in cells for name in row))
    return [names, *([row.get(name, "") for name in names] for row in cells)] if names else []


def _record(number: int, line: str) -> Mapping[str, Any]:
    """Return the object that stands in a line; `ValueError` if it is none, as all others would be lost unsaid."""
    with suppress(ValueError, RecursionError):
        if isinstance(record := json.loads(line), Mapping):
            return record
    raise ValueError(f"line {number} is no object of JSON")


def _cells(record: Mapping[str, Any]) -> dict[str, str]:
    cells: dict[str, list[str]] = {}
    for name, value in _values(record):
        cells.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in cells.items()}


def _values(value: Any, names: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _values(inner, (*names, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, names)
    elif value is not None and value != "":
        yield " ".join(names), str(value)
