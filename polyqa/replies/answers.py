"""Lists of short answers."""

import re
from collections.abc import Mapping
from typing import Any

from .nothing import is_null, looks_like_refusal
from .records import ANSWER_KEYS, first_told, lowered
from .text import decode, embedded, is_item, parse_lines, shown, split_numbered, strip_dress, told, without_fence

_SPOKEN = re.compile(r"(?:here (?:are|is)|sure|certainly|the (?:short )?answers?\s+(?:are|is))\b", re.I)
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_ITEM_KEYS = (*ANSWER_KEYS, "text", "span")


def parse_answers(value: Any) -> list[str]:
    r"""Return short answers from a JSON list, a numbered or bulleted list, lines, or text with semicolons.

    Each is kept once, in order; "none" gives none. Numbers count as answers in JSON only: DSPy's repairing
    parser makes a bare number of lines that begin with one.

    >>> parse_answers("- 1901\n- Horace Jones"), parse_answers('["Horace Jones", 1901]')
    (['1901', 'Horace Jones'], ['Horace Jones', '1901'])

    Raises
    ------
    ValueError
        If it is no list of texts, or a refusal.
    """
    items = _of_text(told(value)) if isinstance(value, str) else value
    if isinstance(items, Mapping) and len(items) == 1:
        (items,) = items.values()
        items = items if isinstance(items, (list, tuple)) else [items]
    if not isinstance(items, (list, tuple)):
        raise ValueError(f"not a list of answers: {shown(value)}")
    answers: dict[str, str] = {}
    for item in items:
        if isinstance(item, Mapping):
            item = first_told(lowered(item), _ITEM_KEYS)
        if not isinstance(item, str):
            raise ValueError(f"not an answer: {shown(item)}")
        text = " ".join(_BOLD.sub(r"\1", strip_dress(item)).split())
        if looks_like_refusal(text):
            raise ValueError(f"not an answer: {shown(text)}")
        if not is_null(text):
            answers.setdefault(text.lower(), text)
    return list(answers.values())


def _of_text(text: str) -> Any:
    decoded = decode(text)
    if isinstance(decoded, list):
        return [
            str(item) if isinstance(item, (int, float)) and not isinstance(item, bool) else item for item in decoded
        ]
    if not isinstance(decoded, str):
        return decoded
    text = without_fence(text)
    values, rest = embedded(text)
    lists = [value for value in values if isinstance(value, Mapping) or _holds_text(value)]
    if len(lists) == 1 and not any(is_item(line) for line in rest.splitlines()):
        return lists[0]
    if len(lists) > 1 and all(isinstance(value, Mapping) for value in lists):
        return lists
    if lists or re.search(r"\{\s*[\"']|\[\s*[\"{]", rest):
        raise ValueError(f"not a list of answers: {shown(text)}")
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) == 1:
        numbered = split_numbered(lines[0].strip())
        if len(numbered) > 1:
            return numbered
    if is_null(text) and not any(is_item(line) for line in lines[1:]):
        return []
    lines = [
        line for line in lines if is_item(line) or not (line.rstrip().endswith(":") or _SPOKEN.match(line.lstrip()))
    ]
    if not lines:
        raise ValueError(f"not a list of answers: {shown(text)}")
    items = parse_lines("\n".join(lines))
    return re.split(r"\s*;\s*", items[0]) if len(lines) == 1 and len(items) == 1 else items


def _holds_text(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, (str, Mapping)) for item in value)
