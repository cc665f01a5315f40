"""The evaluation runs below a folder, by the names of their folders; each file is read once while it stays as it is."""

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.comparison import Comparison, compare_runs
from polyqa.evaluation.runs import PREDICTIONS, Run, open_run
from polyqa.evaluation.statistics import Estimate

from .errors import Kind, WebError

T = TypeVar("T")
_KEPT = 32
_WARNINGS = threading.Lock()  # catching them is for the whole process


@dataclass(frozen=True)
class Kept:
    """A run that was read, and its corpus values."""

    run: Run
    values: dict[str, Estimate]


class RunFolder:
    """Runs by name; a client names no path.

    Parameters
    ----------
    root
        The folder whose folders are runs.

    Raises
    ------
    PolyqaError
        If there is no such folder.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise PolyqaError(f"There is no folder {root}; polyqa evaluate makes one with its first run.")
        self._root = root.resolve()
        self._kept: OrderedDict[tuple[str, ...], object] = OrderedDict()
        self._lock = threading.Lock()

    def paths(self) -> dict[str, Path]:
        """Return the folders of the runs by name; links that lead elsewhere are none."""
        return {path.name: path for path in sorted(self._root.iterdir()) if self._is_run(path)}

    def _is_run(self, path: Path) -> bool:
        file = path / PREDICTIONS
        return file.is_file() and file.resolve() == file

    def run(self, name: str) -> Kept:
        """Return a run.

        Raises
        ------
        WebError
            If there is none of that name, or it is damaged.
        """
        path = self.paths().get(name)
        if path is None:
            raise WebError(Kind.UNKNOWN, f"There is no run {name!r:.80}.")
        return self._once((name, _state(path)), lambda: self._read(path))

    def compared(self, a: str, b: str, measure: str | None) -> Comparison:
        """Return the comparison of two runs.

        Raises
        ------
        WebError
            If one is not there, they share no questions, or the measure is none of theirs.
        """
        paths = self.paths()
        left, right = self.run(a), self.run(b)
        states = (_state(paths[a]), _state(paths[b]))
        made = lambda: self._said(lambda: compare_runs(left.run, right.run, headline=measure))  # noqa: E731
        return self._once(("compare", a, b, measure or "", *states), made)

    def _read(self, path: Path) -> Kept:
        def read() -> Kept:
            with _WARNINGS, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an unfinished run, a line that is being written: both are shown
                run = open_run(path)
            return Kept(run, run.summarized())

        return self._said(read)

    def _said(self, make: Callable[[], T]) -> T:
        """Return what is made; an error of polyqa's is told without the folder's place."""
        try:
            return make()
        except PolyqaError as error:
            raise WebError(Kind.BAD_REQUEST, str(error).replace(f"{self._root}/", "")) from None

    def _once(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]  # type: ignore[return-value]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths())


def _state(path: Path) -> str:
    """Return what changes when a run goes on."""
    return "/".join(
        f"{file.name}:{stat.st_mtime_ns}:{stat.st_size}"
        for file in sorted(path.iterdir())
        if file.is_file() and (stat := file.stat())
    )
