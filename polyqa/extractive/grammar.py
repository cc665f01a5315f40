"""The spans of a passage that a person might ask for: dates, quantities, counts, names."""

import re

from polyqa.metrics.text import STOPWORDS, normalize_words, sentences, split_title

from .prompt import PromptPassage

MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:1[0-9]{3}|20[0-9]{2})"
_ANY_MONTH = rf"(?:{MONTH}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
DATE = re.compile(
    rf"\b(?:{_YEAR}-\d\d-\d\d|{_DAY}[ -]{_ANY_MONTH}[ -]{_YEAR}|{_ANY_MONTH} {_DAY},? {_YEAR}|"
    rf"{_ANY_MONTH}(?: of)? {_YEAR}|{_YEAR})\b"
)
_UNITS = (
    r"(?:metres|meters|kilometres|kilometers|miles|feet|inches|tonnes|tons|acres|hectares|degrees|percent|years|days|"
    r"hours|minutes|(?:million |billion )?(?:dollars|pounds|euros))"
)
_COUNT = r"(?:\d[\d,.]*\d|\d|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
QUANTITY = re.compile(rf"\b{_COUNT}(?: million| billion)? {_UNITS}\b")
# "It has 19 arches": the number alone answers "How many arches ...?".
COUNTED = re.compile(rf"\b(?:has|had) (?P<count>{_COUNT}) (?:[a-z-]+ )?[a-z]+s\b")
_WORD = r"[A-Z][\w’'-]*[\w]|[A-Z]\."
NAME = re.compile(rf"(?:{_WORD})(?: (?:(?:de|von|van|der|la|of|du) )?(?:the )?(?:{_WORD}|III|II|IV|VI|V))*")
_COORDINATED = re.compile(rf"(?:{NAME.pattern})(?:(?:, (?:{NAME.pattern}))* and (?:{NAME.pattern}))+")


def candidate_spans(passage: PromptPassage) -> list[str]:
    """Return the spans of a passage in its order, each once.

    Names joined by "and" are one span, as the question that leads to one of them leads to all. The title
    and its parts are left out, and so is a word that only begins a sentence.
    """
    placed_spans: list[tuple[int, str]] = []
    for sentence in sentences(passage.text):
        spans = [(match.start(), match[0]) for pattern in (DATE, QUANTITY) for match in pattern.finditer(sentence.text)]
        spans += [(match.start("count"), match["count"]) for match in COUNTED.finditer(sentence.text)]
        for pattern in (_COORDINATED, NAME):
            for match in pattern.finditer(sentence.text):
                start, text = _without_opening(match.start(), match[0])
                inside = any(at < start + len(text) and start < at + len(other) for at, other in spans)
                if text and not inside and not _belongs_to(text, passage.title):
                    spans.append((start, text))
        placed_spans += [(sentence.start + start, text) for start, text in spans]
    return list(dict.fromkeys(text for _, text in sorted(placed_spans)))


def _without_opening(start: int, text: str) -> tuple[int, str]:
    """Drop articles and the like from the beginning of a capitalised span."""
    while text and text.split()[0].lower() in STOPWORDS:
        head, _, text = text.partition(" ")
        start += len(head) + 1
    single = " " not in text and start == 0
    return start, "" if single else text


def _belongs_to(text: str, title: str) -> bool:
    name = split_title(title)[0]
    return f" {normalize_words(text)} " in f" {normalize_words(title)} {normalize_words(name)} "
