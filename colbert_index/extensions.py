"""colbert-ai's four C++ extensions, which its own `Searcher` wants: compiled when one is first asked for.

polyqa searches without them (see `kernel`). colbert-ai compiles them whenever a process first makes a model, which
wants a compiler, ninja and half a second in every process, and hangs for ever on the lock that a killed compile leaves
behind. Here they are compiled under a lock of our own into a folder of this Python environment; a process that finds
them there imports the four shared libraries and never looks for a compiler.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.base.text import counted

from .libraries import compile_missing, compiler, library_folder, missing_in

_SOURCES = {
    "segmented_maxsim_cpp": "modeling/segmented_maxsim.cpp",
    "segmented_lookup_cpp": "search/segmented_lookup.cpp",
    "filter_pids_cpp": "search/filter_pids.cpp",
    "decompress_residuals_cpp": "search/decompress_residuals.cpp",
}
_LIBRARIES = [f"{name}.so" for name in _SOURCES]
_FLAGS = ("-O3",)


def _source(name: str) -> Path:
    spec = importlib.util.find_spec("colbert")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / _SOURCES[name]


def _folder() -> Path:
    """Return the folder of the extensions that fit this Python, this torch and these sources."""
    import torch

    digest = hashlib.sha256()
    for part in (torch.__version__, sys.implementation.cache_tag, *_FLAGS):
        digest.update(str(part).encode())
    for name in _SOURCES:
        digest.update(_source(name).read_bytes())
    return library_folder(digest.hexdigest()[:16], _LIBRARIES)


def extensions_ready() -> bool:
    """Return whether all four extensions are compiled for this environment."""
    return not missing_in(_folder(), _LIBRARIES)


def compile_extensions(report: Callable[[str], None] = lambda _: None) -> None:
    """Compile the extensions that are missing, about 20 seconds each on one core.

    Parameters
    ----------
    report
        Called with a line if there is something to compile.

    Raises
    ------
    PolyqaError
        If there is no C++ compiler, or it fails.
    """

    def make(missing: list[str], folder: Path) -> None:
        report(f"compiling {counted(len(missing), 'extension')} of colbert-ai (once, a minute or two) …")
        _compile_all([Path(name).stem for name in missing], folder)

    compile_missing(_folder(), _LIBRARIES, make)


def _compile_all(names: Sequence[str], folder: Path) -> None:
    compiler()  # raises if there is none
    path = os.environ.get("PATH", "")
    # The ninja of a virtual environment is not on PATH when its python is called by its full name.
    os.environ["PATH"] = os.pathsep.join((sysconfig.get_path("scripts"), path))
    try:
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            list(pool.map(lambda name: _compile(name, folder), names))
    except (RuntimeError, OSError, ImportError, subprocess.SubprocessError) as error:
        first = next((line for line in str(error).splitlines() if "error" in line.lower()), str(error)[:200])
        raise PolyqaError(
            f"Compiling colbert-ai's extensions failed: {first.strip()} Check that a C++ compiler and the "
            "Python headers (Debian, Ubuntu: apt-get install g++ python3-dev) are installed."
        ) from error
    finally:
        os.environ["PATH"] = path


def _compile(name: str, folder: Path) -> None:
    from torch.utils import cpp_extension

    build = folder / f"build-{name}"
    shutil.rmtree(build, ignore_errors=True)  # whoever left it was killed: we hold the lock
    build.mkdir()
    cpp_extension.load(
        name=name,
        sources=[str(_source(name))],
        extra_cflags=list(_FLAGS),
        build_directory=str(build),
        is_python_module=True,
    )
    (build / f"{name}.so").replace(folder / f"{name}.so")
    shutil.rmtree(build, ignore_errors=True)


def _import(name: str, library: Path) -> Any:
    import torch  # noqa: F401  the library links against torch's own libraries

    spec = importlib.util.spec_from_file_location(name, library)
    if spec is None or spec.loader is None:
        raise PolyqaError(f"{library} cannot be imported; delete its folder and search again.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def keep_from_compiling() -> None:
    """Have colbert-ai's model made without its extension, which only its own scoring uses."""
    from colbert.modeling.colbert import ColBERT

    ColBERT.loaded_extensions = True


def install_extensions(report: Callable[[str], None] = lambda _: None) -> None:
    """Give the compiled functions to colbert-ai's classes, so that they never compile themselves."""
    from colbert.modeling.colbert import ColBERT
    from colbert.search.index_storage import IndexScorer
    from colbert.search.strided_tensor import StridedTensor

    if "loaded_extensions" in vars(IndexScorer):
        return
    compile_extensions(report)
    folder = _folder()
    functions = {name: getattr(_import(name, folder / f"{name}.so"), name) for name in _SOURCES}
    for name, owner in zip(_SOURCES, (ColBERT, StridedTensor, IndexScorer, IndexScorer), strict=True):
        setattr(owner, name.removesuffix("_cpp"), functions[name])
        owner.loaded_extensions = True
