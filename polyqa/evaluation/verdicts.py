"""What a difference between two runs means, in a sentence, and which questions it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np
from numpy.typing import NDArray

from polyqa.base.text import counted

from .columns import COLUMNS
from .comparison import shared_records
from .records import Record, column_scores
from .runs import Run
from .statistics import Difference, sign_of

LITTLE = 1.0
"""Points of a metric in percent: a difference that is surely smaller counts as none."""
FEW = 30
"""Fewer questions cannot show that nothing changed: if 30 all stay the same, one in ten of all others may still change
(the rule of three), and an interval that is drawn from so few is too short."""

_SAME = 1e-9


def verdict(change: Difference, *, what: str = "It", metric: str = "DR") -> str:
    """Return what a difference says: that it helped, did harm, did nothing, or that nothing can be told.

    Parameters
    ----------
    change
        Of a metric of which more is better.
    what
        What was changed, as the beginning of a sentence.

    >>> base = dict(a=60.0, b=69.0, difference=9.0, p=0.001, wins=20, ties=2, losses=2, n=24)
    >>> verdict(Difference(low=6.0, high=12.0, **base), what="Compiling")
    'Compiling helped: DR 60.0 → 69.0, +9.0 [+6.0, +12.0] on 24 questions; 20 became better, 2 worse.'
    >>> verdict(Difference(low=-2.0, high=20.0, **base), what="Compiling").partition(":")[0]
    'Whether compiling helped cannot be told with 24 questions'
    """
    figures = f"{metric} {change.a:.1f} → {change.b:.1f}, {change}"
    if not isnan(change.low):
        figures += f" on {counted(change.n, 'question')}"
    claimed = claim(change.low, change.high, change.n, change.p, what=what)
    return f"{claimed}: {figures}; {change.wins} became better, {change.losses} worse."


def claim(low: float, high: float, n: int, p: float, *, what: str = "It") -> str:
    """Return what the interval of a difference allows to say: that it helped, did harm, did nothing, or none of these.

    Parameters
    ----------
    low, high, n, p
        Of the 95% interval, NaN if there is none, how many questions it comes from, and p of the permutation test.
    what
        What was changed, as the beginning of a sentence.

    >>> claim(-0.4, 0.9, 72, 0.6, what="Compiling")
    'Compiling made no real difference'
    >>> claim(0.0, 0.0, 3, 1.0, what="Compiling")
    'Whether compiling helped cannot be told with 3 questions'
    >>> claim(-16.0, -0.6, 6, 0.25, what="Compiling")
    'Whether compiling helped cannot be told with 6 questions'
    """
    if is_nothing(low, high, n):
        return f"{what} made no real difference"
    if (sign := sign_of(low, high, p)) and max(-low, high) >= LITTLE:
        return f"{what} {'helped' if sign > 0 else 'did harm'}"
    return f"Whether {what.lower()} helped cannot be told with {counted(n, 'question')}"


def is_nothing(low: float, high: float, n: int) -> bool:
    """Return whether the interval of a difference on n questions shows that it is smaller than `LITTLE`."""
    return n >= FEW and low > -LITTLE and high < LITTLE


def question_values(records: Sequence[Record], metric: str) -> NDArray[np.float64]:
    """Return a metric of each question by itself, in per cent where tables show it so; NaN where it has none.

    Parameters
    ----------
    metric
        A column of `columns.COLUMNS`, such as ``dr``.
    """
    column = COLUMNS[metric]
    return column.value(*(scores[:, None] for scores in column_scores(records, column.scores)))


@dataclass(frozen=True)
class Changed:
    """A question whose score is another one.

    Attributes
    ----------
    before, after
        The scores of the question, in percent.
    """

    before: float
    after: float
    old: Record
    new: Record

    @property
    def difference(self) -> float:
        """After minus before."""
        return self.after - self.before


def won_and_lost(a: Run, b: Run, metric: str) -> tuple[list[Changed], list[Changed]]:
    """Return the questions that became better and those that became worse, those that changed most first.

    Parameters
    ----------
    metric
        A column of `columns.COLUMNS`, such as ``dr``.

    Raises
    ------
    PolyqaError
        If no question is in both, or one differs.
    """
    pairs = shared_records(a, b)
    before, after = (question_values([pair[side] for pair in pairs], metric) for side in (0, 1))
    changed = [
        Changed(float(old), float(new), *pair)
        for old, new, pair in zip(before, after, pairs, strict=True)
        if abs(new - old) > _SAME
    ]
    changed.sort(key=lambda change: (-change.difference, change.old.id))
    won = [change for change in changed if change.difference > 0]
    return won, [change for change in reversed(changed) if change.difference < 0]
