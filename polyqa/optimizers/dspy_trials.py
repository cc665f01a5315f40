"""What DSPy's optimizers tried, read from what they leave on the program that they made."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dspy
from dspy.teleprompt.mipro_optimizer_v2 import AUTO_RUN_SETTINGS
from dspy.utils.callback import BaseCallback

from polyqa.artifacts.state import dump_program
from polyqa.evaluation.runs import Run
from polyqa.evaluation.verdicts import question_values

from .plan import Plan
from .recipes import MINIBATCH
from .trials import Trial, changed_instructions, demo_counts, lineage

_ON_TRAIN = ("COPRO", "SIMBA")
_LONGEST = 200  # characters of what a demo asks


class Noticed(BaseCallback):
    """Notices what an optimizer does not leave behind: in which order it scored its candidates.

    As a callback of GEPA's, too, it keeps the proposals that GEPA rejected: they are not among its results.
    """

    def __init__(self) -> None:
        self.rejected: list[dict[str, Any]] = []
        """GEPA's, each with parent, instructions, n, old and new."""
        self._places: dict[str, int] = {}
        self._proposal: dict[str, Any] = {}

    def place(self, program: dspy.Module, n: int) -> int:
        """Return at which place a program was first scored on n questions; the last one if that was not noticed."""
        return self._places.get(_key(program, n), len(self._places))

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Note what is scored."""
        if isinstance(inputs.get("program"), dspy.Module):
            key = _key(inputs["program"], len(inputs.get("devset") or instance.devset))
            self._places.setdefault(key, len(self._places))

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
        """Keep a rejected proposal."""
        if self._proposal.keys() >= {"n", "instructions"}:
            self.rejected.append({**self._proposal, "old": event["old_score"], "new": event["new_score"]})


@dataclass(frozen=True)
class _Candidate:
    """A candidate as an optimizer keeps it; ``parent`` is its place among the others."""

    program: dspy.Module
    score: float
    n: int
    parent: int | None = None


def _candidates(compiled: dspy.Module, plan: Plan) -> list[_Candidate]:
    optimizer, dev = plan.recipe.optimizer, len(plan.devset)
    if (results := getattr(compiled, "detailed_results", None)) is not None:  # GEPA's
        scored = zip(results.candidates, results.val_aggregate_scores, results.parents, strict=True)
        return [_Candidate(program, score, dev, next(iter(parents or ()), None)) for program, score, parents in scored]
    if optimizer == "MIPROv2" and (auto := plan.recipe.auto) is not None:
        dev = min(dev, AUTO_RUN_SETTINGS[auto]["val_size"])  # of more questions it draws so many
    data = [*getattr(compiled, "candidate_programs", ()), *getattr(compiled, "mb_candidate_programs", ())]
    n = len(plan.trainset) if optimizer in _ON_TRAIN else dev
    few = plan.recipe.number("minibatch_size", MINIBATCH)
    scale = 1 if optimizer == "SIMBA" else 100
    return [_Candidate(one["program"], one["score"] / scale, n if one.get("full_eval", True) else few) for one in data]


def candidate_trials(start: dspy.Module, compiled: dspy.Module, plan: Plan, noticed: Noticed) -> list[Trial]:
    """Return what one of DSPy's optimizers tried, in the order of scoring.

    There is nothing if the optimizer left no candidates on the ``compiled`` program, made of the one at the ``start``.
    """
    candidates = _candidates(compiled, plan)
    if all(candidate.parent is None for candidate in candidates):  # else their places are named
        candidates = sorted(candidates, key=lambda candidate: noticed.place(candidate.program, candidate.n))
    trials = []
    for number, candidate in enumerate(candidates):
        before = dump_program(start if candidate.parent is None else candidates[candidate.parent].program)
        changed = [name for name, state in dump_program(candidate.program).items() if state != before.get(name)]
        instructions, demos = changed_instructions(candidate.program, start), demo_counts(candidate.program)
        labels = [
            f"{name}: other instructions" if name in instructions else f"{name}: {demos.get(name, 0)} demos"
            for name in changed
        ]
        trials.append(
            Trial(
                number=number,
                label="; ".join(labels) or "as it was",
                parent=candidate.parent,
                predictor=changed[0] if len(changed) == 1 else None,
                instructions=instructions,
                demos=demos,
                shown=_shown(candidate.program),
                score=min(1.0, max(0.0, float(candidate.score))),
                n=candidate.n,
                on="train" if plan.recipe.optimizer in _ON_TRAIN else "dev",
            )
        )
    # The optimizer returns one of them, the best; of several that are the same, the first is as good.
    state = dump_program(compiled)
    alike = [
        trials[number]
        for number, candidate in enumerate(candidates)
        if dump_program(candidate.program).items() <= state.items()
    ]
    best = max(alike, key=lambda trial: (trial.n, trial.score), default=None)
    if best is not None:
        line = {trial.number for trial in lineage(trials, best.number)}
        trials = [
            replace(trial, kept=trial.number in line, note=_note(trial, best, trial.number in line)) for trial in trials
        ]
    return [*trials, *_rejected(trials, noticed)]


def _note(trial: Trial, best: Trial, in_lineage: bool) -> str:
    """Return why a candidate was kept or dropped: what the optimizer compared.

    Candidates have no numbers here: those of a chain are counted through later.
    """
    if trial is best:
        return "kept: the best on all its questions"
    if in_lineage:
        return "kept: the best was made from it"
    if trial.n < best.n:
        return "dropped: scored on a part of the questions; the optimizer chooses by the score on all"
    if trial.score == best.score:
        return "dropped: as good as the one that was kept, which came first"
    return f"dropped: {100 * (trial.score or 0):.1f}, the best {100 * (best.score or 0):.1f}"


def _rejected(trials: Sequence[Trial], noticed: Noticed) -> list[Trial]:
    """Return GEPA's rejected proposals as trials."""
    return [
        Trial(
            number=number,
            label="; ".join(f"{name}: other instructions" for name in proposal["instructions"]),
            parent=proposal["parent"],
            predictor=next(iter(proposal["instructions"])) if len(proposal["instructions"]) == 1 else None,
            instructions={**trials[proposal["parent"]].instructions, **proposal["instructions"]},
            score=min(1.0, max(0.0, proposal["new"] / proposal["n"])),
            n=proposal["n"],
            note=f"rejected: {proposal['new']:.2f} of {proposal['n']} on its minibatch, "
            f"its parent {proposal['old']:.2f}",
        )
        for number, proposal in enumerate(noticed.rejected, len(trials))
    ]


