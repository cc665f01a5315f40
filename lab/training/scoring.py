"""Exact match and F1 of SQuAD 2.0 over a set of readings, and the choice of the null threshold."""

from collections.abc import Sequence

import numpy as np

from polyqa.metrics.exact_match import exact_match
from polyqa.metrics.token_f1 import token_f1
from polyqa.models.spans import Reading

from .squad import Example


def score(examples: Sequence[Example], readings: Sequence[Reading], threshold: float) -> dict[str, float]:
    """Return means in percent of readings of the examples' (question, context) pairs; nothing of what is absent.

    ``answerable_…`` is over questions with an answer, null not allowed, ``kept_f1`` the same with null allowed; it is
    the answer iff null − best > threshold. ``null_accuracy`` is the share of questions without an answer for which null
    is the answer, ``overall_…`` the mean over all.
    """
    gold = [example.texts or ("",) for example in examples]
    has = np.array([bool(example.texts) for example in examples])
    forced = [reading.spans[0].text if reading.spans else "" for reading in readings]
    given = [reading.answer(threshold) for reading in readings]
    em, f1 = (
        [np.array(list(map(metric, some, gold))) for some in (forced, given)] for metric in (exact_match, token_f1)
    )
    means = {
        "answerable_em": em[0][has],
        "answerable_f1": f1[0][has],
        "overall_em": em[1],
        "overall_f1": f1[1],
        "kept_f1": f1[1][has],
        "null_accuracy": f1[1][~has],
    }
    counts = {"questions": len(gold), "without_answer": int((~has).sum()), "threshold": threshold}
    return counts | {name: 100 * float(values.mean()) for name, values in means.items() if len(values)}


def best_threshold(examples: Sequence[Example], readings: Sequence[Reading]) -> float:
    """Return the null threshold with the best mean of ``kept_f1`` and ``null_accuracy``.

    Both kinds count alike however many there are: the share of questions without an answer is the
    caller's business, not the reader's. Where one kind is absent the threshold is 0.
    """
    has = [bool(example.texts) for example in examples]
    read = [(-one.margin, one.spans[0].text, own) for one, own in zip(readings, examples, strict=True) if one.spans]
    if all(has) or not any(has) or not read:
        return 0.0
    # Raising the threshold over -margin turns "" into the span.
    gains = sorted(
        (level, token_f1(text, own.texts) / has.count(True) if own.texts else -1 / has.count(False))
        for level, text, own in read
    )
    levels, totals = np.array([level for level, _ in gains]), np.cumsum([gain for _, gain in gains])
    between = np.append(levels[1:], levels[-1] + 1)
    totals[between == levels] = -np.inf  # no threshold lies between equal ones
    best = int(totals.argmax())
    return float((levels[best] + between[best]) / 2) if totals[best] > 0 else float(levels[0] - 1)
