"""Packages that import nothing until one of their names is used."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are imported on first use (PEP 562).

    The names are those that it imports for type checkers: under ``if TYPE_CHECKING:``, which is never run.

    Parameters
    ----------
    package
        Its ``__name__``.
    """
    with open(str(sys.modules[package].__file__), encoding="utf-8") as file:  # noqa: PTH123  pathlib takes 10 ms to load
        tree = ast.parse(file.read())
    places = {
        alias.asname or alias.name: ("." * node.level + (node.module or ""), alias.name)
        for block in tree.body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def getattribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, own_name = places[name]
        return getattr(import_module(module, package), own_name)

    return getattribute, lambda: sorted({*vars(sys.modules[package]), *places}), sorted(places)
