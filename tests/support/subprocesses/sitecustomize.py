"""Run by each Python process that a test starts: its models, too, look into the stored results.

Python imports this file before a program if its folder is on PYTHONPATH, which `tests/conftest.py` sees to. It costs a
process that loads no model nothing: the models are changed when `polyqa.models` has been imported.
"""

import importlib.machinery
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import ModuleType


class _Models(MetaPathFinder):
    """Finds `polyqa.models`, once, and has `stored_results` change it after its own code has run."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "polyqa.models":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changed(spec.loader)
        return spec


class _Changed(Loader):
    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        if "stored_results" in sys.modules:  # a process of pytest itself, whose conftest changes the models
            return
        sys.path.append(str(Path(__file__).parents[1]))
        try:
            import stored_results
        finally:
            sys.path.pop()
        stored_results.install()


sys.meta_path.insert(0, _Models())
