"""How well probabilities tell right from wrong: areas under the ROC curve, with intervals over questions."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 2_000


def areas(probabilities: Sequence[NDArray[np.float64]], right: Sequence[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """Return the AUC of all findings, and after it those of samples of questions, drawn with a seed.

    That is the share of pairs of a right and a wrong finding in which the right one has the higher probability; of
    equal ones half count. A sample without right or without wrong findings is left out, whatever the probabilities.

    >>> float(areas([np.array([0.9, 0.1])], [np.array([True, False])])[0])
    1.0
    """
    chance = np.random.default_rng(0)
    draws = chance.integers(len(right), size=(_RESAMPLES, len(right)))
    times = np.stack([np.bincount(drawn, minlength=len(right)) for drawn in [np.arange(len(right)), *draws]])
    better = np.array(
        [
            [_wins(some[own], others[~their]) for others, their in zip(probabilities, right, strict=True)]
            for some, own in zip(probabilities, right, strict=True)
        ]
    )
    pairs = (times @ [one.sum() for one in right]) * (times @ [(~one).sum() for one in right])
    return np.einsum("ri,ij,rj->r", times, better, times)[pairs > 0] / pairs[pairs > 0]


def _wins(some: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Return how often one of some numbers is above one of others; equal ones count half."""
    return float(np.sum(some[:, None] > others) + 0.5 * np.sum(some[:, None] == others))


def interval(values: NDArray[np.float64]) -> str:
    """Return the first value and the interval of the others, in percent."""
    low, high = np.percentile(values[1:], [2.5, 97.5])
    return f"{100 * values[0]:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
