"""What DSPy's optimizers tried, read from what they leave on the program that they made."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from polyqa.base.files import write_atomically
from polyqa.evaluation.runs import Run
from polyqa.evaluation.verdicts import question_values
from polyqa.programs import KNNPredict

from .calls import CallCounter
from .plan import Plan
from .recipes import Recipe
from .trials import Trial, read_trials, write_trials

SUFFIX = ".trials.json"
"""Of the file of a step's trials, in the folder of a compilation."""
_CALLS = "calls_at.json"
# What BootstrapFewShotWithRandomSearch means by a seed below 0.
_SEARCHED = {-3: "no demos", -2: "demos of the labels", -1: "demos bootstrapped in order"}


class Moments(BaseCallback):
    """Keeps how many calls had gone out when something was reached for the first time.

    A stopped compilation that goes on is answered from what it keeps, so that the count no longer tells when a
    candidate was scored: what was written down then counts.

    Parameters
    ----------
    work
        The folder of the compilation.
    counter
        Of its calls.
    """

    def __init__(self, work: Path, counter: CallCounter) -> None:
        self.path = work / _CALLS
        self._counter = counter
        self._kept: dict[str, int] = json.loads(self.path.read_bytes()) if self.path.exists() else {}
        self._open: dict[str, str] = {}

    def reach(self, what: str) -> int:
        """Return the calls until something was reached, which is now if it was not reached before."""
        if what not in self._kept:
            self._kept[what] = self._counter.made
            write_atomically(self.path, json.dumps(self._kept, indent=1) + "\n", lasting=False)
        return self._kept[what]

    def scored(self, program: dspy.Module, n: int, otherwise: int) -> int:
        """Return the calls until a program had been scored on so many questions; ``otherwise`` if it is not known."""
        return self._kept.get(_key(program, n), otherwise)

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Note what is scored."""
        if isinstance(inputs.get("program"), dspy.Module):
            self._open[call_id] = _key(inputs["program"], len(inputs.get("devset") or instance.devset))

    def on_evaluate_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Note when it was scored."""
        key = self._open.pop(call_id, None)
        if key is not None and exception is None:
            self.reach(key)


@contextmanager
def told_trials(program: dspy.Module, plan: Plan, done: Path, counter: CallCounter) -> Iterator[list[dspy.Module]]:
    """Write what one of DSPy's optimizers tried, once the block has put the compiled program into the list.

    Parameters
    ----------
    program
        As the step was given it.
    done
        The file of the finished step; the trials lie beside it. Nothing is written for other optimizers.
    counter
        Of the compilation's calls.
    """
    moments = Moments(done.parent, counter)
    made: list[dspy.Module] = []
    with dspy.context(callbacks=[*(dspy.settings.callbacks or ()), moments]):
        yield made
    if read := _READERS.get(plan.recipe.optimizer):
        found = _trials(program, made[0], read(made[0], program, plan), moments, counter.made)
        write_trials(done.with_suffix(SUFFIX), found)


@dataclass(frozen=True)
class _Tried:
    """A candidate as an optimizer keeps it; ``parent`` is its place among the others."""

    program: dspy.Module
    score: float
    label: str = ""
    on: str = "dev"
    n: int = 0
    parent: int | None = None
    predictor: str | None = None
    note: str = ""


_Reader = Callable[[dspy.Module, dspy.Module, Plan], Sequence[_Tried]]


def _search(made: dspy.Module, start: dspy.Module, plan: Plan) -> list[_Tried]:
    found = sorted(made.candidate_programs, key=lambda one: one["seed"])
    return [
        _Tried(
            one["program"],
            one["score"] / 100,
            _SEARCHED.get(one["seed"], f"demos bootstrapped in another order ({one['seed']})"),
            n=len(plan.devset),
        )
        for one in found
    ]


def _copro(made: dspy.Module, start: dspy.Module, plan: Plan) -> list[_Tried]:
    found = sorted(made.candidate_programs, key=lambda one: one["depth"])
    return [
        _Tried(
            one["program"],
            one["score"] / 100,
            on="train",
            n=len(plan.trainset),
            predictor=_holder(one["program"], start, one["instruction"]),
            note=f"round {one['depth'] + 1}",
        )
        for one in found
    ]


