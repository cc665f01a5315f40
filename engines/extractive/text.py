"""Small text tools that the skills share: sentences, words, names, and what kind of answer is asked."""

import re
from typing import Literal

from polyqa.metrics.text import STOPWORDS, Sentence, content_words, holds, sentence_at, sentences, words
from polyqa.metrics.text import normalize_words as normalize

__all__ = [
    "STOPWORDS",
    "AnswerKind",
    "Sentence",
    "answer_kind",
    "content_words",
    "fits_kind",
    "holds",
    "normalize",
    "sentence_at",
    "sentences",
    "words",
    "years",
]

AnswerKind = Literal["time", "number", "person", "place", "other"]

_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
# The first question word decides: "who was king when the war began" asks for a person.
_ASKED = re.compile(
    r"\b(?:(?P<number>how (?:many|much|long|old|tall|far|big|high|deep|often|large)|what (?:number|percent\w*))"
    r"|(?P<time>when|what (?:year|date|day|time|month|century)|which year)"
    r"|(?P<person>who(?:m|se)?)"
    r"|(?P<place>where|(?:what|which) (?:country|city|state|place|town|river|continent)))\b"
)


def years(text: str) -> list[str]:
    """Return the four-digit years of a text."""
    return _YEAR.findall(text)


def answer_kind(question: str) -> AnswerKind:
    """Return what kind of answer a question asks for, by its question words."""
    found = _ASKED.search(question.lower())
    return found.lastgroup if found else "other"  # type: ignore[return-value]


def fits_kind(answer: str, kind: AnswerKind) -> bool:
    """Return whether a span can be an answer of a kind (lenient: only clear misfits fail)."""
    has_digit = bool(re.search(r"\d", answer))
    if kind == "time":
        return has_digit or bool(
            re.search(r"\b(?:century|today|now|present|spring|summer|autumn|fall|winter)\b", answer, re.I)
        )
    if kind == "number":
        return has_digit or bool(_NUMBER_WORD.search(answer))
    if kind in ("person", "place"):
        return any(word[:1].isupper() for word in words(answer))
    return True


_NUMBER_WORD = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    r"seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|"
    r"billion|dozen|once|twice|half)\b",
    re.I,
)
