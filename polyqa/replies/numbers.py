"""Lists of numbers."""

import re
from typing import Any

from .nothing import is_null
from .text import json_in, listed, shown, strip_dress, told, without_fence

_NAME = r"(?:readings?|candidates?|passages?|questions?|interpretations?|covered|kept|answered)"
_NUMBERS = re.compile(rf"(?:[^\d\n:]*\b{_NAME}\b[^\d\n:]*:)?(?:[\s,;.&#\[\]()*`'\"-]|\b(?:and|{_NAME})\b|\d+)*", re.I)
_NO_LIST = re.compile(r"\d[-.)] ?\d|\A\W*\d+\s+(?!and\b)[a-z]", re.I)  # "1-3", "1) 2)", "2 readings"
_NUMBERED = r"(\d{1,4})\W{1,5}(yes|no)\b"
_VERDICT = re.compile(rf"\W*{_NUMBERED}(?:\W*|\s*[,.;:(–—-](?!.*\b{_NUMBERED}).*)", re.I)
_REPEATED = re.compile(r"\s*(?:[-*]\s+)?(?:\[(\d+)\]|(\d+)[.)])\s+(.+)")


def parse_numbers(value: Any) -> list[int]:
    r"""Return the whole numbers of a list or a text, each once, in order; empty text and "none" give none.

    A list that repeats what its items say ("1. Who won?") gives the numbers of the items, one that says Yes or No of
    each on a line of its own those with Yes. All other text, as one that gives a range or counts, is refused.

    >>> parse_numbers("Covered: 1, 3 and 4."), parse_numbers("1. Who won?\n3. Who lost?")
    ([1, 3, 4], [1, 3])
    >>> parse_numbers("1: Yes\n2: No (another year)\n3: Yes")
    [1, 3]

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
    value = listed(value)
    numbers: list[int] = []
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(item, (int, float)) and not isinstance(item, bool) and item == item // 1:
            numbers.append(int(item))  # also 1.0, which DSPy's repairing parser makes of "1."
        elif isinstance(item, str):
            numbers += _of_text(item)
        elif item is not None:
            raise ValueError(item)
    return numbers


def _of_text(text: str) -> list[int]:
    if text[:1] in ("[", "{") and (parsed := json_in(text)) is not None:
        return _of(parsed)
    text = strip_dress(text)
    if not re.search(r"\w", text) or is_null(text):
        return []
    lines = [line for line in text.splitlines() if line.strip() and not line.rstrip().endswith(":")] or [text]
    verdicts = [_VERDICT.fullmatch(line) for line in lines]
    if all(verdicts):
        return [int(verdict[1]) for verdict in verdicts if verdict and verdict[2].lower() == "yes"]
    repeated = [_REPEATED.fullmatch(line) for line in lines]
    if all(match and re.search(r"[^\W\d]{2}.*\?\W*$", match[3]) for match in repeated):
        return [int(match[1] or match[2]) for match in repeated if match]
    numbers = re.findall(r"\d+", text)
    if not numbers or not _NUMBERS.fullmatch(text) or _NO_LIST.search(text):
        raise ValueError(text)
    return list(map(int, numbers))
