"""Lists of short answers."""

import re
from collections.abc import Mapping
from typing import Any

from .nothing import is_null, looks_like_refusal
from .records import ANSWER_KEYS, first_told, lowered
from .text import is_item, is_one_line_list, json_in, parse_lines, shown, strip_dress, told, without_fence

_SPOKEN = re.compile(r"(?:here (?:are|is)|sure|certainly|the (?:short )?answers?\s+(?:are|is))\b", re.I)


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
    items = _of_text(without_fence(told(value))) if isinstance(value, str) else value
    if isinstance(items, Mapping) and len(items) == 1:
        (items,) = items.values()
        items = [items] if isinstance(items, str) else items
    if not isinstance(items, (list, tuple)):
        raise ValueError(f"not a list of answers: {shown(value)}")
    answers: dict[str, str] = {}
    for item in items:
        if isinstance(item, Mapping):
            item = first_told(lowered(item), (*ANSWER_KEYS, "text", "span"))
        if not isinstance(item, str) or looks_like_refusal(item):
            raise ValueError(f"not an answer: {shown(item)}")
        text = " ".join(re.sub(r"\*\*([^*]+)\*\*", r"\1", strip_dress(item)).split())
        if not is_null(text):
            answers.setdefault(text.lower(), text)
    return list(answers.values())


def _of_text(text: str) -> Any:
    found = json_in(text)
    if isinstance(found, list):
        return [str(one) if isinstance(one, (int, float)) and not isinstance(one, bool) else one for one in found]
    if found is not None:
        return found
    if is_null(text):
        return []
    lines = text.splitlines()
    lines = [line for line in lines if is_item(line) or not (line.rstrip().endswith(":") or _SPOKEN.match(line))]
    items = parse_lines("\n".join(lines))
    if not items or is_one_line_list(text):
        raise ValueError(f"not a list of answers: {shown(text)}")
    return re.split(r"\s*;\s*", items[0]) if len(items) == 1 else items
