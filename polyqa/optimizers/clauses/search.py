"""Instructions by search: which clauses of the library raise the score.

Greedy: in a round every clause that is left is tried on top of the program so far, the best one is kept, and the next
round begins; it ends where no clause gains. In a round the clauses compete by successive halving (Jamieson & Talwalkar,
2016, https://arxiv.org/abs/1502.07943): all on a few questions, the better half on twice as many, and so on, always
compared with the program so far on the same questions. What wins must also gain on questions that took no part in
the choice: on those that chose it, the best of many would seem to gain by chance alone.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean

import dspy
from dspy.utils.exceptions import AdapterParseError

from polyqa.base.errors import PolyqaError
from polyqa.base.work import Failure, work_through
from polyqa.evaluation.progress import bar
from polyqa.extractive import ExtractiveEngine

from ..leave_one_out import leave_one_out
from ..plan import Plan
from ..trials import Trial, changed_instructions, demo_counts, lineage
from .library import Candidate, candidates_for

ROUNDS, START, CHALLENGERS = 4, 16, 3
HELD_OUT = 1 / 2
"""Share of the training questions that only confirm."""
CONFIDENCE = 0.9
"""One-sided, of the gain on the questions held out."""


@dataclass(frozen=True)
class Change:
    """A clause for a predictor."""

    predictor: str
    clause: Candidate

    def settles(self, other: "Change") -> bool:
        """Return whether another change has no place beside this one: it is about the same matter."""
        return self.predictor == other.predictor and self.clause.group == other.clause.group

    def __str__(self) -> str:
        return f"{self.predictor}: {self.clause.name}"


@dataclass(eq=False)
class _Scored:
    """A program and its scores so far, by the places of the questions."""

    program: dspy.Module
    change: Change | None = None
    scores: dict[int, float] = field(default_factory=dict)
    parent: "_Scored | None" = None
    note: str = ""


@dataclass(frozen=True)
class Gain:
    """The mean gain of paired scores and how sure it is that there is one, in [0, 1]."""

    value: float
    sure: float

    @classmethod
    def of(cls, differences: Sequence[float]) -> "Gain":
        """Return the gain of paired differences, by a one-sided t-test."""
        value = mean(differences)
        if len(differences) < 2 or value == 0.0:
            return cls(value, 0.5)
        if len(set(differences)) == 1:
            return cls(value, float(value > 0))
        from scipy.stats import ttest_1samp

        return cls(value, float(1 - ttest_1samp(differences, 0.0, alternative="greater").pvalue))


def search_clauses(program: dspy.Module, plan: Plan) -> tuple[dspy.Module, list[Trial]]:
    """Return a program with those clauses in its instructions that gain, and what was tried, in that order.

    Parameters
    ----------
    program
        It is not changed. Clauses that stand in its instructions already are not tried.
    plan
        Its trainset is parted by the seed: one half chooses, the other confirms. The recipe's ``settings``:
        ``rounds`` (clauses at most, 4), ``start`` (questions of the first comparison, 16), ``challengers`` (how many of
        a round are confirmed at most, 3).

    Raises
    ------
    PolyqaError
        If there are fewer than twelve training questions, or no clause for the predictors.
    """
    search = _Search(program, plan)
    with leave_one_out(plan.trainset), dspy.context(lm=plan.lm):
        search.run()
    return search.best.program, search.trials


class _Search:
    def __init__(self, program: dspy.Module, plan: Plan) -> None:
        self.plan = plan
        self.metric = plan.metric_of_recipe()
        self.best = _Scored(program.deepcopy())
        self.tried = [self.best]
        self.left = list(changes(program, plan))
        if not self.left:
            raise PolyqaError(
                f"The recipe {plan.recipe.name!r} has no clause for {', '.join(dict(program.named_predictors()))} of "
                f"{type(program).__name__} that the language model obeys. Take another recipe, or other predictors."
            )
        places = list(range(len(plan.trainset)))
        random.Random(plan.seed).shuffle(places)
        held_out_count = round(HELD_OUT * len(places))
        self.choosing, self.held_out = places[held_out_count:], places[:held_out_count]

    def run(self) -> None:
        """Search."""
        for _ in range(self.plan.recipe.number("rounds", ROUNDS)):
            winner = self._round()
            if winner is None or winner.change is None:
                return
            self.left = [change for change in self.left if not winner.change.settles(change)]
            self.best = winner

    def _round(self) -> _Scored | None:
        """Return the best of the program with one more clause each, if it is confirmed."""
        running = [_Scored(_with(self.best.program, change), change, parent=self.best) for change in self.left]
        self.tried += running
        size = self.plan.recipe.number("start", START)
        while True:
            places = self.choosing[:size]
            self._score_all([self.best, *running], places, f"{len(running)} clauses")
            last = size >= len(self.choosing)
            running = self._ahead(running, places, last=last)
            if last or not running:
                break
            size *= 2
        for place, candidate in enumerate(running):
            if self._confirm(candidate):
                for other in running[place + 1 :]:
                    other.note += ": dropped, another was kept"
                return candidate
        return None

    def _ahead(self, running: Sequence[_Scored], places: Sequence[int], *, last: bool) -> list[_Scored]:
        """Return those that go on, best first: the better half, in the end those few that are worth confirming."""
        gains: list[tuple[Gain, _Scored]] = []
        for candidate in running:
            differences = self._differences(candidate, places)
            # One that has changed nothing so far may do so on more questions, and is better than one that did harm.
            gain = Gain.of(differences)
            effect = f"{100 * gain.value:+.1f}" if any(differences) else "changed nothing"
            candidate.note = f"{effect} on {len(differences)} questions"
            gains.append((gain, candidate))
        gains.sort(key=lambda pair: (-pair[0].sure, -pair[0].value))
        few = self.plan.recipe.number("challengers", CHALLENGERS)
        ahead = gains[: few if last else max(few, math.ceil(len(gains) / 2))]
        going_on = [candidate for gain, candidate in ahead if gain.value > 0 or not last]
        for gain, candidate in gains:
            if candidate not in going_on:
                candidate.note += ": dropped, " + ("others gained more" if gain.value > 0 else "no gain")
        return going_on

    def _confirm(self, candidate: _Scored) -> bool:
        """Return whether a program gains on the questions held out, too, and that clearly.

        They alone count: on the others the best of some twenty gains by chance.
        """
        everything = [*self.choosing, *self.held_out]
        self._score_all([self.best, candidate], everything, f"confirming {candidate.change}")
        gain = Gain.of(self._differences(candidate, self.held_out))
        confirmed = gain.value > 0 and gain.sure >= CONFIDENCE
        outcome = "kept" if confirmed else "dropped"
        candidate.note += f", {100 * gain.value:+.1f} on {len(self.held_out)} held out: {outcome}"
        return confirmed

    def _score_all(self, running: Sequence[_Scored], places: Sequence[int], text: str) -> None:
        """Score programs on the questions on which they were not scored yet."""
        lacking = [(candidate, place) for candidate in running for place in places if place not in candidate.scores]
        with bar(len(lacking), text) as step:

            def keep(scored: tuple[_Scored, int], result: tuple[float, Failure | None]) -> Failure | None:
                candidate, place = scored
                candidate.scores[place], failure = result
                step()
                return failure

            work_through(lacking, self._score, keep, at_once=self.plan.threads, things="training questions")

    def _score(self, scored: tuple[_Scored, int]) -> tuple[float, Failure | None]:
        """Return the score of a program on a question: 0 if it fails, as in every run, and why it failed."""
        candidate, place = scored
        question = self.plan.trainset[place]
        try:
            return float(self.metric(question.to_example(), candidate.program(question=question.question))), None
        except AdapterParseError:  # no outage: a clause may make every reply unreadable
            return 0.0, None
        except Exception as error:
            return 0.0, Failure.of(error)

    def _differences(self, candidate: _Scored, places: Sequence[int]) -> list[float]:
        return [candidate.scores[place] - self.best.scores[place] for place in places]

    @property
    def trials(self) -> list[Trial]:
        """What was tried, in order; kept is what the best program was made of."""
        numbers = {id(candidate): number for number, candidate in enumerate(self.tried)}
        trials = [
            Trial(
                number=numbers[id(candidate)],
                label=str(candidate.change) if candidate.change else "as it was",
                parent=numbers[id(candidate.parent)] if candidate.parent else None,
                predictor=candidate.change.predictor if candidate.change else None,
                instructions=changed_instructions(candidate.program, self.tried[0].program),
                demos=demo_counts(candidate.program),
                score=mean(candidate.scores.values()),
                n=len(candidate.scores),
                note=candidate.note,
            )
            for candidate in self.tried
        ]
        line = {trial.number for trial in lineage(trials, numbers[id(self.best)])}
        return [replace(trial, kept=trial.number in line) for trial in trials]


def changes(program: dspy.Module, plan: Plan) -> Iterator[Change]:
    """Yield what a search adds to a program: what neither stands there nor the embedded engine disobeys."""
    engine = getattr(plan.lm, "engine", None)
    for name, predictor in program.named_predictors():
        if plan.recipe.predictors and name not in plan.recipe.predictors:
            continue
        signature = predictor.signature
        for clause in candidates_for(signature):
            if clause.text in signature.instructions:
                continue
            if isinstance(engine, ExtractiveEngine) and engine.unheeded(signature.with_instructions(clause.text)):
                continue
            yield Change(name, clause)


def _with(program: dspy.Module, change: Change) -> dspy.Module:
    """Return a copy of a program with a clause at the end of a predictor's instructions."""
    changed = program.deepcopy()
    predictor = dict(changed.named_predictors())[change.predictor]
    instructions = f"{predictor.signature.instructions.rstrip()}\n{change.clause.text}"
    predictor.signature = predictor.signature.with_instructions(instructions)
    return changed