def _shown(program: dspy.Module) -> dict[str, list[str]]:
    """Return what the demos ask, of each predictor that shows all of them."""
    return {
        name: [str(demo.get("question") or next(iter(dict(demo).values()), ""))[:_LONGEST] for demo in predictor.demos]
        for name, predictor in program.named_predictors()
        if predictor.demos and getattr(predictor, "k", None) is None
    }


def _key(program: dspy.Module, n: int) -> str:
    state = repr(sorted(dump_program(program).items())).encode("utf-8", "backslashreplace")
    return f"{hashlib.sha256(state).hexdigest()[:16]} on {n}"


def compilation_trials(
    steps: Sequence[Sequence[Trial]], runs: tuple[Run, Run], column: str, program: dspy.Module
) -> list[Trial]:
    """Return what all steps of a compilation tried, between the program as it was and as it came out.

    Parameters
    ----------
    steps
        What each tried.
    runs, column
        On dev, before and after, and what of them is optimized.
    program
        The compiled one.

    Returns
    -------
    The first is the program as it was, the last the compiled one, both with their scores on dev. The scores of all are
    means of the metric per question: a corpus value such as DR is another figure.
    """
    before, after = (_mean(run, column) for run in runs)
    trials = [Trial(number=0, label="as it was", on="dev", kept=True, **before)]
    base = 0
    for tried in steps:
        numbers: dict[int | None, int] = {None: base}
        earlier = trials[base].instructions
        for trial in tried:
            same = trial.label == "as it was" or (not trial.instructions and not trial.demos)
            if trial.number == 0 and same and trial.on == "dev" and base == 0:
                numbers[trial.number] = base
                continue
            numbers[trial.number] = number = len(trials)
            instructions = {**earlier, **trial.instructions}
            parent = numbers.get(trial.parent, base)
            trials.append(replace(trial, number=number, parent=parent, instructions=instructions))
        base = max((trial.number for trial in trials if trial.kept), default=base)
    last = Trial(
        number=len(trials),
        label="compiled",
        parent=base,
        instructions=trials[base].instructions,
        demos=demo_counts(program),
        on="dev",
        kept=True,
        **after,
    )
    return [*trials, last]


def _mean(run: Run, measure: str) -> dict[str, Any]:
    values = [value for value in question_values(run.records, measure) if value == value]
    return {"score": sum(values) / len(values) / 100 if values else None, "n": len(values)}
