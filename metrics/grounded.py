"""VERDICT's grounded precision, recall and F1, from a judge's decisions."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge decided about the readings found for one question.

    Attributes
    ----------
    grounded
        Per generated interpretation: its passage answers it, V(q̂, p̂). Shape (m,).
    matched
        Per generated interpretation: it is one of the gold readings, V(q̂, Q̃). Shape (m,).
    found
        Per gold reading: it is among the generated interpretations, V(q̃, Q̂). Shape (n,).
    groundable
        Per gold reading: some retrieved passage answers it, V(q̃, U_q). Shape (n,).
    supported
        Per gold reading: a passage that the system cites answers it, V(q̃, p̂). Shape (n,).
    distinct
        How many generated interpretations are left without near-duplicates.
    """

    grounded: tuple[bool, ...]
    matched: tuple[bool, ...]
    found: tuple[bool, ...]
    groundable: tuple[bool, ...]
    supported: tuple[bool, ...]
    distinct: int

    def __post_init__(self) -> None:
        if len(self.grounded) != len(self.matched):
            raise ValueError(f"{len(self.grounded)} grounded but {len(self.matched)} matched decisions")
        if not len(self.found) == len(self.groundable) == len(self.supported):
            raise ValueError("found, groundable and supported must have one decision per gold reading")

    @property
    def additional(self) -> int:
        """How many generated interpretations are grounded but not among the gold readings."""
        return sum(good and not known for good, known in zip(self.grounded, self.matched, strict=True))


@dataclass(frozen=True, slots=True)
class Ratio:
    """A numerator and a denominator, so that corpora can be averaged by question or by reading."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The ratio in [0, 1]; ``None`` if there is nothing to take a ratio of."""
        return self.part / self.whole if self.whole else None


def precision(judgement: Judgement) -> Ratio:
    """Ungrounded precision (equation 14): generated interpretations that are gold readings."""
    return Ratio(sum(judgement.matched), len(judgement.matched))


def gold_recall(judgement: Judgement) -> Ratio:
    """Ungrounded recall (equation 18): gold readings that were generated."""
    return Ratio(sum(judgement.found), len(judgement.found))


def grounded_precision(judgement: Judgement) -> Ratio:
    """Return G-precision (equations 11 and 19).

        G-P = |{q̂ ∈ Q̂ : V(q̂, p̂)}| / |Q̂|

    A question without interpretations has no precision (`Ratio.value` is ``None``) and is left out of
    the macro average; the released code makes the whole average NaN.
    """
    return Ratio(sum(judgement.grounded), len(judgement.grounded))


def grounded_recall(judgement: Judgement) -> Ratio:
    """Return G-recall (equations 12, 21 and 22).

        G-R = |{q̄ ∈ Q̄ : V(q̄, p̂)}| / |Q̄|,
        Q̄ = {q̃ ∈ Q̃ : V(q̃, U_q)} ∪ {q̂ ∈ Q̂ : V(q̂, p̂)}

    The grounded gold set Q̄ holds the gold readings that the retrieved passages answer, and the
    verified interpretations that no gold reading says already. A member counts as recalled when a
    passage that the system cites answers it. If neither exists the ratio is 0 of 0 and the question is
    left out; a question without interpretations recalls nothing.
    """
    recalled = [good and cited for good, cited in zip(judgement.groundable, judgement.supported, strict=True)]
    return Ratio(sum(recalled) + judgement.additional, sum(judgement.groundable) + judgement.additional)


def released_grounded_recall(judgement: Judgement) -> Ratio:
    """Return G-recall as VERDICT's released code has it, for comparison with its tables.

    It departs from equation 22: gold readings count whether or not any passage answers them, and as
    recalled when they match a generated interpretation, grounded or not.
    """
    return Ratio(sum(judgement.found) + judgement.additional, len(judgement.found) + judgement.additional)


def macro(ratios: Sequence[Ratio]) -> float:
    """Return the mean over questions, those without a value left out; 0.0 if none has one."""
    values = [ratio.value for ratio in ratios if ratio.value is not None]
    return sum(values) / len(values) if values else 0.0


def micro(ratios: Sequence[Ratio]) -> float:
    """Return the ratio of the sums over all questions; 0.0 if there is nothing."""
    return Ratio(sum(ratio.part for ratio in ratios), sum(ratio.whole for ratio in ratios)).value or 0.0


def grounded_f1(precision: float, recall: float) -> float:
    """Return G-F1, the harmonic mean of corpus-level G-precision and G-recall; 0.0 if both are 0.

    That the corpus values are combined, not the questions', reproduces VERDICT's table 2.
    """
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def sufficient(judgements: Sequence[Judgement], at_least: int) -> float:
    """Return VERDICT's Sufficient%: the share of questions with so many distinct interpretations, in [0, 1]."""
    return sum(one.distinct >= at_least for one in judgements) / len(judgements) if judgements else 0.0
