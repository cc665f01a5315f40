"""What is said of a compilation beforehand is not exceeded: runs are counted in DSPy's own optimizers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest
from harness import questions
from scripted_engine import scripted_lm
from two_steps import OneStep, StepsEngine, TwoSteps

from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import Encoder, Reader
from polyqa.optimizers import Plan, Recipe, recipe
from polyqa.optimizers.forecast import PerQuestion, forecast, runs_and_writings
from polyqa.optimizers.recipes import Optimizer
from polyqa.optimizers.teleprompters import run_teleprompter

BOOTSTRAPPED: dict[str, Any] = {"max_bootstrapped_demos": 2, "max_labeled_demos": 0}
RECIPES: list[tuple[Optimizer, dict[str, Any]]] = [
    ("few-shot", {**BOOTSTRAPPED, "max_rounds": 3}),
    ("few-shot-search", {**BOOTSTRAPPED, "max_rounds": 2, "num_candidate_programs": 3}),
    ("copro", {"breadth": 3, "depth": 3}),
    ("mipro", {"num_candidates": 4, "num_trials": 6}),
    ("mipro", {"num_candidates": 2, "num_trials": 3, "max_bootstrapped_demos": 0, "max_labeled_demos": 0}),
    ("mipro", {"num_candidates": 4, "num_trials": 7, "minibatch_size": 3, "minibatch_full_eval_steps": 2}),
    ("mipro", {"auto": "light"}),
    ("simba", {"bsize": 4, "num_candidates": 2, "max_steps": 3}),
    ("simba", {"bsize": 4, "num_candidates": 3, "max_steps": 2, "max_demos": 0}),
    ("gepa", {"max_metric_calls": 40}),
    ("gepa", {"max_full_evals": 3, "reflection_minibatch_size": 2}),
    ("gepa", {"max_metric_calls": 40, "component_selector": "all"}),
]


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(("optimizer", "settings"), RECIPES)
def test_no_optimizer_runs_or_writes_more_than_was_said(
    optimizer: Optimizer,
    settings: dict[str, Any],
    steps: int,
    encoder: Encoder,
    reader: Reader,
    tmp_path: Path,
) -> None:
    made, engine = Recipe(name="odd", optimizer=optimizer, settings=settings), StepsEngine()
    program = OneStep() if steps == 1 else TwoSteps(encoder)
    every = questions(18)
    train, dev, lm = every[:12], every[12:], scripted_lm(engine)
    # No run is good enough: bootstrapping tries all of train. One thread: the engine's draws depend on their order.
    own = made.model_copy(update={"threshold": 1.0})
    with dspy.context(lm=lm):
        run_teleprompter(program, Plan(train, dev, own, AnswerMetric(reader), lm, threads=1), tmp_path)
    runs, writings = runs_and_writings(made, len(train), len(dev), steps)
    assert program.runs.n <= runs <= 1.4 * program.runs.n  # not by far, either: a limit of calls must let it start
    assert engine.written <= writings <= 2 * engine.written + 6


def test_gepa_gets_the_budget_that_dspy_gives_it() -> None:
    for auto in ("light", "medium", "heavy"):
        own = dspy.GEPA(metric=lambda *given: 0.0, auto=auto, reflection_lm=dspy.LM("openai/none"))
        candidates = {"light": 6, "medium": 12, "heavy": 18}[auto]
        budget = own.auto_budget(num_preds=6, num_candidates=candidates, valset_size=54)
        runs, _ = runs_and_writings(Recipe(name="gepa", optimizer="gepa", settings={"auto": auto}), 90, 54, 6)
        assert budget < runs <= budget + 54 + 6


def test_only_the_named_predictors_and_all_steps_count() -> None:
    gepa = recipe("gepa")
    one, all_six = (runs_and_writings(own, 90, 54, 6) for own in (gepa.with_options(predictors=["write"]), gepa))
    assert one == runs_and_writings(gepa, 90, 54, 1) < all_six
    chain = recipe("knn-then-bootstrap")
    assert runs_and_writings(chain, 90, 54, 6) == (90, 0)
    assert runs_and_writings(recipe("gepa-then-knn").with_options(predictors=["write"]), 90, 54, 6) == one


def test_evaluations_on_other_questions_are_counted(plan: Callable[..., Plan]) -> None:
    took = PerQuestion(calls=2, input_tokens=100, output_tokens=10)
    every = plan("knn", trainset=questions(90), devset=questions(54))
    bare = forecast(every, took, predictors=2)
    assert (bare.questions, bare.calls, bare.dollars) == (108, 216, 0.0)
    more = forecast(every, took, predictors=2, further=144)
    assert (more.questions, more.calls, more.input_tokens) == (252, 504, 25_200)
    assert "252 runs of the program, about 504 calls, 25,200 + 2,520 tokens" in str(more)


def test_calls_are_those_that_a_run_takes_at_most_where_that_is_known(plan: Callable[..., Plan]) -> None:
    took = PerQuestion(calls=8, input_tokens=100, output_tokens=10, most=14)
    said = forecast(plan("knn", trainset=questions(90), devset=questions(54)), took, predictors=6)
    assert said.calls == 108 * 14
    assert "108 runs of the program, 1,512 calls, about 10,800 + 1,080 tokens" in str(said)
