"""One writer at a time, who fills a folder beside its place and moves it there when it is whole."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.files import locked, sync_all, sync_folder

_BUILDING = ".building-"


@contextmanager
def one_writer(target: Path, *, patience: float = 1.0) -> Iterator[Path]:
    """Yield an empty folder beside ``target``, to fill and to move; no other process writes to ``target`` meanwhile.

    What killed processes left beside it is removed, be it of this target or of another. `PolyqaError` if another
    process is writing there; for ``patience`` see `locked`.
    """
    with locked(_lock(target), target, patience=patience):
        _remove_leftovers(target)
        work = target.parent / f".{target.name}{_BUILDING}{os.getpid()}"
        work.mkdir()
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _lock(target: Path) -> Path:
    return target.parent / f".{target.name}.lock"


def _remove_leftovers(target: Path) -> None:
    """Remove the folders that killed writers left: those of ``target``, and of others to which nobody writes now."""
    for leftover in target.parent.glob(f".*{_BUILDING}*"):
        name = leftover.name[1:].rpartition(_BUILDING)[0]
        if name == target.name:
            shutil.rmtree(leftover, ignore_errors=True)
        elif name:
            with suppress(PolyqaError), locked(_lock(target.with_name(name)), name, patience=0):
                shutil.rmtree(leftover, ignore_errors=True)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``target`` when the block ends without error.

    Who opens the target between the two renames finds nothing; an index, which is read while it is written, has
    `versions` instead.
    """
    target = target.resolve()  # a link to a folder: the folder is replaced
    with one_writer(target) as work:
        old = target.parent / f".{target.name}.replaced"
        if old.exists() and not target.exists():
            old.rename(target)  # killed between the two renames below
        shutil.rmtree(old, ignore_errors=True)
        yield work
        sync_all(work)
        if target.exists():
            target.rename(old)
        work.rename(target)
        sync_folder(target.parent)  # else the old one might go, and no new one come
        shutil.rmtree(old, ignore_errors=True)
