"""Small text tools that the skills share: sentences, words, names, and what kind of answer is asked."""

import re
import string
from dataclasses import dataclass
from typing import Literal

AnswerKind = Literal["time", "number", "person", "place", "other"]

_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Sr|Jr|Prof|Gen|Col|Lt|Sgt|Capt|Rev|Hon|vs|No|Vol|Inc|Ltd|Co|Corp|approx|ca|cf|etc|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Mt|Ft|U\.S|U\.K|U\.N|a\.m|p\.m|e\.g|i\.e)|\b[A-Z])\.$"
)
_BOUNDARY = re.compile(r"(?<=[.!?])[\"”’')\]]*\s+(?=[\"“‘'(\[]*[A-Z0-9])")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
STOPWORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "being",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)

# The first question word decides: "who was king when the war began" asks for a person.
_ASKED = re.compile(
    r"\b(?:(?P<number>how (?:many|much|long|old|tall|far|big|high|deep|often|large)|what (?:number|percent\w*))"
    r"|(?P<time>when|what (?:year|date|day|time|month|century)|which year)"
    r"|(?P<person>who(?:m|se)?)"
    r"|(?P<place>where|(?:what|which) (?:country|city|state|place|town|river|continent)))\b"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence and its place in its text (characters)."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[Sentence]:
    """Split English prose into sentences; initials and usual abbreviations do not end one."""
    found: list[Sentence] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if _ABBREVIATION.search(text[start : match.start()].rstrip("\"”’')]")):
            continue
        found.append(Sentence(text[start : match.end()].strip(), start, match.end()))
        start = match.end()
    if text[start:].strip():
        found.append(Sentence(text[start:].strip(), start, len(text)))
    return found


def sentence_at(text: str, position: int) -> Sentence:
    """Return the sentence that holds a character position."""
    parts = sentences(text)
    return next((part for part in parts if part.start <= position < part.end), parts[-1])


def words(text: str) -> list[str]:
    """Return the words of a text as they are written."""
    return _WORD.findall(text)


def content_words(text: str) -> list[str]:
    """Return the lower-cased words that carry meaning."""
    return [word for word in (w.lower() for w in words(text)) if word not in STOPWORDS]


def normalize(text: str) -> str:
    """Return a form under which two spellings of one answer are equal (ASQA's normalisation)."""
    text = text.lower().translate(_PUNCTUATION)
    return " ".join(word for word in text.split() if word not in ("a", "an", "the"))


def holds(text: str, answer: str) -> bool:
    """Return whether a text holds an answer, word for word under `normalize`."""
    wanted = normalize(answer)
    return bool(wanted) and f" {wanted} " in f" {normalize(text)} "


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
