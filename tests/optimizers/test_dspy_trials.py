"""What DSPy's optimizers tried can be read afterwards, also where the compilation was stopped."""

from collections.abc import Callable
from dataclasses import replace

import dspy
import pytest
from dspy.teleprompt.mipro_optimizer_v2 import AUTO_RUN_SETTINGS
from harness import record, run_of
from small_recipes import DEMOS, small

import polyqa
from polyqa.metrics.gold import Question
from polyqa.optimizers import Compiled, Recipe
from polyqa.optimizers.dspy_trials import compilation_trials
from polyqa.optimizers.trials import Trial, lineage

Compile = Callable[..., Compiled]
SEARCH = small("search", "BootstrapFewShotWithRandomSearch", threshold=0.05, num_candidate_programs=2, **DEMOS)
COPRO = small("copro", "COPRO", breadth=2, depth=2)
MIPRO = small("mipro", "MIPROv2", threshold=0.05, num_candidates=2, num_trials=3, **DEMOS)
BATCHES = {"minibatch": True, "minibatch_size": 2, "minibatch_full_eval_steps": 2}
SIMBA = small("simba", "SIMBA", bsize=4, num_candidates=2, max_steps=2)
RULES = small("rules", "InferRules", num_candidates=2, num_rules=2)
GEPA = small("gepa", "GEPA", max_metric_calls=48, reflection_minibatch_size=2)


def check(trials: list[Trial], dev: list[Question]) -> None:
    """Check what holds of the trials of every compilation."""
    first, *_, last = trials
    assert [one.number for one in trials] == list(range(len(trials)))
    assert (first.on, first.n, first.parent, first.kept) == ("dev", len(dev), None, True)
    assert (last.on, last.n, last.label, last.kept) == ("dev", len(dev), "compiled", True)
    assert {one.number for one in lineage(trials, last.number)} >= {first.number, last.number}
    assert all(one.kept for one in lineage(trials, last.number))
    for one in trials[1:]:
        assert one.parent is not None
        assert one.parent < one.number
        assert one.label
        assert one.n > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "on", "fewest"),
    [
        (SEARCH, "dev", 4),
        (COPRO, "train", 4),
        (MIPRO, "dev", 3),
        (SIMBA, "train", 2),
        (RULES, "dev", 2),
        (GEPA, "dev", 1),
    ],
    ids=lambda value: value.name if isinstance(value, Recipe) else None,
)
def test_every_candidate_is_told(
    recipe: Recipe,
    on: str,
    fewest: int,
    rac: dspy.Module,
    wire_lm: dspy.LM,
    dev: list[Question],
    train: list[Question],
    compiled: Compile,
) -> None:
    made = compiled(rac, recipe, lm=wire_lm)
    check(made.trials, dev)
    assert all(one.note for one in made.trials[1:-1])
    rejected = [one for one in made.trials if one.note.startswith("rejected: ")]
    assert all(one.on == "train" and one.n == 2 and one.instructions and not one.kept for one in rejected)
    between = [one for one in made.trials[1:-1] if one not in rejected]
    assert len(between) >= fewest
    assert {(one.on, one.n) for one in between} == {(on, len(dev if on == "dev" else train))}
    assert all(one.score is not None and 0 <= one.score <= 1 for one in made.trials)
    told = made.trials[-1]
    now = {name: one.signature.instructions for name, one in made.program.named_predictors()}
    before = {name: one.signature.instructions for name, one in rac.named_predictors()}
    assert told.instructions == {name: text for name, text in now.items() if text != before[name]}
    assert told.demos == {name: len(one.demos) for name, one in made.program.named_predictors() if one.demos}
    best = max(one.score or 0.0 for one in between)
    if any(one.kept for one in between):  # else the program as it was is the best, and stands first
        assert max(one.score or 0.0 for one in between if one.kept) == pytest.approx(best)
    if recipe is GEPA:
        assert any(one.instructions for one in between)


def test_scores_on_minibatches_are_trials_too(
    rac: dspy.Module, wire_lm: dspy.LM, dev: list[Question], compiled: Compile
) -> None:
    recipe = MIPRO.model_copy(update={"settings": {**MIPRO.settings, **BATCHES}})
    trials = compiled(rac, recipe, lm=wire_lm).trials
    check(trials, dev)
    assert {one.n for one in trials} == {2, len(dev)}


@pytest.mark.slow
def test_they_survive_a_stop_and_a_chain_tells_of_each_step(
    rac: dspy.Module, wire_lm: dspy.LM, dev: list[Question], compiled: Compile
) -> None:
    chain = Recipe(name="chain", optimizer="chain", steps=(COPRO, Recipe(name="then", optimizer="labels", k=2), SEARCH))
    whole = compiled(rac, chain, "whole", lm=wire_lm)
    check(whole.trials, dev)
    assert {one.on for one in whole.trials[1:-1]} == {"train", "dev"}
    # The server numbers the instructions that it writes, so that only these differ.
    own = wire_lm.copy(model=f"{wire_lm.model}-stopped")
    with pytest.raises(polyqa.PolyqaError, match="goes on"):
        compiled(rac, chain, "stopped", lm=own, most=whole.spent.calls // 2)
    resumed = compiled(rac, chain, "stopped", lm=own)
    for ours, theirs in zip(resumed.trials, whole.trials, strict=True):
        assert replace(ours, instructions={}) == replace(theirs, instructions={})


def test_each_step_tells_what_it_tried_after_the_one_before(rac: dspy.Module) -> None:
    first = [
        Trial(number=0, label="as it was", on="train", n=6, score=0.2),
        Trial(number=1, label="clarify: at most two", parent=0, n=6, score=0.3, kept=True, instructions={"a": "Two."}),
        Trial(number=2, label="write: in a word", parent=1, n=2, score=0.1, note="worse"),
    ]
    second = [Trial(number=0, label="extract: 2 demos", on="dev", n=3, score=0.4, kept=True, instructions={"b": "So."})]
    run = run_of([record("q", {"disambig_f1": 0.5})], "run")
    trials = compilation_trials([first, [], second], (run, run), "disambig_f1", rac)
    assert [(one.label, one.parent) for one in trials] == [
        ("as it was", None),
        ("as it was", 0),
        ("clarify: at most two", 1),
        ("write: in a word", 2),
        ("extract: 2 demos", 2),
        ("compiled", 4),
    ]
    assert trials[4].instructions == {"a": "Two.", "b": "So."}
    assert (trials[0].score, trials[-1].score) == (0.5, 0.5)


def test_mipro_scores_on_as_many_questions_as_it_draws(
    rac: dspy.Module, wire_lm: dspy.LM, compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("n", 2), ("val_size", 2)):
        monkeypatch.setitem(AUTO_RUN_SETTINGS["light"], name, value)
    recipe = small("mipro", "MIPROv2", auto="light", max_bootstrapped_demos=1)
    first, *tried, last = compiled(rac, recipe, lm=wire_lm).trials
    assert tried
    assert {one.n for one in tried} == {2}
    assert (first.n, last.n) == (3, 3)
