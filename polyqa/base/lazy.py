"""Packages that import nothing until one of their names is used."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are imported on first use (PEP 562).

    The names are those that the package imports for type checkers, in its ``if TYPE_CHECKING:``, so they are written
    once. ``new = old`` there gives a name of a module another name.
    """
    source: str = sys.modules[package].__spec__.loader.get_source(package)  # type: ignore[union-attr]
    for_type_checkers = next(node.body for node in ast.parse(source).body if isinstance(node, ast.If))
    places: dict[str, tuple[str, str]] = {}
    for node in for_type_checkers:
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            places |= {alias.name: (module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Assign):
            places[ast.unparse(node.targets[0])] = places.pop(ast.unparse(node.value))

    def getattribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, own_name = places[name]
        return getattr(import_module(module, package), own_name)

    return getattribute, lambda: sorted({*vars(sys.modules[package]), *places}), sorted(places)
