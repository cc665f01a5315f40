"""What is read of a very long text: the parts that have to do with the question."""

import math
import re
from collections import Counter

SIZE = 1_200
"""Characters of an excerpt; of English prose that is one window of the reader."""
OVERLAP = 300
"""Characters that neighbouring excerpts share at least, so that an answer stands in one of them whole."""
MOST = 32
"""Excerpts that are read of one text."""
_WORD = re.compile(r"\w+")


def excerpts(question: str, text: str) -> list[tuple[int, str]]:
    """Return the parts of a text that are read for a question, in order, each with where it begins.

    A text of up to 28,800 characters is read as a whole. Of a longer one the 32 parts of 1,200 characters are read that
    share most words with the question. A word counts as the logarithm of how rare it is among the parts; of parts
    that share as much the first are taken.

    >>> excerpts("Who won?", "France won.")
    [(0, 'France won.')]
    >>> parts = excerpts("Who won?", "It rained. " * 5000 + "France won. " + "It rained. " * 5000)
    >>> len(parts), any("France won" in part for _, part in parts)
    (32, True)
    """
    if len(text) <= MOST * (SIZE - OVERLAP):
        return [(0, text)]
    parts = [(start, text[start:end]) for start, end in _spans(text)]
    asked = set(_WORD.findall(question.lower()))
    shared = [asked.intersection(_WORD.findall(part.lower())) for _, part in parts]
    found = Counter(word for words in shared for word in words)
    worth = {word: math.log(len(parts) / times) for word, times in found.items()}
    scores = [sum(worth[word] for word in sorted(words)) for words in shared]
    best = sorted(range(len(parts)), key=lambda index: -scores[index])[:MOST]
    return [parts[index] for index in sorted(best)]


def _spans(text: str) -> list[tuple[int, int]]:
    """Return where excerpts begin and end: between words, where there are spaces."""
    spans: list[tuple[int, int]] = []
    start = 0
    while True:
        end = start + SIZE
        if end >= len(text):
            return [*spans, (start, len(text))]
        end = max(text.rfind(" ", start + SIZE - OVERLAP, end), end - OVERLAP // 2)
        spans.append((start, end))
        start = max(text.rfind(" ", end - OVERLAP - OVERLAP // 2, end - OVERLAP) + 1, end - OVERLAP - OVERLAP // 2)
