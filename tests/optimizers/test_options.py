"""Predictors, threshold and seed: every recipe honours them, or says that it cannot."""

from pathlib import Path
from typing import Any

import dspy
import pytest
from harness import questions
from polyqa.optimizers.recipe import Optimizer
from scripted_engine import scripted_lm
from two_steps import OneStep, StepsEngine, TwoSteps

from polyqa.artifacts.state import dump_program
from polyqa.embedded_models import Encoder, Reader
from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.optimizers import RECIPES, Recipe, compile
from polyqa.optimizers.frozen import freeze, thaw
from polyqa.signatures import InferPseudoInterpretations, PolyqaError

EVERY = questions(18)
TRAIN, DEV = EVERY[:12], EVERY[12:]
BOOTSTRAPPED: dict[str, Any] = {"max_bootstrapped_demos": 2, "max_labeled_demos": 0}
DSPYS: list[tuple[Optimizer, dict[str, Any]]] = [
    ("few-shot", BOOTSTRAPPED),
    ("few-shot-search", {**BOOTSTRAPPED, "num_candidate_programs": 2}),
    ("copro", {"breadth": 3, "depth": 2}),
    ("mipro", {"num_candidates": 3, "num_trials": 4}),
    ("simba", {"bsize": 4, "num_candidates": 3, "max_steps": 3}),
    ("gepa", {"max_metric_calls": 40, "reflection_minibatch_size": 2}),
]


def compiled(
    program: dspy.Module,
    made: Recipe,
    engine: StepsEngine,
    reader: Reader,
    work: Path,
    *,
    train: list[Question] = TRAIN,
    seed: int = 0,
) -> dspy.Module:
    return compile(
        program,
        train,
        DEV,
        made,
        metric=AnswerMetric(reader),
        lm=scripted_lm(engine),
        work=work,
        seed=seed,
        threads=1,
    ).program


@pytest.mark.parametrize(("optimizer", "settings"), DSPYS)
def test_only_the_named_predictors_are_compiled(
    optimizer: Optimizer, settings: dict[str, Any], encoder: Encoder, reader: Reader, tmp_path: Path
) -> None:
    program, engine = TwoSteps(encoder), StepsEngine()
    program.hint.demos = [{"question": "What colour is grass?", "hint": "Look down."}]
    own = Recipe(name="own", optimizer=optimizer, settings=settings, threshold=0.1, predictors=("answer",))
    made = compiled(program, own, engine, reader, tmp_path)
    before, after = dump_program(program), dump_program(made)
    assert list(after) == list(before)
    assert after["hint"] == before["hint"]
    tried = {
        name: {(prompt.instructions, str(prompt.demos)) for prompt in engine.seen if name in prompt.output_fields}
        for name in ("hint", "answer")
    }
    assert len(tried["hint"]) == 1  # not only in the end: nothing else was ever tried on it
    assert len(tried["answer"]) > 1


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_predictor_that_is_not_there_is_refused_before_the_first_call(
    name: str, encoder: Encoder, reader: Reader, tmp_path: Path
) -> None:
    engine = StepsEngine()
    odd = RECIPES[name].with_options(predictors=["answer", "nonsense"])
    with pytest.raises(PolyqaError, match=r"names the predictor 'nonsense'; TwoSteps has hint, answer"):
        compiled(TwoSteps(encoder), odd, engine, reader, tmp_path)
    assert not engine.seen
    assert not list(tmp_path.iterdir())


def test_a_chain_hands_its_options_to_its_steps(encoder: Encoder, reader: Reader, tmp_path: Path) -> None:
    chain = RECIPES["knn-then-bootstrap"].with_options(threshold=0.1, predictors=["answer"])
    assert [(step.threshold, step.predictors) for step in chain.steps] == [(0.5, ("answer",)), (0.1, ("answer",))]
    made = dump_program(compiled(TwoSteps(encoder), chain, StepsEngine(), reader, tmp_path / "1"))
    assert len(made["answer"]["demos"]) > 0
    assert (made["hint"]["demos"], made["hint"]["knn"]) == ([], None)
    # Also where a chain was made by hand.
    by_hand = Recipe(name="own", optimizer="chain", predictors=("answer",), steps=chain.steps[1:])
    by_hand = by_hand.model_copy(update={"steps": (chain.steps[1].model_copy(update={"predictors": ()}),)})
    assert (
        dump_program(compiled(TwoSteps(encoder), by_hand, StepsEngine(), reader, tmp_path / "2"))["hint"]["demos"] == []
    )


def test_a_threshold_no_run_reaches_leaves_no_demo(encoder: Encoder, reader: Reader, tmp_path: Path) -> None:
    for name in ("bootstrap", "knn-bootstrap", "knn-then-bootstrap"):
        own = RECIPES[name].with_options(threshold=1.0)
        made = compiled(TwoSteps(encoder), own, StepsEngine(), reader, tmp_path / name)
        assert not made.answer.demos


@pytest.mark.parametrize("name", ["labels", "knn", "copro", "simba", "gepa", "gepa-then-knn"])
def test_a_threshold_that_would_do_nothing_is_refused(name: str) -> None:
    with pytest.raises(PolyqaError, match=rf"{name}.* has no use for a threshold"):
        RECIPES[name].with_options(threshold=0.9)


