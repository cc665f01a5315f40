"""Compiled code: found where somebody made it for this environment, or made once, under a lock."""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from filelock import FileLock

from polyqa.base.errors import PolyqaError

from .store import extension_home, shared_extension_home


def missing_in(folder: Path, files: Iterable[str]) -> list[str]:
    """Return which of the files are not in a folder."""
    return [name for name in files if not (folder / name).is_file()]


def library_folder(name: str, files: Iterable[str]) -> Path:
    """Return where compiled files of a name are, or are to be made.

    What somebody compiled for this environment, an image's builder say, serves those who may not write there.
    """
    shared = shared_extension_home() / name
    return shared if not missing_in(shared, files) else extension_home() / name


def compiler() -> str:
    """Return the C++ compiler: ``$CXX``, or the system's.

    Raises
    ------
    PolyqaError
        If there is none.
    """
    for name in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        if found := shutil.which(name):
            return found
    raise PolyqaError(
        "No C++ compiler found: ColBERT's search is compiled once. Install one "
        "(Debian, Ubuntu: apt-get install g++; macOS: xcode-select --install), then run again."
    )


def compile_missing(folder: Path, files: Sequence[str], make: Callable[[list[str], Path], None]) -> None:
    """Have what is missing in a folder made, by one process at a time."""
    if not missing_in(folder, files):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "polyqa.lock"):
        if missing := missing_in(folder, files):
            make(missing, folder)
