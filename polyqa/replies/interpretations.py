"""Lists of readings, in every usual form."""

import re
from collections.abc import Mapping
from typing import Any

from polyqa.base.values import Interpretation

from .nothing import is_null
from .questions import asks_at_once
from .records import interpretation, is_reading, readings_in
from .rows import has_rows, parse_rows
from .tagged import is_tagged, parse_interpretation_lines
from .text import json_in, shown, told, without_fence

_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\s[-–—]\s")
_LEAST_WORDS = 18  # of a copied passage; of 24,736 questions of ASQA and AmbigNQ 3 look so
_GLUED = re.compile(r"\S{25}")  # so a model ends a line to which a grammar gives no more words


def parse_interpretations(value: Any) -> list[Interpretation]:
    """Accept every usual way to write a list of interpretations.

    A reading that is told again, word for word, is kept once; a passage that is copied in place of a reading is none.
    Empty text, ``None`` and ``N/A`` mean that there is none;
    a question whose answer is empty, null or said to be unknown is left out, as one that the passages do not answer.

    Parameters
    ----------
    value
        A list of mappings or pairs, one mapping, a mapping that wraps the list, or text: JSON (a list, or an
        object a line, with or without prose around), lines ``DQ n: … / DA n: …``, rows ``1. reading | answer [3]``, or
        a table.

    Raises
    ------
    ValueError
        If text holds no pair of question and answer, an item has no place for one of them, or what belongs
        together cannot be told.
    """
    first: dict[tuple[str, str], Interpretation] = {}
    for one in _read(value):
        if not _is_passage(one.question):
            first.setdefault((one.question.casefold(), one.answer.casefold()), one)
    return list(first.values())


def _is_passage(reading: str) -> bool:
    """Return whether a reading is a passage under its heading: a few sentences of which none asks, or one cut off."""
    words, sentences = len(reading.split()), _SENTENCE.split(reading)
    asks = any(map(asks_at_once, sentences))
    return (len(sentences) > 1 and words >= _LEAST_WORDS and not asks) or (words >= 12 and bool(_GLUED.search(reading)))


def _read(value: Any) -> list[Interpretation]:
    if value is None:
        return []
    if isinstance(value, str):
        return _of_text(without_fence(told(value)))
    if isinstance(value, Interpretation):
        return [value]
    if isinstance(value, Mapping):
        inner = readings_in(value)
        return _of_list([value] if inner is None else inner)
    if isinstance(value, (list, tuple)):
        return _of_list(value)
    raise ValueError(f"not a list of interpretations: {shown(value)}")


def _of_list(items: Any) -> list[Interpretation]:
    if items and all(isinstance(item, str) for item in items):
        return _read("\n".join(items))
    found: list[Interpretation | None] = []
    for item in items:
        if item is None or (isinstance(item, str) and is_null(item)):
            continue
        inner = readings_in(item) if isinstance(item, Mapping) and not is_reading(item) else None
        if isinstance(item, str) or inner is not None:
            found += _read(item if inner is None else inner)
        else:
            found.append(interpretation(item))
    return [reading for reading in found if reading is not None]


def _of_text(text: str) -> list[Interpretation]:
    try:
        found = json_in(text)
        if found is None and is_tagged(text):
            return parse_interpretation_lines(text)
        if found is None and has_rows(text):
            return parse_rows(text)
    except ValueError as error:
        raise ValueError(f"no interpretation found in: {shown(text)}: {error}") from None
    if found is not None:
        return _read(found)
    if is_null(text):
        return []
    raise ValueError(f"no interpretation found in: {shown(text)}")
