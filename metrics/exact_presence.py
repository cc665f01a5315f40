"""Whether a text holds an answer, as ASQA's STR-EM decides it."""

import re
import string
from collections.abc import Iterable
from functools import lru_cache

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@lru_cache(maxsize=50_000)  # a passage is compared with many aliases
def normalize_answer(text: str) -> str:
    """Lower-case, drop ASCII punctuation and articles, squeeze white space (ASQA's rule; no Unicode NFD).

    >>> normalize_answer("The U.S.A.")
    'usa'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_presence(answers: Iterable[str], text: str) -> bool:
    """Return whether any answer is a substring of the text, both normalised.

    Edge cases, as in ASQA's official scorer: there is no word boundary, so ``6`` stands in ``1966``;
    an answer that normalises to nothing is always present.
    """
    normalized = normalize_answer(text)
    return any(normalize_answer(answer) in normalized for answer in answers)
