"""Compiles programs: recipes as data, one function that runs them, an artifact that tells what it gained."""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .compiler import Compiled
    from .compiler import compile_program as compile
    from .plan import Plan
    from .recipes import RECIPES, Recipe, recipe

__getattr__, __dir__ = lazy_names(
    __name__, {".compiler": "Compiled compile=compile_program", ".plan": "Plan", ".recipes": "RECIPES Recipe recipe"}
)
__all__ = ["RECIPES", "Compiled", "Plan", "Recipe", "compile", "recipe"]
