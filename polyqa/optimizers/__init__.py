"""Compiles programs: recipes as data, one function that runs them, an artifact that tells what it gained."""

from typing import TYPE_CHECKING

from polyqa.base.lazy import lazy_names

if TYPE_CHECKING:
    from .compiler import Compiled as Compiled
    from .compiler import compile_program
    from .plan import Plan as Plan
    from .recipes import RECIPES as RECIPES
    from .recipes import Recipe as Recipe
    from .recipes import recipe as recipe

    compile = compile_program

__getattr__, __dir__, __all__ = lazy_names(__name__)
