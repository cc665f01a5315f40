"""What clauses do to evidence: how answers are worded, and which of them count for more."""

import math
from collections.abc import Sequence
from dataclasses import replace

from .answer_kinds import answer_kind, years
from .clauses import Clauses
from .evidence import Evidence, same_answer
from .grammar import DATE

DOUBTS = {None: 1.0, "no": 2.0, "yes": 0.4}
"""How much more support a judgement needs, where the clauses say what to do in doubt."""
_OTHERS = 0.5


def worded(question: str, evidence: Sequence[Evidence], clauses: Clauses) -> list[Evidence]:
    """Return evidence with its answers as the clauses want them, best supported first."""
    answers = [replace(one, answer=as_asked(question, one.answer, clauses)) for one in evidence]
    return agreed(answers) if clauses.agreed else answers


def agreed(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence, best supported first, whose support grows with that of the same answer in other passages.

        1 − (1 − s) ∏ (1 − s′ / 2)

    s is its own, s′ the best support of the same answer in each other passage: half of it counts, as passages repeat
    one another's errors.
    """
    supported = []
    for one in evidence:
        other_supports: dict[int, float] = {}
        for other in evidence:
            number = other.passage.number
            if number != one.passage.number and same_answer(other.answer, one.answer):
                other_supports[number] = max(other_supports.get(number, 0.0), other.support)
        doubt = math.prod([1 - one.support, *(1 - _OTHERS * support for support in other_supports.values())])
        supported.append(replace(one, support=1 - doubt))
    return sorted(supported, key=lambda one: -one.support)


def as_asked(question: str, answer: str, clauses: Clauses) -> str:
    """Return an answer as the clauses want it: where a time is asked for, the year of a date; else as it is.

    >>> as_asked("When did it land?", "20 July 1969", Clauses(years=True))
    '1969'
    >>> as_asked("When was the war?", "1914 to 1918", Clauses(years=True))
    '1914 to 1918'
    """
    if clauses.years and answer_kind(question) == "time" and DATE.fullmatch(answer):
        return years(answer)[0]
    return answer
