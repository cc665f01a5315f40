"""Lists of questions."""

import re
from typing import Any

from .nothing import is_bare_null, is_null, looks_like_refusal
from .text import is_item, json_in, listed, parse_lines, shown, strip_dress, told, without_bullet, without_fence

_ASKS = re.compile(
    r"(?:(?:in|at|on|by|for|from|to|of|with|under|during|after|before)\s+)?"
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|"
    r"should|name)\b",
    re.I,
)
_TAG = re.compile(r"\A[\s\-*•]*(?:DQ|question)\s*\d*[*_]*:[*_]*\s*", re.I)


def parse_questions(value: Any) -> list[str]:
    """Return the questions of a JSON list, a numbered or bulleted list, ``DQ n:`` lines, lines, or of one question.

    Repetitions (case and white space aside) are dropped, the order is kept; so are introductory lines.

    Raises
    ------
    ValueError
        If an item is a refusal or has fewer than two words, as in a reply that a repairing JSON parser cut to
        pieces, or if text without bullets asks nothing.
    """
    items = _of_text(without_fence(told(value))) if isinstance(value, str) else listed(value)
    if items is None:
        return []
    if not isinstance(items, (list, tuple)):
        raise ValueError(f"not a list of questions: {shown(value)}")
    questions: dict[str, str] = {}
    for item in items:
        if (text := _question(item)) is not None:
            questions.setdefault(" ".join(text.lower().split()), " ".join(text.split()))
    return list(questions.values())


def _question(item: Any) -> str | None:
    if not isinstance(item, str):
        raise ValueError(f"not a question: {shown(item)}")
    if item.strip() and is_bare_null(item):
        return None
    text = strip_dress(_TAG.sub("", without_bullet(item) or item))
    if len(re.findall(r"\w+", text)) < 2 or looks_like_refusal(text) or is_null(text):
        raise ValueError(f"not a question: {shown(text)}")
    return text


def asks(text: str) -> bool:
    """Return whether a text has a question mark or begins as questions do."""
    return "?" in text or asks_at_once(text)


def asks_at_once(text: str) -> bool:
    """Return whether a text begins as questions do."""
    return bool(_ASKS.match(strip_dress(text)))


def _of_text(text: str) -> Any:
    text = re.sub(r"(?<=\?)(?:;\s+|\s+(?=\d{1,2}[.)]\s))", "\n", text)  # a list on one line
    if is_bare_null(text):
        return []
    if (found := json_in(text)) is not None:
        return listed(found)
    items = parse_lines("\n".join(line for line in text.splitlines() if not line.rstrip(" *_").endswith(":")))
    if not any(map(is_item, text.splitlines())):  # a question may lack its mark; a sentence asks nothing
        items = [one for one in items if one.endswith("?") or (asks(one) and one[-1] not in ".!") or _TAG.match(one)]
    if not items:
        raise ValueError(f"not a question: {shown(text)}")
    return items
