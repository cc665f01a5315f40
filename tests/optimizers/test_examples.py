"""A module, examples, a recipe's name and a metric function of a DSPy user are enough to compile."""

from pathlib import Path
from typing import Any

import dspy
import pytest
from scripted_engine import ScriptedEngine, scripted_lm

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.metrics.gold import Question
from polyqa.optimizers import Plan, compile

NAMES = ("Alba", "Brno", "Cork", "Delf")
EXAMPLES = [
    dspy.Example(question=f"What colour is {name}?", answer=f"{name} is blue").with_inputs("question") for name in NAMES
]


class Mine(dspy.Module):
    """A program of a user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict("question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        return self.answer(question=question)


def reply(prompt: Any) -> dict[str, object]:
    return {"answer": prompt.question.removeprefix("What colour is ").rstrip("?") + " is blue"}


@pytest.mark.parametrize("recipe", ["labeled-few-shot", "bootstrap-few-shot", "bootstrap-random-search"])
def test_everything_is_the_users_own(recipe: str, tmp_path: Path) -> None:
    seen: list[dspy.Example] = []

    def metric(gold: dspy.Example, pred: dspy.Prediction, trace: object = None) -> float:
        seen.append(gold)
        return float(pred.answer == gold.answer)

    with dspy.context(lm=scripted_lm(ScriptedEngine(reply))):
        plan = Plan.of(EXAMPLES[:3], EXAMPLES[3:], metric, recipe=recipe, threads=1)
    compiled = compile(Mine(), plan, tmp_path / "work")
    assert {demo["question"] for demo in compiled.program.answer.demos} <= {one.question for one in EXAMPLES[:3]}
    # The search keeps the first of the best: without demos every answer is right already.
    assert bool(compiled.program.answer.demos) == (recipe != "bootstrap-random-search")
    assert all(one in EXAMPLES for one in seen)
    assert bool(seen) == (recipe != "labeled-few-shot")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"trainset": ["What?"]}, "train-0 is a str; give dspy.Examples or Questions"),
        ({"trainset": [dspy.Example(text="x")]}, "train-0 has no question; it has text"),
        ({"devset": [dspy.Example(question="Who?", label=1)]}, "dev-0 has no answer to score against; it has question"),
        ({"metric": 3}, "not a int"),
        ({"metric": lambda gold, pred: 1.0}, r"cannot be called as metric\(gold, pred, trace\)"),
        ({"recipe": "magic"}, "There is no recipe 'magic'"),
        ({"lm": None}, "No language model is given"),
    ],
)
def test_what_cannot_be_used_is_refused_before_any_call(changed: dict[str, Any], told: str) -> None:
    engine = ScriptedEngine(reply)
    usual = {"trainset": EXAMPLES[:3], "devset": EXAMPLES[3:], "metric": lambda gold, pred, trace=None: 1.0}
    with pytest.raises(PolyqaError, match=told):
        Plan.of(**{"lm": scripted_lm(engine), **usual, **changed})
    assert not engine.seen


def test_an_artifact_is_made_of_a_name(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match=r"takes names only. Compile a Mine with polyqa.optimizers.compile"):
        polyqa.compile(Mine(), out=tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_gold_questions_stay_as_they_are() -> None:
    question = polyqa.Questions("homonyms/dev", limit=1).asked[0]
    plan = Plan.of([question], [question.to_example()], lambda *_: 1.0, lm=scripted_lm(ScriptedEngine(reply)))
    assert (plan.trainset, plan.devset) == ([question], [question])
    assert isinstance(plan.trainset[0], Question)


def test_another_metric_does_not_go_on_with_the_work_of_the_first(tmp_path: Path) -> None:
    lm = scripted_lm(ScriptedEngine(reply))
    plans = [
        Plan.of(EXAMPLES[:3], EXAMPLES[3:], metric, recipe="labeled-few-shot", lm=lm, threads=1)
        for metric in (lambda gold, pred, trace=None: 1.0, lambda gold, pred, trace=None: len(pred.answer) / 100)
    ]
    compile(Mine(), plans[0], tmp_path / "work")
    with pytest.raises(PolyqaError, match="is of another compilation: metric was"):
        compile(Mine(), plans[1], tmp_path / "work")
