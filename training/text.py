"""Small text work: words, sentences, where an answer stands."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”')\]]*\s+(?=[\"“'(\[]*[A-Z0-9])")
_COMMON = frozenset(
    word
    for line in (
        "a an and are as at be been being but by can could did do does for from had has have he her his how i if in",
        "into is it its many more most much no not of on or our she should so some such than that the their them then",
        "there these they this those to us was we were what when where which while who whom whose why will with would",
        "you",
    )
    for word in line.split()
)


@lru_cache(maxsize=200_000)
def words(text: str) -> tuple[str, ...]:
    """Return the words in lower case, without accents."""
    plain = unicodedata.normalize("NFKD", text)
    return tuple(_WORD.findall("".join(c for c in plain if not unicodedata.combining(c)).lower()))


def content_words(text: str) -> set[str]:
    """Return the words that are no function words, cut to six letters (a rough stem)."""
    return {word[:6] for word in words(text) if word not in _COMMON}


def sentences(text: str) -> list[tuple[int, int]]:
    """Return ``(first character, end)`` of each sentence, split at ``. ! ?`` before a capital or digit.

    >>> [("One. Two!")[a:b] for a, b in sentences("One. Two!")]
    ['One.', 'Two!']
    """
    cuts = [(match.start(), match.end()) for match in _SENTENCE_END.finditer(text)]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]


@lru_cache(maxsize=50_000)
def _pattern(answer: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(answer)}(?!\w)", re.IGNORECASE)


def places(answer: str, text: str) -> list[tuple[int, int]]:
    """Return where an answer stands in a text as whole words, whatever the case."""
    return [match.span() for match in _pattern(answer).finditer(text)] if answer.strip() else []


def holds_answer(answers: Iterable[str], text: str) -> bool:
    """Return whether one of the answers stands in the text, as whole words after normalisation."""
    folded = f" {' '.join(words(text))} "
    return any(own and f" {' '.join(own)} " in folded for own in map(words, answers))


def best_place(question: str, answers: Sequence[str], text: str) -> tuple[int, str] | None:
    """Return the answer's occurrence whose sentence shares most with the question.

    Returns
    -------
    (first character, answer as it stands in the text), or None
        The earliest of equals; the first alias that stands in the text at all.
    """
    asked = content_words(question)
    spans = sentences(text)
    for answer in answers:
        found = places(answer, text)
        if found:
            overlap = [
                max((len(asked & content_words(text[a:b])) for a, b in spans if a <= s < b), default=0)
                for s, _ in found
            ]
            start, end = found[overlap.index(max(overlap))]
            return start, text[start:end]
    return None
