"""Packages that import nothing until one of their names is used."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are imported on first use (PEP 562).

    Parameters
    ----------
    package
        Its ``__name__``.
    homes
        Modules to the names that they hold, separated by spaces; a leading dot is the package itself. ``new=old`` gives
        a name of the module another name.
    """
    places = {
        name.partition("=")[0]: (module, name.rpartition("=")[2])
        for module, names in homes.items()
        for name in names.split()
    }

    def getattribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, own_name = places[name]
        return getattr(import_module(module, package), own_name)

    return getattribute, lambda: sorted({*vars(sys.modules[package]), *places}), sorted(places)
