"""Lists of short answers."""

import re
from typing import Any

from .nothing import is_null, looks_like_refusal
from .text import json_in, listed, parse_lines, shown, strip_dress, told, without_fence

_MOST_WORDS = 30  # in a short answer; of 24,401 of ASQA and AmbigNQ 15 are longer


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
    items = _of_text(without_fence(told(value))) if isinstance(value, str) else listed(value)
    if not isinstance(items, (list, tuple)):
        raise ValueError(f"not a list of answers: {shown(value)}")
    answers: dict[str, str] = {}
    for item in items:
        if not isinstance(item, str) or looks_like_refusal(item) or len(item.split()) > _MOST_WORDS:
            raise ValueError(f"not an answer: {shown(item)}")
        text = " ".join(re.sub(r"\*\*([^*]+)\*\*", r"\1", strip_dress(item)).split())
        if not is_null(text):
            answers.setdefault(text.lower(), text)
    return list(answers.values())


def _of_text(text: str) -> Any:
    if (found := listed(json_in(text))) is not None:
        if not isinstance(found, list):
            return found
        return [str(one) if isinstance(one, (int, float)) and not isinstance(one, bool) else one for one in found]
    if is_null(text):
        return []
    items = parse_lines("\n".join(line for line in text.splitlines() if not line.rstrip().endswith(":")))
    if not items:
        raise ValueError(f"not a list of answers: {shown(text)}")
    return re.split(r"\s*;\s*", items[0]) if len(items) == 1 else items
