import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex, kernel
from polyqa.colbert_index.kernel import compile_kernel, environment_home, library_path, pointer


@pytest.fixture
def compiled(index: ColBERTIndex) -> Path:
    """The folder with the compiled search of this environment."""
    index.search("kite")
    return library_path().parent


@pytest.fixture
def empty_home(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the search would be compiled, in a home where it is not."""
    monkeypatch.setattr(kernel, "environment_home", lambda: tmp_path / "home")
    return tmp_path / "home" / compiled.name


def test_whoever_has_searched_has_the_library(compiled: Path) -> None:
    assert compiled.parent == environment_home()
    assert [path.name for path in compiled.iterdir() if path.suffix != ".lock"] == ["maxsim.so"]
    assert library_path().is_file()


def test_it_is_compiled_once(empty_home: Path) -> None:
    reports: list[str] = []
    for _ in range(2):
        compile_kernel(reports.append)
    assert reports == ["compiling ColBERT's search (once, a few seconds) …"]
    assert library_path().is_file()
    assert (empty_home / "maxsim.so").is_file()


def test_what_is_compiled_needs_no_compiler(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    before = {path: path.stat().st_mtime_ns for path in compiled.iterdir()}
    compile_kernel(pytest.fail)
    assert {path: path.stat().st_mtime_ns for path in compiled.iterdir()} == before


def test_without_a_compiler_the_error_tells_what_to_install(
    empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(PolyqaError, match=r"No C\+\+ compiler found: .* apt-get install g\+\+"):
        compile_kernel()
    assert not library_path().is_file()


@pytest.mark.parametrize(
    ("script", "said"),
    [("echo 'maxsim.cpp:1: error: out of paper' >&2; exit 1", "out of paper"), ("exit 1", "it said nothing")],
)
def test_a_compiler_that_fails_is_told_in_a_line(
    script: str, said: str, empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = tmp_path / "failing-c++"
    failing.write_text(f"#!/bin/sh\n{script}\n")
    failing.chmod(stat.S_IRWXU)
    monkeypatch.setenv("CXX", str(failing))
    with pytest.raises(PolyqaError, match=f"Compiling ColBERT's search failed: .*{said}.* set CXX to one") as caught:
        compile_kernel()
    assert "\n" not in str(caught.value)
    assert not list(empty_home.glob("build-*"))
    assert not library_path().is_file()


def test_a_library_of_the_environment_serves_those_who_may_not_write_there(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    monkeypatch.setattr(kernel, "environment_home", lambda: shared)
    monkeypatch.setattr(kernel, "user_home", lambda: tmp_path / "own")
    monkeypatch.setattr("os.access", lambda *_: False)
    assert library_path().parent == tmp_path / "own" / compiled.name
    shutil.copytree(compiled, shared / compiled.name)
    assert library_path().is_file()
    assert library_path().parent == shared / compiled.name
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize("wrong", [np.zeros(4, np.float64), np.zeros((4, 4), np.float32).T[::2]])
def test_the_kernel_gets_no_array_that_it_would_misread(wrong: np.ndarray) -> None:
    with pytest.raises(TypeError, match="expected a contiguous array of float32"):
        pointer(wrong, np.float32)


def test_a_place_that_cannot_be_written_is_told(empty_home: Path) -> None:
    empty_home.parent.touch()
    with pytest.raises(PolyqaError, match=r"polyqa\.lock cannot be written: "):
        compile_kernel()
