"""What an optimizer tried: every candidate with its score, what it was made from, and why it was kept or dropped."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import dspy


@dataclass(frozen=True)
class Trial:
    """One candidate program that a compilation scored.

    Attributes
    ----------
    number
        From 0, which is the program as it was, in the order in which they were scored.
    label
        What it is, in a few words, such as ``clarify: at most two readings``.
    parent
        The number of the candidate that it was made from; ``None`` for the first, or where the optimizer does not tell.
    predictor
        The predictor that was changed, if it was one.
    instructions
        The instructions of each predictor that has others than the first candidate.
    demos
        How many demos each predictor has, where it has any.
    shown
        What the demos ask, of predictors that show all of theirs.
    score
        Mean of the metric over its questions, in [0, 1]; ``None`` if it was not scored by itself.
    n
        How many questions it was scored on.
    on
        Which questions those were: ``train`` or ``dev``.
    kept
        Whether the compiled program is this one, or was made from it.
    note
        Why it was kept or dropped, where there is something to say.
    """

    number: int
    label: str
    parent: int | None = None
    predictor: str | None = None
    instructions: Mapping[str, str] = field(default_factory=dict)
    demos: Mapping[str, int] = field(default_factory=dict)
    shown: Mapping[str, list[str]] = field(default_factory=dict)
    score: float | None = None
    n: int = 0
    on: str = "train"
    kept: bool = False
    note: str = ""


def lineage(trials: Iterable[Trial], number: int) -> Iterator[Trial]:
    """Yield a trial and those that it was made from, the last first."""
    by_number = {trial.number: trial for trial in trials}
    at: int | None = number
    while at is not None and (trial := by_number.pop(at, None)) is not None:
        yield trial
        at = trial.parent


def changed_instructions(program: dspy.Module, start: dspy.Module) -> dict[str, str]:
    """Return the instructions of each predictor that has others than in the program at the start."""
    before = {name: predictor.signature.instructions for name, predictor in start.named_predictors()}
    now = {name: predictor.signature.instructions for name, predictor in program.named_predictors()}
    return {name: text for name, text in now.items() if text != before.get(name)}


def demo_counts(program: dspy.Module) -> dict[str, int]:
    """Return how many demos each predictor has that has any."""
    return {name: len(predictor.demos) for name, predictor in program.named_predictors() if predictor.demos}
