"""The readings of a question that passages answer: all of several passages, that of one, and the likeliest."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from polyqa.replies import parse_interpretations

from .clauses import Clauses
from .evidence import Evidence, Models, distinct, gather, telling
from .obeying import DOUBTS, as_asked, worded
from .prompt import Prompt
from .titles import are_namesakes
from .wordings import phrase, readings_of

NULL = "null"
_MOST = 8
_LONGEST_ANSWER = 10  # words
_BREAK = re.compile(r"[,;]? [(–—]|[,;] | - ")
_LIST = re.compile(r",.*(?: and | or | & )")
# From which support on a passage is said to answer a reading.
_ANSWERS = 0.2
# Below this support nothing is told.
_LEAST_SUPPORT = 0.05


class _Bar(NamedTuple):
    """From which share of the best answer's support, and from which support on, another one is shown beside it."""

    share: float
    beside: float


_BARS = {None: _Bar(0.4, 0.2), "certain": _Bar(0.8, 0.3), "possible": _Bar(0.3, 0.1)}
# A passage has to answer a reading so much better.
_STRICTER = {None: 1.0, "certain": 2.0, "possible": 0.5}
# The matter is settled if the best answer has at least this share of the support of all.
_SETTLED = 0.45


def extract_interpretations(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretations``.

    Every passage is read for the question. Answers that are well supported are kept, one reading for each distinct
    answer; what tells a reading's passage from the others makes its question: the title's qualifier, else a time or a
    place beside the answer. Demos set how long an answer should be, see `shortened`.
    """
    clauses, longest = prompt.clauses, _longest_answer(prompt)
    answers = worded(prompt.question, gather(prompt.question, prompt.passages(), models), clauses)
    chosen = supported(prompt.question, answers, clauses)
    return {
        "interpretations": [
            {
                "question": question,
                "answer": shortened(evidence.answer, longest),
                "pid": str(evidence.passage.number),
            }
            for evidence, question in phrase(prompt.question, chosen)
        ]
    }


def supported(question: str, evidence: Sequence[Evidence], clauses: Clauses = Clauses()) -> list[Evidence]:
    """Return the evidence that is shown, best supported first, one for each distinct answer.

    The best is shown whatever its support is, unless there is next to none: it is the likeliest meaning. Any other
    needs support of its own. How much, and how many, the clauses may change.
    """
    answers = distinct(telling(question, evidence), apart=question)
    if not answers or answers[0].support < _LEAST_SUPPORT:
        return []
    bar = _BARS[clauses.certainty]
    chosen = answers[:1]
    for answer in answers[1:]:
        lacking = clauses.least is not None and len(chosen) < clauses.least
        if lacking or answer.support >= max(bar.beside, bar.share * answers[0].support):
            chosen.append(answer)
    return chosen[: _MOST if clauses.most is None else clauses.most]


def _longest_answer(prompt: Prompt) -> int:
    """Return how many words of an answer the demos show at most.

    How many readings they show is no guide: the nearest training questions are about other things.
    """
    demo_readings = [
        reading
        for demo in prompt.demos
        if "interpretations" in demo.outputs
        for reading in parse_interpretations(demo.outputs["interpretations"])
    ]
    return max(3, *(len(reading.answer.split()) for reading in demo_readings)) if demo_readings else _LONGEST_ANSWER


def shortened(answer: str, longest: int) -> str:
    """Return an answer without what follows a comma, a bracket or a dash, as far as that makes it short enough.

    A name, a figure or a list is not cut through, however long it is, but no answer has more than ten words.

    >>> shortened("7 March 1839 – 11 December 1909", 4), shortened("General Motors Electro-Motive Division", 3)
    ('7 March 1839', 'General Motors Electro-Motive Division')
    >>> shortened("Germany, Italy and Romania", 3)
    'Germany, Italy and Romania'
    """
    if len(answer.split()) > longest and not _LIST.search(answer):
        ends = [match.start() for match in _BREAK.finditer(answer)]
        short = [answer[:end] for end in ends if 0 < len(answer[:end].split()) <= longest]
        answer = short[-1] if short else answer
    return " ".join(answer.split()[:_LONGEST_ANSWER])


def interpret_passage(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``interpretation`` and ``short_answer``: the passage's best span, or null below the threshold."""
    answers = telling(prompt.question, gather(prompt.question, prompt.passages("passage"), models))
    if not answers or answers[0].support < _ANSWERS * _STRICTER[prompt.clauses.certainty]:
        return {"interpretation": NULL, "short_answer": NULL}
    reading = next(iter(readings_of(prompt.question, answers[0])), prompt.question)
    return {"interpretation": reading, "short_answer": as_asked(prompt.question, answers[0].answer, prompt.clauses)}


def locate_answer(prompt: Prompt, models: Models) -> dict[str, object]:
    """Fill ``short_answer``, ``source`` and ``settled``.

    Answers that contain one another are one. The best supported is given, as its best supported passage words it. Its
    share of the support of all settles the matter, not how far off the next best is: that would settle fewer of the
    plain questions. Of two answers one always has a large share, so the answer of a namesake leaves the matter open
    if it would be a reading of its own.
    """
    answers = worded(prompt.question, gather(prompt.question, prompt.passages(), models), prompt.clauses)
    ranked = distinct(telling(prompt.question, answers))
    if not ranked or ranked[0].support < _LEAST_SUPPORT:
        return {"short_answer": NULL, "source": NULL, "settled": "No"}
    best = ranked[0]
    settled = best.support >= _SETTLED * DOUBTS[prompt.clauses.doubt] * sum(answer.support for answer in ranked)
    bar = _BARS[prompt.clauses.certainty]  # from here on `extract_interpretations` would show another reading
    least_support = max(bar.beside, bar.share * best.support)
    settled = settled and not any(
        other.support >= least_support and are_namesakes(prompt.question, best.passage.title, other.passage.title)
        for other in ranked[1:]
    )
    return {
        "short_answer": best.answer,
        "source": str(best.passage.number),
        "settled": "Yes" if settled else "No",
    }
