"""Predictors, threshold and seed: every recipe honours them, or says that it cannot."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from harness import questions
from scripted_engine import scripted_lm
from small_recipes import DEMOS, small
from two_steps import OneStep, StepsEngine, TwoSteps

from polyqa.artifacts.state import dump_program
from polyqa.base.errors import PolyqaError
from polyqa.models import Encoder
from polyqa.optimizers import RECIPES, Compiled, Recipe
from polyqa.optimizers.plan import check_recipe
from polyqa.optimizers.teleprompters import freeze, thaw
from polyqa.programs import KNNPredict
from polyqa.signatures import InferPseudoInterpretations

EVERY = questions(18)
TRAIN, DEV = EVERY[:12], EVERY[12:]
DSPYS = [
    small("own", "BootstrapFewShot", threshold=0.1, **DEMOS),
    small("own", "BootstrapFewShotWithRandomSearch", threshold=0.1, num_candidate_programs=2, **DEMOS),
    small("own", "COPRO", threshold=0.1, breadth=3, depth=2),
    small("own", "MIPROv2", threshold=0.1, num_candidates=3, num_trials=4),
    small("own", "SIMBA", threshold=0.1, num_candidates=3, max_steps=2),  # with fewer questions than its batch
    small("own", "GEPA", threshold=0.1, max_metric_calls=40, reflection_minibatch_size=2),
]
Make = Callable[..., Any]


@pytest.fixture
def engine() -> StepsEngine:
    return StepsEngine()


@pytest.fixture
def make(compiled: Callable[..., Compiled], engine: StepsEngine) -> Make:
    """Return what compiles a program of steps; the engine draws by the prompt and by how often it was asked."""

    def run(program: dspy.Module, chosen: Recipe, folder: str = "", **changes: Any) -> Any:
        given = {"trainset": TRAIN, "devset": DEV, "lm": scripted_lm(engine), "threads": 1, **changes}
        return compiled(program, chosen, folder, **given).program

    return run


@pytest.mark.slow
@pytest.mark.parametrize("recipe", DSPYS, ids=lambda one: one.optimizer)
def test_only_the_named_predictors_are_compiled(
    recipe: Recipe, encoder: Encoder, engine: StepsEngine, make: Make
) -> None:
    program = TwoSteps(encoder)
    program.hint.demos = [{"question": "What colour is grass?", "hint": "Look down."}]
    before, after = dump_program(program), dump_program(make(program, recipe.with_options(predictors=["answer"])))
    assert list(after) == list(before)
    assert after["hint"] == before["hint"]
    tried = {
        name: {(prompt.instructions, str(prompt.demos)) for prompt in engine.seen if name in prompt.output_fields}
        for name in ("hint", "answer")
    }
    assert len(tried["hint"]) == 1  # not only in the end: nothing else was ever tried on it
    assert len(tried["answer"]) > 1


@pytest.mark.parametrize("name", ["knn", "gepa", "knn-then-bootstrap"])
def test_a_predictor_that_is_not_there_is_refused_before_the_first_call(
    name: str, encoder: Encoder, engine: StepsEngine, make: Make, tmp_path: Path
) -> None:
    odd = RECIPES[name].with_options(predictors=["answer", "nonsense"])
    with pytest.raises(PolyqaError, match=r"names the predictor 'nonsense'; TwoSteps has hint, answer"):
        make(TwoSteps(encoder), odd)
    assert not engine.seen
    assert not list(tmp_path.iterdir())


def test_a_chain_hands_its_options_to_its_steps(encoder: Encoder, make: Make) -> None:
    chain = RECIPES["knn-then-bootstrap"].with_options(threshold=0.1, predictors=["answer"])
    assert [(step.threshold, step.predictors) for step in chain.steps] == [(0.5, ("answer",)), (0.1, ("answer",))]
    made = dump_program(make(TwoSteps(encoder), chain, "1"))
    assert len(made["answer"]["demos"]) > 0
    assert (made["hint"]["demos"], made["hint"]["knn"]) == ([], None)
    # Also where a chain was made by hand.
    last = chain.steps[1].model_copy(update={"predictors": ()})
    by_hand = Recipe(name="own", optimizer="chain", predictors=("answer",), steps=(last,))
    assert dump_program(make(TwoSteps(encoder), by_hand, "2"))["hint"]["demos"] == []


@pytest.mark.parametrize("name", ["bootstrap-few-shot", "knn-bootstrap"])
def test_a_threshold_no_run_reaches_leaves_no_demo(name: str, encoder: Encoder, make: Make) -> None:
    assert not make(TwoSteps(encoder), RECIPES[name].with_options(threshold=1.0)).answer.demos


@pytest.mark.parametrize("name", ["labeled-few-shot", "knn", "copro", "simba", "infer-rules", "gepa", "gepa-then-knn"])
def test_a_threshold_that_would_do_nothing_is_refused(name: str) -> None:
    told = rf"{name}.* has no use for a threshold .* take bootstrap-few-shot, bootstrap-random-search, "
    told += "knn-bootstrap, miprov2 or knn-then"
    with pytest.raises(PolyqaError, match=told):
        RECIPES[name].with_options(threshold=0.9)


def test_a_threshold_outside_its_range_is_refused() -> None:
    with pytest.raises(PolyqaError, match=r"between 0 and 1, not at 1\.5"):
        RECIPES["bootstrap-few-shot"].with_options(threshold=1.5)


def test_without_options_a_recipe_is_what_it_was() -> None:
    assert all(one.with_options() is one and one.with_options(predictors=[]) is one for one in RECIPES.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bootstrap-few-shot", "bootstrap-random-search"])
def test_the_seed_orders_what_takes_no_seed(name: str, encoder: Encoder, make: Make) -> None:
    own = RECIPES[name].model_copy(update={"threshold": 0.0})

    def demos(seed: int, run: int = 0) -> list[str]:
        lm = scripted_lm(StepsEngine())
        made = make(TwoSteps(encoder), own, f"{seed}-{run}", seed=seed, lm=lm)
        return [demo["question"] for demo in dump_program(made)["answer"]["demos"]]

    assert demos(1) == demos(1, 1)
    if name == "bootstrap-few-shot":
        assert demos(0) == [question.question for question in TRAIN[:4]]  # as without a seed
    assert len({tuple(demos(seed)) for seed in (0, 1, 2)}) > 1


def test_an_optimizer_may_follow_on_another(encoder: Encoder, make: Make) -> None:
    step = small("first", "BootstrapFewShot", threshold=0.1, **DEMOS)
    chain = Recipe(name="both", optimizer="chain", steps=(step, step.model_copy(update={"name": "second"})))
    program = TwoSteps(encoder)
    program._compiled = True  # as DSPy's optimizers leave it
    made = make(program, chain)
    assert made.answer.demos
    outer = dspy.Module()
    outer.inner = made  # DSPy does not save what it takes for frozen
    assert set(outer.dump_state()) == {"inner.hint", "inner.answer"}


def test_frozen_predictors_are_called_and_read_as_ever_and_survive_copies(
    encoder: Encoder, engine: StepsEngine
) -> None:
    program = TwoSteps(encoder)
    before = dump_program(program)
    assert freeze(program, ["answer"]) == ["hint"]
    copy = program.deepcopy().reset_copy()
    assert [name for name, _ in copy.named_predictors()] == ["answer"]
    assert copy.hint.demos == []
    with dspy.context(lm=scripted_lm(engine)):
        assert copy(question="What colour is q1?").answer
    assert len(engine.seen) == 2
    thaw(copy, ["hint"])
    assert dump_program(copy) == before


# --- programs of DSPy's own predictors -----------------------------------------------------------


class Nested(dspy.Module):
    """Predictors in a list, a dict and a sub-module."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = [dspy.Predict("question -> hint"), dspy.Predict("question -> hint")]
        self.tools = {"one": dspy.Predict("question -> hint")}
        self.inner = OneStep()

    def forward(self, question: str) -> dspy.Prediction:
        for step in (*self.steps, *self.tools.values()):
            step(question=question)
        return self.inner(question=question)


