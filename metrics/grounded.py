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
    repeated
        Per generated interpretation: it is one of the *groundable* gold readings, so that both are one member of
        the grounded gold set. Shape (m,); without it every gold reading is taken to be groundable.
    """

    grounded: tuple[bool, ...]
    matched: tuple[bool, ...]
    found: tuple[bool, ...]
    groundable: tuple[bool, ...]
    supported: tuple[bool, ...]
    distinct: int
    repeated: tuple[bool, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.grounded) != len(self.matched):
            raise ValueError(f"{len(self.grounded)} grounded but {len(self.matched)} matched decisions")
        if self.repeated is not None and len(self.repeated) != len(self.grounded):
            raise ValueError(f"{len(self.grounded)} grounded but {len(self.repeated)} repeated decisions")
        if not len(self.found) == len(self.groundable) == len(self.supported):
            raise ValueError("found, groundable and supported must have one decision per gold reading")

    @property
    def additional(self) -> int:
        """How many generated interpretations are grounded but not among the gold readings."""
        return sum(good and not matched for good, matched in zip(self.grounded, self.matched, strict=True))

    @property
    def verified(self) -> int:
        """How many generated interpretations are grounded and say no groundable gold reading again."""
        repeated = self.matched if self.repeated is None else self.repeated
        return sum(good and not same for good, same in zip(self.grounded, repeated, strict=True))


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

    The grounded gold set Q̄ holds the gold readings that the retrieved passages U_q answer, and the
    verified interpretations that none of these says already. A member counts as recalled when a
    passage that the system cites answers it. U_q is all that was retrieved, not what a system chose to
    cite of it: a system cannot gain by citing little. If Q̄ is empty the ratio is 0 of 0 and the question
    is left out; a question without interpretations recalls nothing.
    """
    recalled = [good and cited for good, cited in zip(judgement.groundable, judgement.supported, strict=True)]
    return Ratio(sum(recalled) + judgement.verified, sum(judgement.groundable) + judgement.verified)


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
