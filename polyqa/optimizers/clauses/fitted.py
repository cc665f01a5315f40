"""What the labels of the training questions say of the library: which clauses cannot help, and which numbers fit.

A clause that no label speaks for costs calls, and the more are tried the more of them gain by chance.
"""

import math
import re
from collections.abc import Sequence
from statistics import mean

from polyqa.metrics.gold import Question

from .library import Candidate

_MOST_IN_LIBRARY, _LEAST_IN_LIBRARY = 3, 2
_NEARLY_ALL = 0.9
_LIKE = 0.25  # of a length: no clause is needed for one that differs less from another's
_TENS = 10
# Clauses that cannot help where no short answer is of this form.
_FORMS = {
    "years": re.compile(r"[12]\d{3}"),
    "full-dates": re.compile(
        r"(?=.*\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b)(?=.*\b\d{1,2}(?:st|nd|rd|th)?\b).*",
        re.IGNORECASE,
    ),
}


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
    questions
        For training; with none, the candidates are returned as they are.
    """
    if not questions:
        return list(candidates)
    counts = sorted(len(question.readings) for question in questions)
    median, nearly_all = counts[len(counts) // 2], counts[math.ceil(_NEARLY_ALL * len(counts)) - 1]
    answers = [
        answer.strip() for question in questions for reading in question.readings for answer in reading.short_answers
    ]
    pointless = {name for name, form in _FORMS.items() if not any(map(form.fullmatch, answers))}
    if median < _LEAST_IN_LIBRARY:
        pointless.add("no-lone-reading")
    behind: dict[str, Candidate] = {}
    if nearly_all > _MOST_IN_LIBRARY:
        text, purpose = f"Give at most {nearly_all} readings.", "nine of ten questions have no more"
        behind["three-readings"] = Candidate(f"at-most-{nearly_all}", "number", text, purpose)
    if median > _LEAST_IN_LIBRARY:
        text, purpose = f"Give at least {median} readings.", "half of the questions have so many"
        behind["no-lone-reading"] = Candidate(f"at-least-{median}", "number", text, purpose)
    if lengths := [len(text.split()) for question in questions for text in question.long_answers]:
        words = max(_TENS, _TENS * round(mean(lengths) / _TENS))
        known = [int(number) for one in candidates if one.group == "length" for number in re.findall(r"\d+", one.text)]
        if all(abs(length - words) >= _LIKE * words for length in known):
            text, purpose = f"Write about {words} words.", "the labels' long answers have so many"
            behind["long"] = Candidate(f"{words}-words", "length", text, purpose)
    kept = (one for one in candidates if one.name not in pointless)
    return [clause for one in kept for clause in (one, behind.get(one.name)) if clause is not None]
