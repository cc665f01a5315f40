"""Exact match and F1 of SQuAD 2.0 over a set of readings, and the choice of the null threshold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

from polyqa.metrics.exact_match import exact_match
from polyqa.metrics.token_f1 import token_f1
from polyqa.models.spans import Reading

from .squad import Example


@dataclass(frozen=True)
class Scores:
    """Means in percent over a set of questions.

    Attributes
    ----------
    questions, without_answer
        How many, and how many of them have no answer.
    answerable_em, answerable_f1
        Of the answerable ones, null not allowed.
    threshold
        Null threshold of the figures below: the answer is ``""`` iff null − best > threshold.
    overall_em, overall_f1
        Of all questions; where there is no answer, ``""`` is the right one.
    kept_f1
        Of the answerable ones, null allowed.
    null_accuracy
        Share of the ones without an answer for which the answer is ``""``.
    """

    questions: int
    without_answer: int
    answerable_em: float
    answerable_f1: float
    threshold: float
    overall_em: float
    overall_f1: float
    kept_f1: float
    null_accuracy: float


def score(examples: Sequence[Example], readings: Sequence[Reading], threshold: float) -> Scores:
    """Return the scores of readings of the examples' (question, context) pairs."""
    gold = [example.texts or ("",) for example in examples]
    forced = [reading.spans[0].text if reading.spans else "" for reading in readings]
    given = [reading.answer(threshold) for reading in readings]
    has = [bool(example.texts) for example in examples]
    kept = list(map(token_f1, given, gold))
    return Scores(
        questions=len(gold),
        without_answer=has.count(False),
        answerable_em=_percent(map(exact_match, forced, gold), has),
        answerable_f1=_percent(map(token_f1, forced, gold), has),
        threshold=threshold,
        overall_em=_percent(map(exact_match, given, gold)),
        overall_f1=_percent(kept),
        kept_f1=_percent(kept, has),
        null_accuracy=_percent(kept, [not answerable for answerable in has]),
    )


def best_threshold(examples: Sequence[Example], readings: Sequence[Reading]) -> float:
    """Return the null threshold with the best mean of ``kept_f1`` and ``null_accuracy``.

    Both kinds count alike however many there are: the share of questions without an answer is the
    caller's business, not the reader's. Where one kind is absent the threshold is 0.
    """
    gains: list[tuple[float, float]] = []  # raising the threshold over -margin turns "" into the span
    has = [bool(example.texts) for example in examples]
    if all(has) or not any(has):
        return 0.0
    for example, reading in zip(examples, readings, strict=True):
        if not reading.spans:
            continue
        if example.texts:
            gains.append((-reading.margin, token_f1(reading.spans[0].text, example.texts) / has.count(True)))
        else:
            gains.append((-reading.margin, -1 / has.count(False)))
    gains.sort()
    best, total, threshold = 0.0, 0.0, gains[0][0] - 1 if gains else 0.0
    for place, (level, gain) in enumerate(gains):
        total += gain
        following = gains[place + 1][0] if place + 1 < len(gains) else level + 1
        if total > best and following > level:
            best, threshold = total, (level + following) / 2
    return threshold


def _percent(values: Iterable[float], counted: Sequence[bool] | None = None) -> float:
    kept = list(values if counted is None else compress(values, counted))
    return 100 * sum(kept) / len(kept) if kept else 0.0
