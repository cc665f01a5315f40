"""Compiles programs: recipes as data, one function that runs them, an artifact that tells what it gained."""

from .compiler import Compiled
from .compiler import compile_program as compile
from .plan import Plan
from .recipes import RECIPES, Recipe, recipe

__all__ = ["RECIPES", "Compiled", "Plan", "Recipe", "compile", "recipe"]
