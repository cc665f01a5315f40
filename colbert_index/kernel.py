"""The compiled part of a search (`maxsim.cpp`): made once, in seconds, and called through ctypes."""

import ctypes
import hashlib
import platform
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

from .libraries import compile_missing, compiler, library_folder, missing_in

_SOURCE = Path(__file__).with_name("maxsim.cpp")
_FLAGS = ("-std=c++17", "-O3", "-fPIC", "-shared")
_LIBRARY = "maxsim.so"


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
        *((name, ctypes.c_int64) for name in ("tokens", "cells", "candidates", "documents", "k")),
        ("vector", ctypes.c_void_p),
    ]


def pointer(array: NDArray[Any], kind: type[np.generic]) -> int:
    """Return where the C code finds an array, which must be of the kind that it reads, and whole."""
    if array.dtype != kind or not array.flags.c_contiguous:
        raise TypeError(f"expected a contiguous array of {kind.__name__}, got {array.dtype}")
    return array.ctypes.data


def _folder() -> Path:
    """Return the folder of the library that fits this source and this kind of processor."""
    made_of = _SOURCE.read_bytes() + " ".join((*_FLAGS, sys.platform, platform.machine())).encode()
    return library_folder(f"maxsim-{hashlib.sha256(made_of).hexdigest()[:16]}", [_LIBRARY])


def kernel_ready() -> bool:
    """Return whether the search is compiled for this environment."""
    return not missing_in(_folder(), [_LIBRARY])


def compile_kernel(report: Callable[[str], None] = lambda _: None) -> None:
    """Compile the search if it is not, in about three seconds.

    Parameters
    ----------
    report
        Called with a line if there is something to compile.

    Raises
    ------
    PolyqaError
        If there is no C++ compiler, or it fails.
    """

    def make(_: list[str], folder: Path) -> None:
        report("compiling ColBERT's search (once, a few seconds) …")
        _compile(folder)

    compile_missing(_folder(), [_LIBRARY], make)


def _compile(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder, prefix="build-") as work:
        made = Path(work) / _LIBRARY
        command = [compiler(), *_FLAGS, str(_SOURCE), "-o", str(made)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise PolyqaError(f"{command[0]} cannot be run ({error}). Set CXX to a C++ compiler.") from error
        if done.returncode or not made.is_file():
            lines = done.stderr.splitlines()
            said = next((line for line in lines if "error" in line.lower()), done.stderr[:200] or "it said nothing")
            raise PolyqaError(
                f"Compiling ColBERT's search failed: {said.strip()} Check that {command[0]} is a C++17 compiler, or "
                "set CXX to one (Debian, Ubuntu: apt-get install g++)."
            )
        made.replace(folder / _LIBRARY)


@cache
def kernel() -> Any:
    """Return the compiled library, loaded; its functions leave Python's lock to other threads."""
    compile_kernel()
    library = ctypes.CDLL(str(_folder() / _LIBRARY))
    arrays, asked, output = ctypes.POINTER(IndexArrays), ctypes.POINTER(Asked), ctypes.c_void_p
    for function, others in (
        (library.polyqa_search, [output] * 2),
        (library.polyqa_search_part, [output] * 4),
        (library.polyqa_score, [ctypes.c_void_p, ctypes.c_int64, output]),
    ):
        function.restype = ctypes.c_int64
        function.argtypes = [arrays, asked, *others]
    return library