def _holder(program: dspy.Module, start: dspy.Module, instruction: str) -> str | None:
    """Return the predictor that has an instruction, one that did not have it at first if there are several."""
    before = {name: one.signature.instructions for name, one in start.named_predictors()}
    holders = [name for name, one in program.named_predictors() if one.signature.instructions == instruction]
    return next((name for name in holders if before.get(name) != instruction), holders[0] if holders else None)


def _mipro(made: dspy.Module, start: dspy.Module, plan: Plan) -> list[_Tried]:
    found: list[_Tried] = []
    before = 0
    for _, log in sorted(getattr(made, "trial_logs", {}).items()):
        whole = "full_eval_program" in log
        program = log["full_eval_program" if whole else "mb_program"]
        asked, before = log["total_eval_calls_so_far"] - before, log["total_eval_calls_so_far"]
        state = _state(program)
        again = next((at for at, one in enumerate(found) if _state(one.program) == state), None)
        note = "" if whole else f"scored on {asked} questions drawn from dev"
        if again is not None:
            note = f"as candidate {again}" + (", scored on all of dev" if found[again].n < asked else ", scored again")
        score = log["full_eval_score" if whole else "mb_score"] / 100
        found.append(_Tried(program, score, n=asked, parent=again, note=note))
    return found


def _simba(made: dspy.Module, start: dspy.Module, plan: Plan) -> list[_Tried]:
    own = _state(start)
    first = [one for one in made.candidate_programs if _state(one["program"], own) == own][:1]
    rest = [one for one in made.candidate_programs if not first or one is not first[0]]
    order = [log["train_score"] for _, log in sorted(made.trial_logs.items()) if "train_score" in log]
    rest.sort(key=lambda one: order.index(one["score"]) if one["score"] in order else len(order))
    return [
        _Tried(one["program"], one["score"], on="train", n=len(plan.trainset), note="" if one in first else "a winner")
        for one in [*first, *rest]
    ]


def _gepa(made: dspy.Module, start: dspy.Module, plan: Plan) -> list[_Tried]:
    kept = getattr(made, "detailed_results", None)  # a recipe may say track_stats=False
    if kept is None:
        return []
    found = []
    for program, score, parents in zip(kept.candidates, kept.val_aggregate_scores, kept.parents, strict=True):
        told = [one for one in parents or () if one is not None]
        note = f"merged with candidate {told[1]}" if len(told) > 1 else ""
        found.append(_Tried(program, score, n=len(plan.devset), parent=told[0] if told else None, note=note))
    return found


_READERS: Mapping[str, _Reader] = {
    "few-shot-search": _search,
    "copro": _copro,
    "mipro": _mipro,
    "simba": _simba,
    "gepa": _gepa,
}


def _trials(
    start: dspy.Module, made: dspy.Module, found: Sequence[_Tried], moments: Moments, at_the_end: int
) -> list[Trial]:
    """Return candidates as trials: in the order in which they were scored, with what differs from the first."""
    timed = [(moments.scored(one.program, one.n, at_the_end), at, one) for at, one in enumerate(found)]
    if all(one.parent is None for one in found):  # else their places are told of
        timed.sort(key=lambda one: one[0])
    # The optimizer returns one of them, the best; of several that are the same, the first is as good.
    alike = [number for number, (_, _, one) in enumerate(timed) if _like(made, one.program)]
    kept = max(alike, key=lambda number: (timed[number][2].n, timed[number][2].score), default=None)
    line: set[int] = set()
    while kept is not None and kept not in line:
        line.add(kept)
        kept = timed[kept][2].parent
    trials = []
    for number, (calls, _, one) in enumerate(timed):
        parent = found[one.parent].program if one.parent is not None else start
        changed = _changed(one.program, parent)
        predictor = one.predictor or (changed[0] if len(changed) == 1 else None)
        trials.append(
            Trial(
                number=number,
                label=one.label or _label(one.program, start, changed),
                parent=one.parent,
                predictor=predictor,
                instructions=_instructions(one.program, start),
                demos=_demos(one.program),
                score=min(1.0, max(0.0, float(one.score))),
                n=one.n,
                on=one.on,
                calls=calls,
                kept=number in line,
                note=one.note,
            )
        )
    return trials


