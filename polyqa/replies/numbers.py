"""Lists of numbers."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from .nothing import is_null
from .text import json_in, shown, strip_dress, told, without_fence

_NUMBER = re.compile(r"\d+")
_GRADED = re.compile(
    r"\d *(?:[-–—]|to|through) *\d|\d\.\d|n't\b|"
    r"\b(?:yes|no|not|true|false|but|except|neither|without|only if|rather)\b|"
    r"\b(?:all|every|each|any|top|best|first|last|other|at (?:least|most)|up to|more|fewer|less|about)\b[^:]*\d",
    re.I,
)
_LABEL = r"(?:readings?|candidates?|passages?|questions?|interpretations?|numbers?|items?|no\.|nos\.|dq|#|№)"
_BETWEEN = re.compile(rf"(?:[\s,;.&+#\[\]*_|/\"'`-]|\band\b|\b{_LABEL})*", re.I)
_MARKED = re.compile(
    rf"\s*(?:[-*•–]\s+)?[*_]*(?:\[(?P<a>\d+)\]|\(?(?P<b>\d+)\s*[.):](?!\d)|{_LABEL}\s*#?(?P<c>\d+)[*_]*\s*[:.–—-])"
    r"[*_:.]*\s+(?P<text>\S.*)",
    re.I,
)
_NAMED = re.compile(rf"\b{_LABEL}\W*\d", re.I)
_NONE_OF = re.compile(r"(?:none|neither)\s+of\s+(?:the|these|those|them)(?:\s+\w+){0,4}\W*", re.I)


def parse_numbers(value: Any) -> list[int]:
    r"""Return the whole numbers of a list or a text, each once, in order; empty text and "none" give none.

    A list that repeats what its items say ("1. Who won?") gives the numbers of the items. Text that grades numbers
    ("1: yes, 2: no", "all but 2"), gives a range or counts, or has numbers apart from one list is refused.

    >>> parse_numbers("Covered: 1, 3 and 4."), parse_numbers("1. Who won?\n3. Who lost?")
    ([1, 3, 4], [1, 3])

    Raises
    ------
    ValueError
        If it cannot be told which numbers are meant.
    """
    try:
        return list(dict.fromkeys(_of(value)))
    except ValueError:
        raise ValueError(f"no list of numbers: {shown(value)}") from None


def _of(value: Any) -> list[int]:
    if isinstance(value, str):
        return _of_text(without_fence(told(value)))
    if isinstance(value, Mapping) and len(value) == 1:
        (value,) = value.values()
        return _of(value)
    items = value if isinstance(value, (list, tuple, set)) else [value]
    flat = [inner for item in items for inner in (item if isinstance(item, (list, tuple)) else [item])]
    return [number for item in flat for number in _of_item(item)]


def _of_item(item: Any) -> list[int]:
    if item is None:
        return []
    if isinstance(item, (int, float)) and not isinstance(item, bool) and item == item // 1:
        return [int(item)]  # also 1.0, which DSPy's repairing parser makes of "1."
    if isinstance(item, str):
        return _of_text(item)
    raise ValueError(item)


def _of_text(text: str) -> list[int]:
    if text[:1] in ("[", "{") and (found := json_in(text)) is not None:
        return _of(found)
    text = strip_dress(text)
    if _NONE_OF.fullmatch(text) or not re.search(r"[^\s.\[\]]", text):
        return []
    if not _NUMBER.search(text):
        if is_null(text):
            return []
        raise ValueError(text)
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [match for line in lines if (match := _MARKED.fullmatch(line))]
    others = "".join(line for line in lines if not _MARKED.fullmatch(line))
    said = [match["text"] for match in marked]
    if marked and not _NUMBER.search(others) and not any(map(_says_a_number_or_grade, said)):
        return [int(match["a"] or match["b"] or match["c"]) for match in marked]
    if _GRADED.search(text) or any(match["b"] for match in marked):
        raise ValueError(text)
    found = list(_NUMBER.finditer(text))
    between = [text[one.end() : other.start()] for one, other in pairwise(found)]
    # Words beside a single number may say that it counts: "2 readings", "over 2".
    counts = len(found) == 1 and not (_NAMED.search(text) or re.fullmatch(r"(?:.*:)?[\W_]*\d+[\W_]*", text, re.S))
    if counts or not all(map(_BETWEEN.fullmatch, between)):
        raise ValueError(text)
    return [int(number[0]) for number in found]


def _says_a_number_or_grade(text: str) -> bool:
    """Return whether what an item says is no repetition of a question or a reading."""
    if text.rstrip(' .*_`"').endswith("?"):
        return False
    return bool(_BETWEEN.fullmatch(_NUMBER.sub("", text)) or _GRADED.search(text) or re.search(r"\d\s*[.):]", text))
