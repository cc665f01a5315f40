"""What the labels of the training questions say of the library: which clauses cannot help, and which numbers fit.

A clause that no label speaks for costs calls, and the more are tried the more of them gain by chance.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean

from polyqa.metrics.gold import Question

from .library import Candidate

MOST_FITTED = 3
"""So many clauses with the labels' numbers has a task at most."""
_MOST_IN_LIBRARY, _LEAST_IN_LIBRARY = 3, 2
_NEARLY_ALL = 0.9
_LIKE = 0.25  # of a length: no clause is needed for one that differs less from another's
_TENS = 10
_YEAR = re.compile(r"[12]\d{3}")
_DAY = re.compile(
    r"(?=.*\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b)(?=.*\b\d{1,2}(?:st|nd|rd|th)?\b).*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Labels:
    """What people gave the training questions."""

    questions: Sequence[Question]

    @cached_property
    def readings(self) -> list[int]:
        """How many readings each question has, fewest first."""
        return sorted(len(question.readings) for question in self.questions)

    @cached_property
    def answers(self) -> list[str]:
        """The short answers of all readings, aliases among them."""
        return [
            answer for question in self.questions for reading in question.readings for answer in reading.short_answers
        ]

    @cached_property
    def words(self) -> float | None:
        """How many words a long answer has on average; ``None`` if none was written."""
        lengths = [len(text.split()) for one in self.questions for text in one.long_answers]
        return mean(lengths) if lengths else None

    def have(self, pattern: re.Pattern[str]) -> bool:
        """Return whether some short answer is as a pattern says."""
        return any(pattern.fullmatch(answer.strip()) for answer in self.answers)


_POINTLESS: dict[str, Callable[[Labels], bool]] = {
    "no-lone-reading": lambda labels: labels.readings[len(labels.readings) // 2] < _LEAST_IN_LIBRARY,
    "years": lambda labels: not labels.have(_YEAR),
    "full-dates": lambda labels: not labels.have(_DAY),
}
"""Clauses that cannot help where labels are so: most questions have one reading, no answer is a year, or a date."""


def fitted(candidates: Sequence[Candidate], questions: Sequence[Question]) -> list[Candidate]:
    """Return the clauses that are worth a trial, those with the labels' own numbers behind the library's.

    - *Give at most N readings*, where nine of ten questions have no more than N, and N is above 3, the library's most.
    - *Give at least N readings*, where half of the questions have no fewer than N, and N is above 2.
    - *Write about N words*, to the nearest ten, where the long answers have so many on average and no clause of the
      library is within a quarter of it.

    Left out are clauses on dates that no short answer is like, and *at least two readings* where more than half of the
    questions have one.

    Parameters
    ----------
    candidates
        Of the library.
    questions
        For training; with none, the candidates are returned as they are.
    """
    labels = Labels(questions)
    if not labels.readings:
        return list(candidates)
    kept = [one for one in candidates if one.name not in _POINTLESS or not _POINTLESS[one.name](labels)]
    for behind, added in (
        ("three-readings", _at_most(labels)),
        ("no-lone-reading", _at_least(labels)),
        ("long", _about(labels, candidates)),
    ):
        place = next((place for place, one in enumerate(kept, 1) if one.name == behind), None)
        if added is not None and place is not None:
            kept.insert(place, added)
    return kept


def _at_most(labels: Labels) -> Candidate | None:
    most = labels.readings[math.ceil(_NEARLY_ALL * len(labels.readings)) - 1]
    if most <= _MOST_IN_LIBRARY:
        return None
    return Candidate(
        f"at-most-{most}", "number", f"Give at most {most} readings.", "nine of ten questions have no more"
    )


def _at_least(labels: Labels) -> Candidate | None:
    least = labels.readings[len(labels.readings) // 2]
    if least <= _LEAST_IN_LIBRARY:
        return None
    return Candidate(
        f"at-least-{least}", "number", f"Give at least {least} readings.", "half of the questions have so many"
    )


def _about(labels: Labels, candidates: Sequence[Candidate]) -> Candidate | None:
    if labels.words is None:
        return None
    words = max(_TENS, _TENS * round(labels.words / _TENS))
    known = [int(found[0]) for one in candidates if one.group == "length" and (found := re.search(r"\d+", one.text))]
    if any(abs(length - words) < _LIKE * words for length in known):
        return None
    return Candidate(f"{words}-words", "length", f"Write about {words} words.", "the labels' long answers have so many")
