"""Recipes that try so little that an optimizer is done in seconds."""

from typing import Any

from polyqa.optimizers import Recipe
from polyqa.optimizers.recipes import Optimizer

DEMOS: dict[str, Any] = {"max_bootstrapped_demos": 2, "max_labeled_demos": 0}


def small(name: str, optimizer: Optimizer, *, threshold: float = 0.5, **settings: Any) -> Recipe:
    """Return a recipe with settings of one of DSPy's optimizers."""
    return Recipe(name=name, optimizer=optimizer, settings=settings, threshold=threshold)
