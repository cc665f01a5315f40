"""Lists of questions and of short answers."""

import re
from collections.abc import Callable
from typing import Any

from .nothing import gives_nothing, is_bare_null, is_null, looks_like_refusal
from .text import is_item, json_in, listed, parse_lines, shown, strip_dress, told, without_bullet, without_fence

_ASKS = re.compile(
    r"(?:(?:in|at|on|by|for|from|to|of|with|under|during|after|before)\s+)?"
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|"
    r"should|name)\b",
    re.I,
)
_TAG = re.compile(r"\A[\s\-*•]*(?:DQ|question)\s*\d*[*_]*:[*_]*\s*", re.I)
_MARKS = ("?", "？", "؟")
# Scripts that put no space between words: a character is one.
UNSPACED = r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
_WORDS = re.compile(rf"{UNSPACED}|\w+")
_MOST_WORDS = 30  # in a short answer; of 24,401 of ASQA and AmbigNQ 15 are longer


def parse_questions(value: Any) -> list[str]:
    """Return the questions of a JSON list, a numbered or bulleted list, ``DQ n:`` lines, lines, or of one question.

    Repetitions (case and white space aside) are dropped, the order is kept; so are introductory lines.

    Raises
    ------
    ValueError
        If an item is a refusal or has fewer than two words, as in a reply that a repairing JSON parser cut to
        pieces, or if text without bullets asks nothing.
    """
    return _each_once(value, _questions_in, _question)


def parse_answers(value: Any) -> list[str]:
    r"""Return short answers from a JSON list, a numbered or bulleted list, lines, or text with semicolons.

    Each is kept once, in order; "none" gives none. Numbers count as answers in JSON only: DSPy's repairing
    parser makes a bare number of lines that begin with one.

    >>> parse_answers("- 1901\n- Horace Jones"), parse_answers('["Horace Jones", 1901]')
    (['1901', 'Horace Jones'], ['Horace Jones', '1901'])

    Raises
    ------
    ValueError
        If it is no list of texts, or a refusal, or a passage stands where a short answer is due.
    """
    return _each_once(value, _answers_in, _answer)


def asks(text: str) -> bool:
    """Return whether a text has a question mark or begins as questions do."""
    return any(mark in text for mark in _MARKS) or asks_at_once(text)


def asks_at_once(text: str) -> bool:
    """Return whether a text begins as questions do."""
    return bool(_ASKS.match(strip_dress(text)))


def _each_once(value: Any, items_in: Callable[[str], Any], read: Callable[[Any], str | None]) -> list[str]:
    items = items_in(without_fence(told(value))) if isinstance(value, str) else [] if value is None else listed(value)
    if not isinstance(items, (list, tuple)):
        raise ValueError(f"not a list: {shown(value)}")
    first: dict[str, str] = {}
    for text in map(read, items):
        if text is not None:
            first.setdefault(" ".join(text.lower().split()), " ".join(text.split()))
    return list(first.values())


def _questions_in(text: str) -> Any:
    text = re.sub(r"(?<=\?)(?:;\s+|\s+(?=\d{1,2}[.)]\s))", "\n", text)  # a list on one line
    if is_bare_null(text):
        return []
    if (parsed := json_in(text)) is not None:
        return listed(parsed)
    items = parse_lines("\n".join(line for line in text.splitlines() if not line.rstrip(" *_").endswith(":")))
    if not any(map(is_item, text.splitlines())):  # a question may lack its mark; a sentence asks nothing
        items = [
            item
            for item in items
            if item.endswith(_MARKS) or (asks(item) and item[-1] not in ".!。！") or _TAG.match(item)
        ]
    if not items:
        raise ValueError(f"not a question: {shown(text)}")
    return items


def _question(item: Any) -> str | None:
    if isinstance(item, str) and item.strip() and is_bare_null(item):
        return None
    text = strip_dress(_TAG.sub("", without_bullet(item) or item)) if isinstance(item, str) else ""
    if len(_WORDS.findall(text)) < 2 or gives_nothing(text):
        raise ValueError(f"not a question: {shown(text or item)}")
    return text


def _answers_in(text: str) -> Any:
    if isinstance(parsed := listed(json_in(text)), list):
        return [str(item) if isinstance(item, (int, float)) and not isinstance(item, bool) else item for item in parsed]
    if parsed is not None or is_null(text):
        return parsed or []
    items = parse_lines("\n".join(line for line in text.splitlines() if not line.rstrip().endswith(":")))
    if not items:
        raise ValueError(f"not a list of answers: {shown(text)}")
    return re.split(r"\s*;\s*", items[0]) if len(items) == 1 else items


def _answer(item: Any) -> str | None:
    if not isinstance(item, str) or looks_like_refusal(item) or len(item.split()) > _MOST_WORDS:
        raise ValueError(f"not an answer: {shown(item)}")
    text = re.sub(r"\*\*([^*]+)\*\*", r"\1", strip_dress(item))
    return None if is_null(text) else text
