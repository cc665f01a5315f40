"""What an optimizer tried: every candidate with its score and the calls that had gone out by then."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import dspy
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from polyqa.base.files import write_atomically
from polyqa.base.text import well_formed


class Trial(BaseModel):
    """One candidate program that a compilation scored.

    Attributes
    ----------
    number
        From 0, which is the program as it was.
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
    calls
        Calls of language models that had gone out when it was scored, from the start of the compilation.
    spent
        Those that went out while it was scored: what this candidate cost.
    kept
        Whether the compiled program is this one, or was made from it.
    note
        Why it was kept or dropped, where there is something to say.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: Annotated[int, Field(ge=0)]
    label: str
    parent: int | None = None
    predictor: str | None = None
    instructions: dict[str, str] = {}
    demos: dict[str, int] = {}
    shown: dict[str, list[str]] = {}
    score: float | None = None
    n: Annotated[int, Field(ge=0)] = 0
    on: str = "train"
    calls: Annotated[int, Field(ge=0)] = 0
    spent: Annotated[int, Field(ge=0)] = 0
    kept: bool = False
    note: str = ""


_TRIALS = TypeAdapter(list[Trial])


def write_trials(path: Path, trials: Iterable[Trial]) -> None:
    """Write trials as a JSON file, which `read_trials` reads."""
    data = _TRIALS.dump_python(list(trials), mode="json")
    write_atomically(path, well_formed(json.dumps(data, ensure_ascii=False, indent=1)) + "\n")


def read_trials(path: Path) -> list[Trial]:
    """Return the trials of a file; none if it is missing."""
    return _TRIALS.validate_json(path.read_bytes()) if path.exists() else []


def lineage(trials: Iterable[Trial], number: int) -> Iterator[Trial]:
    """Yield a trial and those that it was made from, the last first."""
    by_number = {trial.number: trial for trial in trials}
    at: int | None = number
    while at is not None and (trial := by_number.pop(at, None)) is not None:
        yield trial
        at = trial.parent


def changed_instructions(program: dspy.Module, start: dspy.Module) -> dict[str, str]:
    """Return the instructions of each predictor that has others than in the program at the start."""
    before = {name: one.signature.instructions for name, one in start.named_predictors()}
    now = {name: one.signature.instructions for name, one in program.named_predictors()}
    return {name: text for name, text in now.items() if text != before.get(name)}


def demo_counts(program: dspy.Module) -> dict[str, int]:
    """Return how many demos each predictor has that has any."""
    return {name: len(one.demos) for name, one in program.named_predictors() if one.demos}
