import os
import shutil
from pathlib import Path

import pytest

from polyqa.colbert_index import ColBERTIndex, extensions
from polyqa.colbert_index.extensions import compile_extensions, extensions_ready
from polyqa.colbert_index.store import extension_home
from polyqa.signatures import PolyqaError

NAMES = ["decompress_residuals_cpp", "filter_pids_cpp", "segmented_lookup_cpp", "segmented_maxsim_cpp"]


@pytest.fixture
def compiled(index: ColBERTIndex) -> Path:
    """The folder with the compiled extensions of this environment."""
    index.search("kite")
    return extensions._folder()


@pytest.fixture
def empty_home(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the extensions would be compiled, in a home where there are none."""
    for name in ("extension_home", "shared_extension_home"):
        monkeypatch.setattr(extensions, name, lambda: tmp_path / "home")
    return tmp_path / "home" / compiled.name


def test_whoever_has_searched_has_the_extensions(compiled: Path) -> None:
    assert compiled.parent == extension_home()
    assert sorted(path.stem for path in compiled.glob("*.so")) == NAMES
    assert list(compiled.glob("build-*")) == []
    assert extensions_ready()


def test_what_somebody_compiled_for_the_environment_serves_those_who_may_not_write_there(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    monkeypatch.setattr(extensions, "shared_extension_home", lambda: shared)
    monkeypatch.setattr(extensions, "extension_home", lambda: own)
    shutil.copytree(compiled, shared / compiled.name)
    assert extensions._folder() == shared / compiled.name
    assert extensions_ready()
    (shared / compiled.name / "filter_pids_cpp.so").unlink()
    assert extensions._folder() == own / compiled.name
    assert not extensions_ready()


def test_what_is_compiled_is_not_compiled_again(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # no compiler, no ninja
    before = {path: path.stat().st_mtime_ns for path in compiled.iterdir()}
    reports: list[str] = []
    compile_extensions(reports.append)
    assert reports == []
    assert {path: path.stat().st_mtime_ns for path in compiled.iterdir()} == before


def test_one_missing_extension_is_enough_not_to_be_ready(compiled: Path, empty_home: Path) -> None:
    assert not extensions_ready()
    shutil.copytree(compiled, empty_home)
    assert extensions_ready()
    (empty_home / "filter_pids_cpp.so").unlink()
    assert not extensions_ready()


def test_without_a_compiler_the_error_tells_what_to_install(
    empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CXX", raising=False)
    reports: list[str] = []
    with pytest.raises(PolyqaError, match=r"No C\+\+ compiler found: .* apt-get install g\+\+"):
        compile_extensions(reports.append)
    assert [report.split(" of ")[0] for report in reports] == ["compiling 4 extensions"]
    assert not extensions_ready()
    assert os.environ["PATH"] == str(tmp_path / "bin")


@pytest.mark.timeout(60)
def test_what_a_killed_compilation_left_behind_is_cleared_away(
    compiled: Path, empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(compiled, empty_home)
    (empty_home / "filter_pids_cpp.so").unlink()
    build = empty_home / "build-filter_pids_cpp"
    build.mkdir()
    (build / "half.o").touch()
    (build / "lock").touch()  # torch would wait for ever until its owner, who is dead, removes it
    compiler = tmp_path / "failing-c++"
    compiler.write_text(
        "#!/bin/sh\n[ \"$1\" = --version ] && exec echo 'c++ 13.0.0'\necho 'error: out of paper' >&2\nexit 1\n"
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    path = os.environ["PATH"]
    with pytest.raises(PolyqaError, match=r"Compiling colbert-ai's extensions failed: .* Check that a C\+\+") as caught:
        compile_extensions()
    assert "\n" not in str(caught.value)
    assert not (build / "half.o").exists()
    assert not extensions_ready()
    assert os.environ["PATH"] == path
