"""What DSPy's optimizers tried, read from what they leave on the program that they made."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
from dspy.teleprompt.mipro_optimizer_v2 import AUTO_RUN_SETTINGS
from dspy.utils.callback import BaseCallback

from polyqa.artifacts.state import dump_program
from polyqa.base.files import write_atomically
from polyqa.evaluation.runs import Run
from polyqa.evaluation.verdicts import question_values

from .calls import CallCounter
from .plan import Plan
from .recipes import MINIBATCH, Recipe
from .trials import Trial, changed_instructions, demo_counts, lineage, read_trials, write_trials

SUFFIX = ".trials.json"
"""Of the file of a step's trials, in the folder of a compilation."""
_CALLS, _SPENT, _REJECTED = "calls_at.json", "spent_on.json", ".rejected.json"
_ON_TRAIN = ("COPRO", "SIMBA")
_LONGEST = 200  # characters of what a demo asks
_LONGEST_NAME = 60  # of a step, in the name of a file


class Moments(BaseCallback):
    """Keeps how many calls had gone out when a candidate was first scored, or something else was first reached.

    A stopped compilation that goes on is answered from stored replies, so that its own count comes too late. As a
    callback of GEPA's, too, it keeps the proposals that GEPA rejected in the ``step``: they are not among its results.
    """

    def __init__(self, work: Path, counter: CallCounter, step: str = "") -> None:
        self.work = work
        self._rejected_in = work / f"{step}{_REJECTED}"
        self._counter = counter
        self._calls: dict[str, int] = _read(work / _CALLS)
        self._spent: dict[str, int] = _read(work / _SPENT)
        # GEPA's, each with parent, instructions, n, old, new and calls.
        self.rejected: dict[str, dict[str, Any]] = _read(self._rejected_in)
        self._scoring: dict[str, tuple[str, int]] = {}
        self._proposal: dict[str, Any] = {}

    def reach(self, what: str) -> int:
        """Return the calls until something was reached, which is now if it was not reached before."""
        if what not in self._calls:
            self._calls[what] = self._counter.made
            _write(self.work / _CALLS, self._calls)
        return self._calls[what]

    def calls_at(self, program: dspy.Module, n: int) -> int:
        """Return the calls until a program had been scored on n questions; those until now if that was not noticed."""
        return self._calls.get(_key(program, n), self._counter.made)

    def spent_on(self, program: dspy.Module, n: int) -> int:
        """Return the calls that scoring a program on n questions took; 0 if that was not noticed."""
        return self._spent.get(_key(program, n), 0)

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Note what is scored."""
        if isinstance(inputs.get("program"), dspy.Module):
            key = _key(inputs["program"], len(inputs.get("devset") or instance.devset))
            self._scoring[call_id] = (key, self._counter.made)

    def on_evaluate_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """Note when it was scored, and what that took."""
        key, before = self._scoring.pop(call_id, ("", 0))
        if key and exception is None:
            self.reach(key)
            if key not in self._spent:
                self._spent[key] = self._counter.made - before
                _write(self.work / _SPENT, self._spent)

    def on_candidate_selected(self, event: Mapping[str, Any]) -> None:
        """Note the parent of what GEPA proposes next."""
        self._proposal = {"parent": event["candidate_idx"]}

    def on_minibatch_sampled(self, event: Mapping[str, Any]) -> None:
        """Note on how many questions parent and child are compared."""
        self._proposal["n"] = len(event["minibatch_ids"])

    def on_proposal_end(self, event: Mapping[str, Any]) -> None:
        """Note what GEPA proposes."""
        self._proposal["instructions"] = dict(event["new_instructions"])

    def on_candidate_rejected(self, event: Mapping[str, Any]) -> None:
        """Keep a rejected proposal; an iteration that a stopped compilation repeats is kept once."""
        if self._proposal.keys() >= {"n", "instructions"}:
            scores = {"old": event["old_score"], "new": event["new_score"], "calls": self._counter.made}
            self.rejected[str(event["iteration"])] = {**self._proposal, **scores}
            _write(self._rejected_in, self.rejected)


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    return found


def _write(path: Path, data: Mapping[str, Any]) -> None:
    write_atomically(path, json.dumps(data, indent=1) + "\n", lasting=False)


def step_files(recipe: Recipe, work: Path) -> list[tuple[Recipe, Path]]:
    """Return the recipes that are run one after the other, each with the file of its compiled program."""
    # Names are the user's: one may be that of another file in the folder, or hold a slash.
    names = [re.sub(r"[^\w.-]", "-", step.name)[:_LONGEST_NAME] for step in recipe.parts]
    return [
        (step, work / f"step-{number}-{name}.json")
        for number, (step, name) in enumerate(zip(recipe.parts, names, strict=True))
    ]


@dataclass(frozen=True)
class _Candidate:
    """A candidate as an optimizer keeps it; ``parent`` is its place among the others."""

    program: dspy.Module
    score: float
    n: int
    parent: int | None = None


def _candidates(made: dspy.Module, plan: Plan) -> list[_Candidate]:
    optimizer, dev = plan.recipe.optimizer, len(plan.devset)
    if (results := getattr(made, "detailed_results", None)) is not None:  # GEPA's
        scored = zip(results.candidates, results.val_aggregate_scores, results.parents, strict=True)
        return [_Candidate(program, score, dev, next(iter(parents or ()), None)) for program, score, parents in scored]
    if optimizer == "MIPROv2" and (auto := plan.recipe.auto) is not None:
        dev = min(dev, AUTO_RUN_SETTINGS[auto]["val_size"])  # of more questions it draws so many
    data = [*getattr(made, "candidate_programs", ()), *getattr(made, "mb_candidate_programs", ())]
    n = len(plan.trainset) if optimizer in _ON_TRAIN else dev
    few = plan.recipe.number("minibatch_size", MINIBATCH)
    whole = 1 if optimizer == "SIMBA" else 100
    return [_Candidate(one["program"], one["score"] / whole, n if one.get("full_eval", True) else few) for one in data]


def write_candidates(start: dspy.Module, made: dspy.Module, plan: Plan, done: Path, moments: Moments) -> None:
    """Write what one of DSPy's optimizers tried, in the order of scoring, beside the file of the finished step.

    Nothing is written if the optimizer left no candidates on the program that it ``made`` of the one at the ``start``.
    """
    candidates = _candidates(made, plan)
    if not candidates:
        return
    if all(one.parent is None for one in candidates):  # else their places are named
        candidates = sorted(candidates, key=lambda one: moments.calls_at(one.program, one.n))
    trials = []
    for number, one in enumerate(candidates):
        before = dump_program(start if one.parent is None else candidates[one.parent].program)
        changed = [name for name, state in dump_program(one.program).items() if state != before.get(name)]
        instructions, demos = changed_instructions(one.program, start), demo_counts(one.program)
        labels = [
            f"{name}: other instructions" if name in instructions else f"{name}: {demos.get(name, 0)} demos"
            for name in changed
        ]
        trials.append(
            Trial(
                number=number,
                label="; ".join(labels) or "as it was",
                parent=one.parent,
                predictor=changed[0] if len(changed) == 1 else None,
                instructions=instructions,
                demos=demos,
                shown=_shown(one.program),
                score=min(1.0, max(0.0, float(one.score))),
                n=one.n,
                on="train" if plan.recipe.optimizer in _ON_TRAIN else "dev",
                calls=moments.calls_at(one.program, one.n),
                spent=moments.spent_on(one.program, one.n),
            )
        )
    # The optimizer returns one of them, the best; of several that are the same, the first is as good.
    state = dump_program(made)
    alike = [
        trials[number] for number, one in enumerate(candidates) if dump_program(one.program).items() <= state.items()
    ]
    best = max(alike, key=lambda trial: (trial.n, trial.score), default=None)
    if best is not None:
        line = {trial.number for trial in lineage(trials, best.number)}
        trials = [
            one.model_copy(update={"kept": one.number in line, "note": _note(one, best, one.number in line)})
            for one in trials
        ]
    write_trials(done.with_suffix(SUFFIX), [*trials, *_rejected(trials, moments)])


def _note(trial: Trial, best: Trial, kept: bool) -> str:
    """Return why a candidate was kept or dropped: what the optimizer compared.

    Candidates have no numbers here: those of a chain are counted through later.
    """
    if trial is best:
        return "kept: the best on all its questions"
    if kept:
        return "kept: the best was made from it"
    if trial.n < best.n:
        return "dropped: scored on a part of the questions; the optimizer chooses by the score on all"
    if trial.score == best.score:
        return "dropped: as good as the one that was kept, which came first"
    return f"dropped: {100 * (trial.score or 0):.1f}, the best {100 * (best.score or 0):.1f}"


def _rejected(trials: Sequence[Trial], moments: Moments) -> list[Trial]:
    """Return GEPA's rejected proposals as trials."""
    return [
        Trial(
            number=number,
            label="; ".join(f"{name}: other instructions" for name in one["instructions"]),
            parent=one["parent"],
            predictor=next(iter(one["instructions"])) if len(one["instructions"]) == 1 else None,
            instructions={**trials[one["parent"]].instructions, **one["instructions"]},
            score=min(1.0, max(0.0, one["new"] / one["n"])),
            n=one["n"],
            calls=one["calls"],
            note=f"rejected: {one['new']:.2f} of {one['n']} on its minibatch, its parent {one['old']:.2f}",
        )
        for number, one in enumerate(moments.rejected.values(), len(trials))
    ]


