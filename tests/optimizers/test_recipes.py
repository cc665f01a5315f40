from typing import Any

import dspy
import pytest
from pydantic import ValidationError

from polyqa.optimizers.recipes import RECIPES, Recipe, recipe

OWN = {"labels", "own-runs", "clauses", "chain"}


def test_optimizers_have_the_names_of_dspys_classes() -> None:
    classes = {one.optimizer for one in RECIPES.values()} - OWN
    assert all(hasattr(dspy, name) for name in classes)
    assert all(
        name.replace("-", "") in {one.lower() for one in classes} for name in ("copro", "miprov2", "simba", "gepa")
    )


@pytest.mark.parametrize(
    ("name", "runs", "searches"),
    [
        ("labeled-few-shot", 0, ()),
        ("knn", 0, ()),
        ("knn-bootstrap", 90, ()),
        ("knn-then-bootstrap", 90, ()),
        ("gepa-then-knn", 0, ("GEPA",)),
        ("clauses-then-knn", 0, ("clauses",)),
        ("bootstrap-few-shot", 0, ("BootstrapFewShot",)),
    ],
)
def test_the_runs_that_are_known_beforehand(name: str, runs: int, searches: tuple[str, ...]) -> None:
    assert (recipe(name).runs(90), recipe(name).searches) == (runs, searches)


def test_the_threshold_of_demos_is_that_of_the_step_that_makes_them() -> None:
    step = Recipe(name="own", optimizer="own-runs", threshold=0.9)
    assert Recipe(name="both", optimizer="chain", steps=(step, recipe("knn"))).demo_threshold == 0.9
    assert step.demo_threshold == 0.9


@pytest.mark.parametrize("fields", [{"optimizer": "chain"}, {"optimizer": "labels", "steps": (recipe("knn"),)}])
def test_a_chain_has_steps_and_nothing_else_has(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="a chain has steps, and no other recipe has"):
        Recipe(name="own", **fields)
