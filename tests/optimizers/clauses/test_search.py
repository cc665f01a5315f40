"""The search keeps clauses that gain on questions held out, too, and nothing else."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from scripted_engine import ScriptedEngine, scripted_lm

import polyqa
from polyqa.evaluation.loading import load_questions
from polyqa.extractive.prompt import Prompt
from polyqa.lm.adapter import LeanAdapter
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.optimizers import Plan, recipe
from polyqa.optimizers.clauses import LIBRARY, candidates_for
from polyqa.optimizers.clauses.search import Gain
from polyqa.optimizers.compiler import compile_program
from polyqa.optimizers.trials import Trial
from polyqa.signatures import ClarifyQuestion, RelaxQuery

Replies = Callable[[Prompt], list[str]]


class Clarifying(dspy.Module):
    """A program of one call, which shows what the search does to its instructions."""

    def __init__(self) -> None:
        super().__init__()
        self.clarify = dspy.Predict(ClarifyQuestion)

    def forward(self, question: str) -> dspy.Prediction:
        said = self.clarify(question=question, passages="[1] Towns | One, two, three.")
        return dspy.Prediction(answer=said.answer, interpretations=said.interpretations, passages=[])


def questions(count: int, name: str) -> list[Question]:
    return [Question(f"{name}{n}", f"Which is {name} {n}?", (Reading("?", (f"right {n}",)),)) for n in range(count)]


def engine(says: Replies) -> ScriptedEngine:
    """Answers with readings whose answers a test writes, from what stands in the prompt."""

    def reply(prompt: Prompt) -> dict[str, object]:
        readings = [{"question": "a?", "answer": one, "pid": "1"} for one in says(prompt)]
        return {"interpretations": readings, "answer": "; ".join(says(prompt))}

    return ScriptedEngine(reply)


def number_of(prompt: Prompt) -> str:
    return prompt.question.rstrip("?").split()[-1]


def right_and(wrong: int) -> Replies:
    return lambda prompt: [f"right {number_of(prompt)}", *(f"wrong {n}" for n in range(wrong))]


def heeding(prompt: Prompt) -> list[str]:
    """Give three wrong readings beside the right one, fewer if that is asked for."""
    most = 1 if "only one reading" in prompt.instructions else 2 if "at most two" in prompt.instructions else 4
    return right_and(3)(prompt)[:most]


@pytest.fixture
def search(tmp_path: Path, metric: AnswerMetric) -> Callable[..., tuple[dspy.Module, list[Trial], ScriptedEngine]]:
    def run(
        says: Replies, *, train: int = 36, most: int | None = None, folder: str = "work", **settings: Any
    ) -> tuple[dspy.Module, list[Trial], ScriptedEngine]:
        scripted = engine(says)
        chosen = recipe("clauses").model_copy(update={"settings": {"rounds": 2, **settings}})
        measure = AnswerMetric(metric.reader, measure="f1_answer")
        plan = Plan(questions(train, "train"), questions(4, "dev"), chosen, measure, scripted_lm(scripted), threads=2)
        with dspy.context(adapter=LeanAdapter()):
            made = compile_program(Clarifying(), plan, tmp_path / folder, max_calls=most)
        return made.program, made.trials[1:-1], scripted

    return run


def instructions(program: dspy.Module) -> str:
    return str(program.clarify.signature.instructions)


def test_the_clause_that_gains_is_kept_and_the_one_it_contradicts_is_not_tried_again(search: Any) -> None:
    program, trials, _ = search(heeding)
    assert instructions(program) == f"{ClarifyQuestion.instructions}\nGive only one reading, the likeliest."
    assert [trial.label for trial in trials if trial.parent == 1] == [
        f"clarify: {one.name}" for one in LIBRARY[ClarifyQuestion]
    ]
    kept = [trial for trial in trials if trial.kept]
    assert [trial.label for trial in kept] == ["as it was", "clarify: one-reading"]
    assert [trial.score for trial in kept] == [pytest.approx(0.4), 1.0]
    assert kept[1].parent == 1
    assert kept[1].note.endswith("held out: kept")
    later = {trial.label for trial in trials if trial.parent == kept[1].number}
    assert "clarify: quote" in later
    assert not {"clarify: two-readings", "clarify: one-reading"} & later


def test_what_has_changed_nothing_so_far_goes_on_before_what_did_harm(search: Any) -> None:
    def seldom(prompt: Prompt) -> list[str]:
        """Quoting mends a third of the questions, none of the first two; every other clause does harm."""
        bare, quotes = prompt.instructions == ClarifyQuestion.instructions, "Quote" in prompt.instructions
        plain = int(number_of(prompt)) % 3 or int(number_of(prompt)) in ORDER[:2]
        return [f"right {number_of(prompt)}"] if quotes or (bare and plain) else ["wrong"]

    program, trials, _ = search(seldom, start=2, rounds=1)
    assert instructions(program).endswith("Quote the passages word for word.")
    assert {trial.parent for trial in trials} == {0, 1}, "there was one round"


def test_a_gain_on_the_choosing_questions_alone_is_not_kept(search: Any) -> None:
    def lucky(prompt: Prompt) -> list[str]:
        """Is right with the clause where the shuffled questions choose, wrong where they confirm."""
        helps = "Quote" in prompt.instructions and int(number_of(prompt)) in CHOOSING
        return [f"right {number_of(prompt)}"] if helps else ["wrong"]

    program, trials, _ = search(lucky)
    assert instructions(program) == ClarifyQuestion.instructions
    (quote,) = [trial for trial in trials if trial.label == "clarify: quote"]
    assert quote.note == "+100.0 on 18 questions, +0.0 on 18 held out: dropped"


def _choosing() -> list[int]:
    places = list(range(36))
    random.Random(0).shuffle(places)
    return places[18:]


ORDER = _choosing()
CHOOSING = frozenset(ORDER)


@pytest.mark.parametrize("says", [right_and(0), right_and(3)], ids=["all right", "nothing helps"])
def test_nothing_is_kept_where_nothing_gains(says: Replies, search: Any) -> None:
    program, trials, _ = search(says)
    assert instructions(program) == ClarifyQuestion.instructions
    assert [trial.number for trial in trials if trial.kept] == [1]


def test_a_search_that_is_begun_again_ends_where_it_ended(search: Any) -> None:
    made, trials, _ = search(heeding)
    again, same, asked = search(heeding)
    assert instructions(again) == instructions(made)
    assert [trial.kept for trial in same] == [trial.kept for trial in trials]
    assert not asked.seen


@pytest.mark.slow
def test_the_limit_of_calls_stops_it_and_the_same_command_asks_nothing_again(search: Any) -> None:
    whole, _, undisturbed = search(heeding, folder="undisturbed")
    with pytest.raises(polyqa.PolyqaError, match="limit"):
        search(heeding, most=100)
    program, _, resumed = search(heeding)
    assert instructions(program) == instructions(whole)
    assert len(resumed.seen) == len(undisturbed.seen) - 100


def test_an_outage_ends_it_and_is_no_score_of_a_clause(search: Any) -> None:
    def gone(prompt: Prompt) -> list[str]:
        raise ConnectionError("the server is gone")

    with pytest.raises(polyqa.PolyqaError, match=r"training questions fail one after the other: .*the server is gone"):
        search(gone)


@pytest.mark.parametrize(("train", "told"), [(11, "at least 12 training questions"), (0, "sets is empty")])
def test_too_few_questions_are_refused(train: int, told: str, search: Any) -> None:
    with pytest.raises(polyqa.PolyqaError, match=told):
        search(heeding, train=train)


def test_clauses_of_a_known_task_whatever_its_name() -> None:
    assert (
        candidates_for(dspy.Signature("passages, question, more -> interpretations, answer"))
        == LIBRARY[ClarifyQuestion]
    )
    assert candidates_for(dspy.Signature("topic -> poem")) == ()


def test_the_library_names_each_clause_of_a_task_once_and_says_what_it_is_for() -> None:
    for task, clauses in LIBRARY.items():
        assert len({one.name for one in clauses}) == len({one.text for one in clauses}) == len(clauses)
        assert all(one.purpose and one.text.endswith(".") and one.text not in task.instructions for one in clauses)


@pytest.mark.parametrize(
    ("differences", "value", "sure"),
    [([0.5, 0.5], 0.5, 1.0), ([-0.5, -0.5], -0.5, 0.0), ([0.5], 0.5, 0.5), ([1.0, -1.0], 0.0, 0.5), ([0.0], 0.0, 0.5)],
)
def test_how_sure_a_gain_is(differences: list[float], value: float, sure: float) -> None:
    assert Gain.of(differences) == Gain(value, sure)
    assert Gain.of([1.0, 0.9, 1.1, 0.8]).sure > 0.99


def test_the_embedded_engine_is_not_tried_with_what_it_does_not_obey(plan: Callable[..., Plan], tmp_path: Path) -> None:
    class Relaxing(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relax = dspy.Predict(RelaxQuery)

        def forward(self, question: str) -> dspy.Prediction:
            return dspy.Prediction(answer=self.relax(question=question).relaxed_query, interpretations=[], passages=[])

    with pytest.raises(polyqa.PolyqaError, match="no clause for relax of Relaxing that the language model obeys"):
        compile_program(Relaxing(), plan("clauses", trainset=load_questions("homonyms/train")[:12]), tmp_path)