def _shown(program: dspy.Module) -> dict[str, list[str]]:
    """Return what the demos ask, of each predictor that shows all of them."""
    return {
        name: [str(demo.get("question") or next(iter(dict(demo).values()), ""))[:_LONGEST] for demo in one.demos]
        for name, one in program.named_predictors()
        if one.demos and getattr(one, "k", None) is None
    }


def _key(program: dspy.Module, n: int) -> str:
    state = repr(sorted(dump_program(program).items())).encode("utf-8", "backslashreplace")
    return f"{hashlib.sha256(state).hexdigest()[:16]} on {n}"


def compilation_trials(
    plan: Plan, work: Path, runs: tuple[Run, Run], program: dspy.Module, calls: tuple[int, int, int]
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
        That had gone out at the start, and after each of the runs.

    Returns
    -------
    The first is the program as it was, the last the compiled one, both with their scores on dev. The scores of all are
    means of the metric per question: a corpus value such as DR is another figure.
    """
    before, after = (_mean(run, plan.column) for run in runs)
    trials = [Trial(number=0, label="as it was", on="dev", kept=True, calls=calls[1], **before)]
    base = 0
    for _, done in step_files(plan.recipe, work):
        numbers: dict[int | None, int] = {None: base}
        earlier = trials[base].instructions
        for one in read_trials(done.with_suffix(SUFFIX)):
            same = one.label == "as it was" or (not one.instructions and not one.demos)
            if one.number == 0 and same and one.on == "dev" and base == 0:
                numbers[one.number] = base
                continue
            numbers[one.number] = number = len(trials)
            told = {**earlier, **one.instructions}
            parent = numbers.get(one.parent, base)
            trials.append(one.model_copy(update={"number": number, "parent": parent, "instructions": told}))
        base = max((trial.number for trial in trials if trial.kept), default=base)
    last = Trial(
        number=len(trials),
        label="compiled",
        parent=base,
        instructions=trials[base].instructions,
        demos=demo_counts(program),
        on="dev",
        kept=True,
        calls=calls[2],
        **after,
    )
    return [one.model_copy(update={"calls": max(0, one.calls - calls[0])}) for one in (*trials, last)]


def _mean(run: Run, measure: str) -> dict[str, Any]:
    values = [value for value in question_values(run.records, measure) if value == value]
    return {"score": sum(values) / len(values) / 100 if values else None, "n": len(values)}
