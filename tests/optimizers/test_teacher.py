"""A teacher's good runs become the demos of a program that has no good run itself."""

from collections.abc import Callable
from typing import Any

import pytest
from harness import questions
from scripted_engine import ScriptedEngine, scripted_lm
from small_recipes import DEMOS, small
from two_steps import ANSWERS, OneStep, TwoSteps
from writing_engine import prompt_if_any

import polyqa
from polyqa.extractive.prompt import Prompt
from polyqa.optimizers import Compiled, Recipe

EVERY = questions(10)
TRAIN, DEV = EVERY[:6], EVERY[6:]
SETS: dict[str, Any] = {"trainset": TRAIN, "devset": DEV, "threads": 1}
OWN = Recipe(name="own", optimizer="own-runs", threshold=0.1)
FEW = small("few", "BootstrapFewShot", threshold=0.1, **DEMOS)
SEARCH = small("search", "BootstrapFewShotWithRandomSearch", threshold=0.1, num_candidate_programs=1, **DEMOS)
DEMO = {"question": "What colour is chalk?", "answer": "Chalk is white."}
Compile = Callable[..., Compiled]


class SmallEngine(ScriptedEngine):
    """Knows the answers only where the prompt shows how it is done."""

    def __init__(self, *, knows: bool = False) -> None:
        super().__init__(self._reply, given=prompt_if_any)
        self.knows = knows

    def _reply(self, prompt: Prompt) -> dict[str, str]:
        name = prompt.inputs["question"].split()[-1].rstrip("?")
        good, _, bad = ANSWERS
        return dict.fromkeys(prompt.output_fields, (good if prompt.demos or self.knows else bad).format(name=name))


def taught() -> OneStep:
    teacher = OneStep()
    teacher.answer.demos = [dict(DEMO)]
    return teacher


def demos(made: Compiled) -> list[str]:
    return [demo["question"] for demo in dict(made.program.named_predictors())["answer"].demos]


@pytest.mark.parametrize("recipe", [OWN, FEW, SEARCH], ids=lambda one: one.name)
def test_a_compiled_program_teaches(recipe: Recipe, compiled: Compile) -> None:
    alone = compiled(OneStep(), recipe, "alone", lm=scripted_lm(SmallEngine()), **SETS)
    assert demos(alone) == []
    made = compiled(OneStep(), recipe, "taught", lm=scripted_lm(SmallEngine()), teacher=taught(), **SETS)
    assert demos(made)
    assert set(demos(made)) <= {question.question for question in TRAIN}  # the teacher's own demo is not among them
    assert made.comparison.metrics["disambig_f1"].difference > 0
    assert "seconds" not in made.comparison.metrics, "the second run finds what the first one read"


@pytest.mark.parametrize("recipe", [OWN, FEW, SEARCH], ids=lambda one: one.name)
def test_a_large_language_model_teaches_a_small_one(recipe: Recipe, compiled: Compile) -> None:
    small, large = SmallEngine(), SmallEngine(knows=True)
    teacher_lm = scripted_lm(large)
    teacher_lm.model = "tests/large"  # it shares a cache with the small one
    made = compiled(OneStep(), recipe, lm=scripted_lm(small), teacher_lm=teacher_lm, **SETS)
    assert demos(made)
    assert 0 < len(large.seen) <= (1 + 2 * (recipe is SEARCH)) * len(TRAIN)  # it is asked training questions only
    assert made.comparison.metrics["disambig_f1"].difference > 0


def test_what_cannot_teach_is_refused_before_the_first_call(compiled: Compile) -> None:
    engine = SmallEngine()
    lm, other = scripted_lm(engine), taught()
    other.answer.signature = other.answer.signature.with_instructions("Answer in one word.")
    for recipe, teacher, told in (
        ("labeled-few-shot", {"teacher_lm": lm}, "'labeled-few-shot' makes no demos from runs, so it has no use"),
        (FEW, {"teacher": TwoSteps()}, "The teacher has the predictors hint, answer, and OneStep has answer"),
        (FEW, {"teacher": other}, "other instructions for answer.*knn-bootstrap"),
    ):
        with pytest.raises(polyqa.PolyqaError, match=told):
            compiled(OneStep(), recipe, lm=lm, **teacher, **SETS)
    assert not engine.seen
    assert demos(compiled(OneStep(), OWN, lm=lm, teacher=other, **SETS))


def test_only_the_named_predictors_are_taught(compiled: Compile) -> None:
    teacher = TwoSteps()
    teacher.hint.demos = teacher.answer.demos = [{**DEMO, "hint": "It is white."}]
    only = FEW.model_copy(update={"predictors": ("answer",)})
    made = compiled(TwoSteps(), only, lm=scripted_lm(SmallEngine()), teacher=teacher, **SETS)
    assert demos(made)
    assert not dict(made.program.named_predictors())["hint"].demos