@pytest.mark.parametrize("name", ["steps[1]", "tools['one']", "inner.answer"])
def test_predictors_are_frozen_wherever_they_are(name: str, make: Make) -> None:
    own = small("own", "BootstrapFewShot", threshold=0.0, **DEMOS)
    made = make(Nested(), own.with_options(predictors=[name]))
    assert [found for found, predictor in made.named_predictors() if predictor.demos] == [name]


class Guessing(dspy.Module):
    """A predictor of DSPy's that labels can fill."""

    def __init__(self) -> None:
        super().__init__()
        self.infer = dspy.Predict(InferPseudoInterpretations)

    def forward(self, question: str) -> dspy.Prediction:
        found = self.infer(question=question, reason="It may be anything.").pseudo_interpretations
        return dspy.Prediction(answer=" ".join(found))


def test_plain_predictors_get_fixed_demos(make: Make) -> None:
    bootstrap = Recipe(name="fixed", optimizer="own-runs", threshold=0.1, shown=2)
    assert len(make(OneStep(), bootstrap, "fixed").answer.demos) == 2
    assert len(make(Guessing(), RECIPES["labeled-few-shot"], "labels").infer.demos) == 5


@pytest.mark.parametrize("name", ["knn", "knn-bootstrap", "knn-then-bootstrap"])
@pytest.mark.parametrize(
    ("program", "told"),
    [
        (OneStep, r"OneStep\.answer is a Predict, so it cannot pick the nearest demos"),
        (TwoSteps, r"TwoSteps\.hint has no encoder"),
    ],
)
def test_plain_predictors_are_refused_the_nearest_demos(
    program: type[dspy.Module], told: str, name: str, engine: StepsEngine, make: Make
) -> None:
    with pytest.raises(PolyqaError, match=told):
        make(program(), RECIPES[name])
    assert not engine.seen


class AboutAName(TwoSteps):
    """Its first step is not given the question."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self.hint = KNNPredict("name -> hint", encoder=encoder)


def test_a_predictor_without_a_question_is_refused_the_nearest_runs(
    encoder: Encoder, engine: StepsEngine, make: Make
) -> None:
    with pytest.raises(PolyqaError, match=r"AboutAName\.hint has no input question, .* name other predictors"):
        make(AboutAName(encoder), RECIPES["knn-bootstrap"])
    assert not engine.seen
    check_recipe(RECIPES["knn-bootstrap"].with_options(predictors=["answer"]), AboutAName(encoder))
