"""Lists of questions, in every usual form."""

import re
from collections.abc import Mapping
from typing import Any

from .nothing import is_bare_null, is_null, looks_like_refusal
from .records import lowered, question_in
from .tagged import headed_questions
from .text import is_item, is_one_line_list, is_rule, json_in, shown, strip_dress, told, without_bullet, without_fence

_ASKS = re.compile(
    r"(?:(?:in|at|on|by|for|from|to|of|with|under|during|after|before)\s+)?"
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|"
    r"should|name)\b",
    re.I,
)


def parse_questions(value: Any) -> list[str]:
    """Accept a JSON list, a numbered or bulleted list, lines, or one question.

    Repetitions (case and white space aside) are dropped, the order is kept; so are introductory lines.

    Raises
    ------
    ValueError
        If an item is a refusal or has fewer than two words, as in a reply that a repairing JSON parser cut to
        pieces, or if text without bullets asks nothing.
    """
    items = _of_text(told(value)) if isinstance(value, str) else value
    if isinstance(items, Mapping):
        one = question_in(lowered(items))
        lists = [item for item in items.values() if isinstance(item, list)]
        items = [one] if one is not None else lists[0] if len(lists) == 1 else list(items.values())
    if items is None:
        return []
    if not isinstance(items, (list, tuple)):
        raise ValueError(f"not a list of questions: {shown(value)}")
    questions: dict[str, str] = {}
    for item in items:
        text = _question(item)
        if text is not None:
            questions.setdefault(" ".join(text.lower().split()), " ".join(text.split()))
    return list(questions.values())


def _question(item: Any) -> str | None:
    if isinstance(item, Mapping):
        item = question_in(lowered(item))
    if not isinstance(item, str):
        raise ValueError(f"not a question: {shown(item)}")
    if item.strip() and is_bare_null(item):
        return None
    text = strip_dress(without_bullet(item) or item)
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
    text = re.sub(r"(?<=\?)(?:;\s+|\s+(?=\d{1,2}[.)]\s))", "\n", without_fence(text))  # a list on one line
    if is_bare_null(text):
        return []
    if (found := json_in(text)) is not None:
        return found
    lines = [line for line in text.splitlines() if not is_rule(line) and not line.rstrip(" *_").endswith(":")]
    if not (items := headed_questions(text)):
        # What is indented under a question may be a note on it.
        items = [line for line in lines if is_item(line) and (line[0] not in " \t" or asks(without_bullet(line)))]
    if not items:
        # A question may lack its mark; a sentence asks nothing.
        items = [
            line
            for line in lines
            if strip_dress(line).endswith("?") or (asks_at_once(line) and line.rstrip()[-1] not in ".!")
        ]
        if len(items) == 1 and '"' not in items[0]:
            parts = re.split(r"(?<=\?)\s+", items[0].strip())
            items = parts if all(map(_ASKS.match, parts)) else items
    parts = [part for line in lines if is_one_line_list(line) for part in re.split(r" \(?2[.)] ", line)[1:]]
    if not items or any(map(asks_at_once, parts)):
        raise ValueError(f"not a question: {shown(text)}")
    return items
