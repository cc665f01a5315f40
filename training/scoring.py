"""Exact match and F1 of SQuAD 2.0, and the choice of the null threshold."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from polyqa.embedded_models.spans import Reading

from .squad import Example

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _normal(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def f1(prediction: str, answers: Sequence[str]) -> float:
    """Return SQuAD's token F1, the best over the answers; no answer is matched by ``""`` alone.

    >>> f1("the Eiffel Tower", ["Eiffel Tower"]), f1("", []), f1("Paris", [])
    (1.0, 1.0, 0.0)
    """
    found = _normal(prediction)
    return max((_overlap(found, _normal(answer)) for answer in answers or [""]), default=0.0)


def exact(prediction: str, answers: Sequence[str]) -> float:
    """Return whether the prediction is one of the answers after SQuAD's normalisation, as 0 or 1."""
    return float(any(_normal(prediction) == _normal(answer) for answer in answers or [""]))


def _overlap(found: list[str], gold: list[str]) -> float:
    if not found or not gold:
        return float(found == gold)
    common = (Counter(found) & Counter(gold)).total()
    return 2 * common / (len(found) + len(gold))


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
        Null threshold of the figures below: the answer is ``""`` iff null − best > threshold. Their mean where
        each article has its own (`crossed_score`).
    overall_em, overall_f1
        Of all questions.
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
    return _scores(examples, readings, [threshold] * len(examples), threshold)


def crossed_score(examples: Sequence[Example], readings: Sequence[Reading]) -> Scores:
    """Return the scores where each article's null threshold is the best one of the other articles.

    For a reader that was trained on every question a threshold could have been chosen on: no question's own
    article says which threshold it is scored with. With one article alone the threshold is 0.
    """
    own: dict[str, float] = {}
    for article in dict.fromkeys(example.article for example in examples):
        others = [place for place, example in enumerate(examples) if example.article != article]
        own[article] = best_threshold([examples[place] for place in others], [readings[place] for place in others])
    shown = fmean(own.values()) if own else 0.0
    return _scores(examples, readings, [own[example.article] for example in examples], shown)


def _scores(
    examples: Sequence[Example], readings: Sequence[Reading], thresholds: Sequence[float], shown: float
) -> Scores:
    gold = [example.texts for example in examples]
    forced = [reading.spans[0].text if reading.spans else "" for reading in readings]
    given = [reading.answer(threshold) for reading, threshold in zip(readings, thresholds, strict=True)]
    has = [bool(answers) for answers in gold]
    kept = [f1(text, answers) for text, answers in zip(given, gold, strict=True)]
    return Scores(
        questions=len(gold),
        without_answer=has.count(False),
        answerable_em=_percent([exact(t, a) for t, a in zip(forced, gold, strict=True) if a]),
        answerable_f1=_percent([f1(t, a) for t, a in zip(forced, gold, strict=True) if a]),
        threshold=shown,
        overall_em=_percent([exact(t, a) for t, a in zip(given, gold, strict=True)]),
        overall_f1=_percent(kept),
        kept_f1=_percent([value for value, answerable in zip(kept, has, strict=True) if answerable]),
        null_accuracy=_percent([value for value, answerable in zip(kept, has, strict=True) if not answerable]),
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
            gains.append((-reading.margin, f1(reading.spans[0].text, example.texts) / has.count(True)))
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


def _percent(values: Sequence[float]) -> float:
    return 100 * sum(values) / len(values) if values else 0.0
