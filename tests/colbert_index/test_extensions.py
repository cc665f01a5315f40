import os
import shutil
from pathlib import Path

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex, extensions
from polyqa.colbert_index.extensions import compile_extensions, extensions_ready
from polyqa.colbert_index.settings import SearchSettings
from polyqa.colbert_index.store import extension_home

NAMES = ["decompress_residuals_cpp", "filter_pids_cpp", "segmented_lookup_cpp", "segmented_maxsim_cpp"]
ALL = SearchSettings(ncells=8, candidates=10_000, ndocs=10_000)


@pytest.fixture(scope="module")
def homonyms() -> ColBERTIndex:
    return ColBERTIndex("homonyms")


@pytest.fixture(scope="module")
def compiled(homonyms: ColBERTIndex) -> Path:
    """The folder with the compiled extensions of this environment, which colbert-ai's own searcher wants."""
    assert homonyms.searcher.ranker is not None
    return extensions._folder()


@pytest.fixture
def empty_home(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the extensions would be compiled, in a home where there are none."""
    for name in ("extension_home", "shared_extension_home"):
        monkeypatch.setattr(f"polyqa.colbert_index.libraries.{name}", lambda: tmp_path / "home")
    return tmp_path / "home" / compiled.name


def test_passages_are_found_and_scored_as_with_colbert_ais_own_searcher(homonyms: ColBERTIndex, compiled: Path) -> None:
    from colbert.infra import ColBERTConfig

    ranker, config = homonyms.searcher.ranker, homonyms.searcher.config
    thorough = ColBERTConfig.from_existing(
        config, ColBERTConfig(ncells=ALL.ncells, centroid_score_threshold=-1.0, ndocs=40_000)
    )
    for question in ("When did Titanic come out?", "Who founded Alexandria?", ""):
        query = homonyms.checkpoint.queryFromText([question], bsize=1, to_cpu=True).float()
        positions, scores = ranker.rank(thorough, query)
        found = homonyms.token_vectors.search(query[0].numpy(), len(positions), ALL)
        assert dict(found) == pytest.approx(dict(zip(positions, scores, strict=True)), abs=1e-4)
        assert [score for _, score in found] == pytest.approx(scores, abs=1e-4)


def test_a_searcher_has_the_extensions(compiled: Path) -> None:
    assert compiled.parent == extension_home()
    assert sorted(path.stem for path in compiled.glob("*.so")) == NAMES
    assert list(compiled.glob("build-*")) == []
    assert extensions_ready()


def test_what_somebody_compiled_for_the_environment_serves_those_who_may_not_write_there(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    monkeypatch.setattr("polyqa.colbert_index.libraries.shared_extension_home", lambda: shared)
    monkeypatch.setattr("polyqa.colbert_index.libraries.extension_home", lambda: own)
    shutil.copytree(compiled, shared / compiled.name)
    assert extensions._folder() == shared / compiled.name
    assert extensions_ready()
    (shared / compiled.name / "filter_pids_cpp.so").unlink()
    assert extensions._folder() == own / compiled.name
    assert not extensions_ready()


def test_one_missing_extension_is_enough_not_to_be_ready(compiled: Path, empty_home: Path) -> None:
    assert not extensions_ready()
    shutil.copytree(compiled, empty_home)
    assert extensions_ready()
    (empty_home / "filter_pids_cpp.so").unlink()
    assert not extensions_ready()


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
    reports: list[str] = []
    with pytest.raises(PolyqaError, match=r"Compiling colbert-ai's extensions failed: .* Check that a C\+\+") as caught:
        compile_extensions(reports.append)
    assert [report.split(" of ")[0] for report in reports] == ["compiling 1 extension"]
    assert "\n" not in str(caught.value)
    assert not (build / "half.o").exists()
    assert not extensions_ready()
    assert os.environ["PATH"] == path
