import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index, check_index
from polyqa.colbert_index.checkpoint import checkpoint_hash, embedded_checkpoint
from polyqa.colbert_index.store import checkpoint_home, index_home, index_names, index_path


@pytest.mark.parametrize("name", ["a", "homonyms", "My-index_2.1", "9", "x" * 100])
def test_a_name_lies_in_the_home(name: str) -> None:
    assert index_path(name) == index_home() / name


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "-x", "_x", "a b", "a:b", "a\\b", "größe", "a\n", "~", "x" * 101]
)
def test_a_name_that_is_no_folder_name_is_refused(name: str) -> None:
    with pytest.raises(PolyqaError, match="is no index name"):
        index_path(name)


@pytest.mark.parametrize("path", ["./here", "sub/folder", "/abs/olute", "../up", Path("bare name")])
def test_a_text_with_a_slash_and_a_path_object_are_paths(path: str | Path) -> None:
    assert index_path(path) == Path(path)


def test_the_tilde_stands_for_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert index_path("~/somewhere") == tmp_path / "somewhere"
    assert index_path(Path("~/somewhere")) == tmp_path / "somewhere"
    monkeypatch.setenv("POLYQA_HOME", "~/polyqa")
    assert index_home() == tmp_path / "polyqa" / "indexes"


def test_polyqa_home_moves_the_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = index_home(), checkpoint_home()
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    assert index_home() == tmp_path / "indexes"
    assert checkpoint_home() == tmp_path / "checkpoints"
    assert index_path("tea") == tmp_path / "indexes" / "tea"
    monkeypatch.setenv("POLYQA_HOME", "")
    assert (index_home(), checkpoint_home()) == before
    monkeypatch.delenv("POLYQA_HOME")
    assert (index_home(), checkpoint_home()) == before


def test_names_are_those_of_whole_indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    assert index_names() == []
    for folder, file in (("tea", "current"), ("kite", "current"), (".tea", "current"), ("note", "note.txt")):
        (tmp_path / "indexes" / folder).mkdir(parents=True)
        (tmp_path / "indexes" / folder / file).touch()
    (tmp_path / "indexes" / "file").touch()
    assert index_names() == ["kite", "tea"]


_HASH = "from polyqa.colbert_index.checkpoint import *; print(checkpoint_hash(str(embedded_checkpoint())))"


@pytest.mark.slow
def test_the_checkpoint_is_the_same_with_any_number_of_threads(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _HASH]
    settings = ({"OMP_NUM_THREADS": n, "POLYQA_HOME": str(tmp_path / n)} for n in ("1", "2"))
    hashes = {subprocess.check_output(command, env={**os.environ, **own}, text=True) for own in settings}
    assert len(hashes) == 1


def test_an_empty_home_is_filled_by_the_first_build(
    passages: list[Passage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path / "home"))
    built = build_index(passages[:12], "tea", progress=False)
    assert built.manifest.checkpoint_hash == checkpoint_hash(str(embedded_checkpoint()))
    assert built.path == tmp_path / "home" / "indexes" / "tea"
    assert index_names() == ["tea"]
    assert check_index("tea").fingerprint == ColBERTIndex("tea").fingerprint == built.fingerprint
    made = sorted(path.name for path in checkpoint_home().iterdir() if not path.name.endswith(".lock"))
    assert made == [embedded_checkpoint().name]
    assert re.fullmatch(r"polyqa-minilm-colbert-[0-9a-f]{8}", made[0])
    for file in embedded_checkpoint().iterdir():
        if file.suffix != ".safetensors":
            assert os.fsencode(tmp_path) not in file.read_bytes()
    (embedded_checkpoint() / "model.safetensors").unlink()  # 90 MB that pytest would keep
