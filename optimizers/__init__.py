"""Compiles programs: recipes as data, one function that runs them, an artifact that tells what it gained."""

from .compiler import Compiled, compile
from .recipe import Recipe
from .recipes import RECIPES, recipe

__all__ = ["RECIPES", "Compiled", "Recipe", "compile", "recipe"]
