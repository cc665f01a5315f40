"""Search queries made from a question: relaxed (VERDICT), and as keywords (CRAG)."""

import re

from polyqa.metrics.text import STOPWORDS, words

from .evidence import Models
from .prompt import Prompt

# What narrows a question to one meaning.
_NARROWING = (
    r"\s*\([^()]*\)",
    r",?\s*\b(?:in|of|since|before|after|during|from|by)\s+(?:the\s+year\s+)?(?:1[0-9]{3}|20[0-9]{2})\b",
    r"\b(?:last|latest|current|currently|most recent|most recently|newest|first|originally|officially)\b",
)


def relax_query(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``relaxed_query``: the question without brackets, years, and words such as "last" or "first"."""
    relaxed = prompt.question
    for pattern in _NARROWING:
        relaxed = re.sub(pattern, "", relaxed, flags=re.I)
    relaxed = " ".join(relaxed.split())
    return {"relaxed_query": relaxed if len(relaxed.split()) > 2 else prompt.question}


def rewrite_query(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``search_query``: the question's words that carry meaning, as they are written."""
    kept = [word for word in words(prompt.question) if word.lower() not in STOPWORDS]
    return {"search_query": " ".join(kept) or prompt.question}