def test_a_threshold_outside_its_range_is_refused() -> None:
    with pytest.raises(PolyqaError, match=r"between 0 and 1, not at 1\.5"):
        RECIPES["bootstrap"].with_options(threshold=1.5)


def test_without_options_a_recipe_is_what_it_was() -> None:
    assert all(one.with_options() is one and one.with_options(predictors=[]) is one for one in RECIPES.values())


@pytest.mark.parametrize("name", ["bootstrap", "bootstrap-search"])
def test_the_seed_orders_what_takes_no_seed(name: str, encoder: Encoder, reader: Reader, tmp_path: Path) -> None:
    def demos(seed: int, run: int = 0) -> list[str]:
        own = RECIPES[name].model_copy(update={"threshold": 0.0})
        work = tmp_path / f"{seed}-{run}"
        made = compiled(TwoSteps(encoder), own, StepsEngine(), reader, work, seed=seed)
        return [demo["question"] for demo in dump_program(made)["answer"]["demos"]]

    assert demos(1) == demos(1, 1)
    if name == "bootstrap":
        assert demos(0) == [question.question for question in TRAIN[:4]]  # as without a seed
    assert len({tuple(demos(seed)) for seed in (0, 1, 2)}) > 1


def test_an_optimizer_may_follow_on_another(encoder: Encoder, reader: Reader, tmp_path: Path) -> None:
    step = Recipe(name="first", optimizer="few-shot", settings=BOOTSTRAPPED, threshold=0.1)
    chain = Recipe(name="both", optimizer="chain", steps=(step, step.model_copy(update={"name": "second"})))
    program = TwoSteps(encoder)
    program._compiled = True  # as DSPy's optimizers leave it
    made = compiled(program, chain, StepsEngine(), reader, tmp_path)
    assert made.answer.demos
    outer = dspy.Module()
    outer.inner = made  # DSPy does not save what it takes for frozen
    assert set(outer.dump_state()) == {"inner.hint", "inner.answer"}


def test_too_few_questions_for_simba_are_refused_before_the_first_call(
    encoder: Encoder, reader: Reader, tmp_path: Path
) -> None:
    engine = StepsEngine()
    with pytest.raises(PolyqaError, match=r"'simba' takes 32 training questions at once \(bsize\), and there are 12"):
        compiled(TwoSteps(encoder), RECIPES["simba"], engine, reader, tmp_path)
    assert not engine.seen


def test_frozen_predictors_are_called_and_read_as_ever_and_survive_copies(encoder: Encoder) -> None:
    program, engine = TwoSteps(encoder), StepsEngine()
    before = dump_program(program)
    assert freeze(program, ["answer"]) == ["hint"]
    copy = program.deepcopy().reset_copy()
    assert [name for name, _ in copy.named_predictors()] == ["answer"]
    assert copy.hint.demos == []
    with dspy.context(lm=scripted_lm(engine), adapter=dspy.ChatAdapter()):
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


def test_predictors_are_frozen_wherever_they_are(reader: Reader, tmp_path: Path) -> None:
    names = ["steps[0]", "steps[1]", "tools['one']", "inner.answer"]
    assert [name for name, _ in Nested().named_predictors()] == names
    for name in names:
        own = Recipe(name="own", optimizer="few-shot", settings=BOOTSTRAPPED, threshold=0.0, predictors=(name,))
        made = compiled(Nested(), own, StepsEngine(), reader, tmp_path / name)
        assert [found for found, predictor in made.named_predictors() if predictor.demos] == [name]


class Guessing(dspy.Module):
    """A predictor of DSPy's that labels can fill."""

    def __init__(self) -> None:
        super().__init__()
        self.infer = dspy.Predict(InferPseudoInterpretations)

    def forward(self, question: str) -> dspy.Prediction:
        found = self.infer(question=question, reason="It may be anything.").pseudo_interpretations
        return dspy.Prediction(answer=" ".join(found))


def test_plain_predictors_get_fixed_demos_and_are_refused_the_nearest(reader: Reader, tmp_path: Path) -> None:
    bootstrap = Recipe(name="fixed", optimizer="bootstrap", threshold=0.1, shown=2)
    made = compiled(OneStep(), bootstrap, StepsEngine(), reader, tmp_path / "fixed")
    assert len(made.answer.demos) == 2
    made = compiled(Guessing(), RECIPES["labels"], StepsEngine(), reader, tmp_path / "labels")
    assert len(made.infer.demos) == 5
    for name in ("knn", "knn-bootstrap", "knn-then-bootstrap"):
        engine = StepsEngine()
        with pytest.raises(PolyqaError, match=r"OneStep\.answer is a Predict, so it cannot pick the nearest demos"):
            compiled(OneStep(), RECIPES[name], engine, reader, tmp_path / name)
        with pytest.raises(PolyqaError, match=r"TwoSteps\.hint has no encoder"):
            compiled(TwoSteps(), RECIPES[name], engine, reader, tmp_path / name)
        assert not engine.seen
