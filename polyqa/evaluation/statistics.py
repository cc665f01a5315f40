"""Figures with their uncertainty: bootstrap intervals, paired differences, permutation tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyqa.base.text import with_interval
from polyqa.evaluation.columns import Column

Scores = Sequence[NDArray[np.float64]]
RESAMPLES = 2_000
PERMUTATIONS = 9_999
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Estimate:
    """A corpus value with its 95% bootstrap interval and the number of questions that have it.

    A single question has no interval: ``low`` and ``high`` are NaN then.
    """

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return with_interval(self.value, self.low, self.high)


@dataclass(frozen=True)
class Difference:
    """B − A of a paired comparison.

    Attributes
    ----------
    a, b, difference
        Corpus values, and b − a.
    low, high
        95% bootstrap interval of the difference, questions drawn in pairs.
    p
        Two-sided permutation test: how often swapping A and B at random within questions gives a
        difference at least as large; exact for up to 13 questions.
    wins, ties, losses
        Questions on which B is better, equal, worse; all 0 for what is neither better nor worse.
    n
        Questions on which both have a value; a ratio of nothing is none.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    p: float
    wins: int
    ties: int
    losses: int
    n: int

    def __str__(self) -> str:
        return with_interval(self.difference, self.low, self.high, "+")

    @property
    def sign(self) -> int:
        """1 or -1 if B is surely above or below A, else 0, see `sign_of`."""
        return sign_of(self.low, self.high, self.p)


def sign_of(low: float, high: float, p: float) -> int:
    """Return 1 or -1 if the 95% interval of a paired difference lies above or below 0 and p < 0.05, else 0.

    The interval alone is too short where few questions differ: that of two losses among six does not hold 0.

    >>> sign_of(0.5, 9.0, 0.01), sign_of(-9.0, -0.5, 0.01), sign_of(-1.0, 9.0, 0.01), sign_of(0.5, 9.0, 0.25)
    (1, -1, 0, 0)
    """
    return (low > 0) - (high < 0) if p < SIGNIFICANT else 0


def _resampled(n: int, statistic: Callable[[NDArray[np.int64]], NDArray[np.float64]], seed: int) -> tuple[float, float]:
    from scipy.stats import bootstrap

    if n < 2:
        return float("nan"), float("nan")
    result = bootstrap(
        (np.arange(n),),
        lambda index, axis: statistic(index),
        n_resamples=RESAMPLES,
        batch=max(1, 2_000_000 // n),
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def _permuted(
    first: NDArray[np.int64], second: NDArray[np.int64], statistic: Callable[..., NDArray[np.float64]], seed: int
) -> float:
    from scipy.stats import permutation_test

    n = len(first)
    if n < 2:
        return 1.0

    def rounded(x: NDArray[np.int64], y: NDArray[np.int64], axis: int = -1) -> NDArray[np.float64]:
        # Sums of the same scores in another order differ in their last bits, by more than scipy tolerates where the
        # difference is small: the permutations that change nothing would not count as equal to what was observed.
        return np.round(statistic(x, y, axis), 9)

    tested = permutation_test(
        (first, second),
        rounded,
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=max(1, 2_000_000 // n),
        rng=np.random.default_rng(seed),
    )
    return float(tested.pvalue)


def estimate(column: Column, scores: Scores, *, seed: int = 0) -> Estimate | None:
    """Return a corpus value with its 95% percentile bootstrap interval over questions.

    Parameters
    ----------
    column
        Says which scores are combined, and how.
    scores
        One array per score of the column, shape (n,), NaN where a question has none.
    seed
        Of the resampling.

    Returns
    -------
    Estimate or None
        ``None`` if no question has a value. With a single question the interval is NaN.
    """
    has_value = _known(column, scores)
    if not has_value.any():
        return None
    scored_values = [values[has_value] for values in scores]
    n = int(has_value.sum())
    low, high = _resampled(n, lambda index: column.value(*(values[index] for values in scored_values)), seed)
    return Estimate(float(column.value(*scored_values)), low, high, n)


def compare(column: Column, a: Scores, b: Scores, *, seed: int = 0) -> Difference | None:
    """Compare two systems on the same questions.

    Parameters
    ----------
    column
        Says which scores are combined, and how.
    a, b
        One array per score of the column, shape (n,), the same question at the same place.
    seed
        Of resampling and permutation.

    Returns
    -------
    Difference or None
        ``None`` if there is no question on which both have a value.
    """
    has_value = _known(column, a) & _known(column, b)
    n = int(has_value.sum())
    if not n:
        return None
    values_of_a, values_of_b = [values[has_value] for values in a], [values[has_value] for values in b]
    both = [np.concatenate(pair) for pair in zip(values_of_a, values_of_b, strict=True)]

    def gain(x: NDArray[np.int64], y: NDArray[np.int64], axis: int = -1) -> NDArray[np.float64]:
        return column.value(*(values[y] for values in both)) - column.value(*(values[x] for values in both))

    low, high = _resampled(n, lambda index: gain(index, index + n), seed)
    first, second = np.arange(n), np.arange(n, 2 * n)
    wins = ties = losses = 0
    if column.higher_is_better is not None:
        gains = gain(first[:, None], second[:, None]) * (1 if column.higher_is_better else -1)
        ties = int(np.isclose(gains, 0.0, atol=1e-9).sum())
        wins = int((gains > 1e-9).sum())
        losses = n - wins - ties
    a_value, b_value = float(column.value(*values_of_a)), float(column.value(*values_of_b))
    p = _permuted(first, second, gain, seed)
    return Difference(a_value, b_value, b_value - a_value, low, high, p, wins, ties, losses, n)


def _known(column: Column, scores: Scores) -> NDArray[np.bool_]:
    """Return which questions have a value of their own: all the scores, and no ratio of nothing."""
    arrays = [*scores, column.value(*(values[:, None] for values in scores))]
    has_value: NDArray[np.bool_] = ~np.any([np.isnan(values) for values in arrays], axis=0)
    return has_value
