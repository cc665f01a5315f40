"""A yes-or-no threshold from labelled scores."""

import math
from collections.abc import Sequence
from itertools import pairwise

Labelled = Sequence[tuple[float, bool]]
# One-sided 10% of the normal distribution: what chance alone reaches once in ten times, in standard deviations.
CHANCE = 1.28


def best_cut(labelled: Labelled, default: float) -> float:
    """Return the threshold that separates the labels with the fewest errors; among equals the nearest to the default.

    Parameters
    ----------
    labelled
        Score in [0, 1] and whether it should reach the threshold.
    default
        Returned if there is no label.
    """
    scores = sorted({0.0, 1.0, *(score for score, _ in labelled)})
    cuts = [default, *((low + high) / 2 for low, high in pairwise(scores))]
    return min(cuts, key=lambda cut: (_errors(labelled, cut), abs(cut - default)))


def clearly_better_cut(labelled: Labelled, default: float) -> float:
    """Return `best_cut` if it saves at least max(2, 1.28 √n) of the default's errors on n labels, else the default.

    For labels that are noisy: of 333 labelled verifications of ASQA train, five nearest at a time, `best_cut`
    keeps 78% of the answerable questions, this 92% and the default 94%, all at an accuracy of 69 or 70%.
    """
    best = best_cut(labelled, default)
    saved = _errors(labelled, default) - _errors(labelled, best)
    return best if saved >= max(2.0, CHANCE * math.sqrt(len(labelled))) else default


def _errors(labelled: Labelled, cut: float) -> int:
    return sum((score >= cut) != label for score, label in labelled)
