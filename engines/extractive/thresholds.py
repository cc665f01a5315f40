"""A yes-or-no threshold from labelled scores."""

from collections.abc import Sequence
from itertools import pairwise


def best_cut(labelled: Sequence[tuple[float, bool]], default: float) -> float:
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
    return min(cuts, key=lambda cut: (sum((score >= cut) != label for score, label in labelled), abs(cut - default)))
