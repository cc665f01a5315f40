"""The compiled part of a search (`maxsim.cpp`): made once, in seconds, and called through ctypes."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyqa.base.errors import PolyqaError
from polyqa.base.files import locked, sync_all
from polyqa.base.folders import user_folder

_SOURCE = Path(__file__).with_name("maxsim.cpp")
_FLAGS = ("-std=c++17", "-O3", "-fPIC", "-shared")


class IndexArrays(ctypes.Structure):
    """``struct Index`` of the source; P passages, N token vectors, C centroids."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("passages", "centroids", "dim", "nbits")),
        *((name, ctypes.c_void_p) for name in ("centroid", "weight", "code", "residual", "first", "member")),
        ("first_member", ctypes.c_void_p),
    ]


class Asked(ctypes.Structure):
    """``struct Asked`` of the source: a query and how thoroughly to search."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("tokens", "cells", "candidates", "documents", "k", "least")),
        *((name, ctypes.c_void_p) for name in ("vector", "allowed")),
    ]


def pointer(array: NDArray[Any], kind: type[np.generic]) -> int:
    """Return where the C code finds an array, which must be of the kind that it reads, and whole."""
    if array.dtype != kind or not array.flags.c_contiguous:
        raise TypeError(f"expected a contiguous array of {kind.__name__}, got {array.dtype}")
    return array.ctypes.data


def environment_home() -> Path:
    """Return the folder of compiled code inside this Python environment, where an image's builder may have put it."""
    return Path(sys.prefix) / "share" / "polyqa" / "extensions"


def user_home() -> Path:
    """Return the folder of compiled code of a user who may not write into the environment."""
    return user_folder() / "extensions"


def library_path() -> Path:
    """Return where the library is, or is to be compiled, that fits this source and this kind of processor."""
    made_of = _SOURCE.read_bytes() + " ".join((*_FLAGS, sys.platform, platform.machine())).encode()
    name = Path(f"maxsim-{hashlib.sha256(made_of).hexdigest()[:16]}", "maxsim.so")
    shared = environment_home() / name
    return shared if shared.is_file() or os.access(sys.prefix, os.W_OK) else user_home() / name


def compile_kernel(report: Callable[[str], None] = lambda _: None) -> None:
    """Compile the search if it is not, in about three seconds; ``report`` is then called with a line.

    `PolyqaError` if there is no C++ compiler, it fails, or the place cannot be written.
    """
    library = library_path()
    if library.is_file():
        return
    with locked(library.parent / "polyqa.lock", library, patience=-1):
        if not library.is_file():
            report("compiling ColBERT's search (once, a few seconds) …")
            _compile(library)


def compiler() -> str:
    """Return the C++ compiler: ``$CXX``, or the system's. `PolyqaError` if there is none."""
    for name in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        if path := shutil.which(name):
            return path
    raise PolyqaError(
        "No C++ compiler found: ColBERT's search is compiled once. Install one "
        "(Debian, Ubuntu: apt-get install g++; macOS: xcode-select --install), then run again."
    )


def _compile(library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="build-") as work:
        draft = Path(work) / library.name
        command = [compiler(), *_FLAGS, str(_SOURCE), "-o", str(draft)]
        try:
            result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise PolyqaError(f"{command[0]} cannot be run ({error}). Set CXX to a C++ compiler.") from error
        if result.returncode or not draft.is_file():
            lines = result.stderr.splitlines()
            reason = next((line for line in lines if "error" in line.lower()), result.stderr[:200] or "it said nothing")
            raise PolyqaError(
                f"Compiling ColBERT's search failed: {reason.strip()} Check that {command[0]} is a C++17 compiler, or "
                "set CXX to one (Debian, Ubuntu: apt-get install g++)."
            )
        sync_all(Path(work))
        draft.replace(library)


@cache
def kernel() -> Any:
    """Return the compiled library, loaded; its functions leave Python's lock to other threads."""
    compile_kernel()
    library = ctypes.CDLL(str(library_path()))
    search, output = library.polyqa_search, ctypes.c_void_p
    search.restype = ctypes.c_int64
    search.argtypes = [ctypes.POINTER(IndexArrays), ctypes.POINTER(Asked), output, output]
    return library
