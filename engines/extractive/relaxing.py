"""Query relaxation: what narrows a question to one meaning is left out of its search query."""

import re

from .models import Models
from .prompt import Prompt

_NARROWING = (
    r"\s*\([^()]*\)",
    r",?\s*\b(?:in|of|since|before|after|during|from|by)\s+(?:the\s+year\s+)?(?:1[0-9]{3}|20[0-9]{2})\b",
    r"\b(?:last|latest|current|currently|most recent|most recently|newest|first|originally|officially)\b",
)


def relax_query(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``relaxed_query``: the question without brackets, years, and words such as "last" or "first"."""
    question = prompt.inputs["question"]
    relaxed = question
    for pattern in _NARROWING:
        relaxed = re.sub(pattern, "", relaxed, flags=re.I)
    relaxed = " ".join(relaxed.split())
    return {"relaxed_query": relaxed if len(relaxed.split()) > 2 else question}