def _label(program: dspy.Module, start: dspy.Module, changed: Sequence[str]) -> str:
    before = {name: one.signature.instructions for name, one in start.named_predictors()}
    written = [name for name, one in program.named_predictors() if one.signature.instructions != before.get(name)]
    demos = _demos(program)
    parts = [f"{name}: other instructions" for name in written if name in changed]
    parts += [f"{name}: {demos.get(name, 0)} demos" for name in changed if name not in written]
    return "; ".join(parts) or ("other instructions" if written else "as it was")


def _changed(program: dspy.Module, other: dspy.Module) -> list[str]:
    """Return the predictors that are not as in another program."""
    left, right = _state(program), _state(other)
    return [name for name, own in left.items() if own != right.get(name)]


def _instructions(program: dspy.Module, start: dspy.Module) -> dict[str, str]:
    before = {name: one.signature.instructions for name, one in start.named_predictors()}
    now = {name: one.signature.instructions for name, one in program.named_predictors()}
    return {name: text for name, text in now.items() if text != before.get(name)}


def _demos(program: dspy.Module) -> dict[str, int]:
    return {name: len(one.demos) for name, one in program.named_predictors() if one.demos}


def _state(program: dspy.Module, only: Collection[str] | None = None) -> dict[str, str]:
    """Return what each predictor is prompted with, hashed; only of those that are named, if any are."""
    return {
        name: _hash(
            one.signature.instructions,
            [(key, field.json_schema_extra) for key, field in one.signature.fields.items()],
            [sorted((key, repr(value)) for key, value in dict(demo).items()) for demo in one.demos],
            one.k if isinstance(one, KNNPredict) else None,
        )
        for name, one in program.named_predictors()
        if only is None or name in only
    }


def _like(program: dspy.Module, candidate: dspy.Module) -> bool:
    """Return whether a program is prompted as a candidate, which may lack predictors that were not optimized."""
    own = _state(candidate)
    return _state(program, own) == own


def _key(program: dspy.Module, n: int) -> str:
    return f"{_hash(sorted(_state(program).items()))} on {n}"


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def compilation_trials(
    plan: Plan, work: Path, runs: tuple[Run, Run], program: dspy.Module, calls: tuple[int, int]
) -> list[Trial]:
    """Return what all steps of a compilation tried, between the program as it was and as it came out.

    Parameters
    ----------
    plan
        Of the compilation; its steps left their trials in ``work``.
    runs
        On dev, before and after.
    program
        The compiled one.
    calls
        That had gone out after each of the runs.

    Returns
    -------
    The first is the program as it was, the last the compiled one, both with their scores on dev. The scores of all are
    means of the metric per question: a corpus value such as DR is another figure.
    """
    scores = [_mean(run, plan.metric.measure) for run in runs]
    trials = [Trial(number=0, label="as it was", on="dev", kept=True, calls=calls[0], **scores[0])]
    base = 0
    for path in _files(plan.recipe, work):
        numbers: dict[int | None, int] = {None: base}
        before = trials[base]
        for one in read_trials(path):
            same = one.label == "as it was" or (not one.instructions and not one.demos)
            if one.number == 0 and same and one.on == "dev" and base == 0:
                numbers[one.number] = base
                continue
            numbers[one.number] = len(trials)
            told = {
                "number": len(trials),
                "parent": numbers.get(one.parent, base),
                "instructions": {**before.instructions, **one.instructions},
            }
            trials.append(one.model_copy(update=told))
        base = max((trial.number for trial in trials if trial.kept), default=base)
    last = Trial(
        number=len(trials),
        label="compiled",
        parent=base,
        instructions=trials[base].instructions,
        demos=_demos(program),
        on="dev",
        kept=True,
        calls=calls[1],
        **scores[1],
    )
    return [*trials, last]


def _files(recipe: Recipe, work: Path, path: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield the files of the steps, in their order."""
    path = (*path, recipe.name)
    if recipe.optimizer != "chain":
        yield work / f"{'-'.join(path)}{SUFFIX}"
    for number, step in enumerate(recipe.parts if recipe.optimizer == "chain" else ()):
        yield from _files(step, work, (*path, str(number)))


def _mean(run: Run, measure: str) -> dict[str, Any]:
    values = [value for value in question_values(run.records, measure) if value == value]
    return {"score": sum(values) / len(values) / 100 if values else None, "n": len(values)}
