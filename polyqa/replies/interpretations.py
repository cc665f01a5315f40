"""Lists of readings, in every usual form."""

import re
from collections.abc import Mapping
from typing import Any

from polyqa.base.values import Interpretation

from .nothing import is_null
from .records import calls_in, interpretation, is_reading, readings_in
from .rows import has_rows, parse_rows
from .tagged import is_tagged, parse_interpretation_lines
from .text import decode, embedded, shown, told, without_fence

_BROKEN_JSON = re.compile(r"\{|\[\s*(?:[\"{,`]|\n|\Z)")  # in a text without its JSON values
# Not the town of Reading (Berkshire).
_CALLED = re.compile(r"""\b(?:Interpretation|Reading|Disambiguation)\s*\(\s*(?:\w+\s*=|["'])""")


def parse_interpretations(value: Any) -> list[Interpretation]:
    """Accept every usual way to write a list of interpretations.

    Parameters
    ----------
    value
        A list of mappings or pairs, one mapping, a mapping that wraps the list, or text: JSON (a list, or an
        object a line, with or without prose around), calls ``Interpretation(question=…)``, lines
        ``DQ n: … / DA n: …``, rows ``1. reading | answer [3]``, or a table. Empty text, ``None`` and ``N/A`` mean
        that there is none; a question whose answer is empty, null or said to be unknown is left out, as one that
        the passages do not answer.

    Raises
    ------
    ValueError
        If text holds no pair of question and answer, an item has no place for one of them, or what belongs
        together cannot be told.
    """
    if isinstance(value, str):
        return _of_text(told(value))
    if value is None:
        return []
    if isinstance(value, Interpretation):
        return [value]
    if isinstance(value, Mapping):
        inner = readings_in(value)
        return _of_list([value] if inner is None else inner)
    if isinstance(value, (list, tuple)):
        return _of_list(list(value))
    raise ValueError(f"not a list of interpretations: {shown(value)}")


def _of_list(items: list[Any]) -> list[Interpretation]:
    if items and all(isinstance(item, str) for item in items):
        return parse_interpretations("\n".join(items))
    if len(items) == 1 and isinstance(items[0], (list, tuple)) and all(map(_holds_more, items[0])):
        return _of_list(list(items[0]))
    found = []
    for item in items:
        if item is None or (isinstance(item, str) and is_null(item)):
            continue
        if isinstance(item, str):
            found += parse_interpretations(item)
        elif isinstance(item, Mapping) and not is_reading(item) and (inner := readings_in(item)) is not None:
            found += _of_list(inner)
        elif (reading := interpretation(item)) is not None:
            found.append(reading)
    return found


def _holds_more(item: Any) -> bool:
    return isinstance(item, (Mapping, list, tuple, Interpretation))


def _of_text(text: str) -> list[Interpretation]:
    if text.endswith(",") and text.startswith("["):
        raise ValueError(f"no interpretation found in: {shown(text)}: it broke off")
    decoded = decode(text)
    if not isinstance(decoded, str):
        return parse_interpretations(decoded)
    text = without_fence(text)
    if _CALLED.search(text):
        return _of_list(list(calls_in(text)))
    values, rest = embedded(text)
    records = [value for value in values if _is_record(value)]
    if _BROKEN_JSON.search(rest) or (records and [] in values):  # an empty list is a second try as well
        raise ValueError(f"no interpretation found in: {shown(text)}")
    if records:
        return _of_records(records, text)
    if is_tagged(text):
        pairs = parse_interpretation_lines(text)
        if pairs:
            return [pair for pair in pairs if not is_null(pair.answer)]
    elif has_rows(text):
        pairs = parse_rows(text)
        if pairs or _only_nothing(text):
            return pairs
    elif is_null(text):
        return []
    raise ValueError(f"no interpretation found in: {shown(text)}")


def _only_nothing(text: str) -> bool:
    """Return whether rows were found and all of them told that there is no answer."""
    lines = [line for line in text.splitlines() if "|" in line]
    return bool(lines) and any(is_null(line.rsplit("|", 1)[1]) for line in lines)


def _is_record(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, (list, tuple)) and any(map(_holds_more, value))


def _of_records(records: list[Any], text: str) -> list[Interpretation]:
    """Read the JSON values of a text: objects, a list a fence, or a list; two lists are a first and a second try."""
    lists = [
        value for value in records if isinstance(value, (list, tuple)) and any(isinstance(i, Mapping) for i in value)
    ]
    if len(lists) > 1 or (lists and len(records) > len(lists)):
        raise ValueError(f"no interpretation found in: {shown(text)}: several lists")
    return _of_list(list(lists[0]) if lists else records)
