import os
from pathlib import Path

import pytest
from filelock import FileLock

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index.writing import replacing


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(".") and path.suffix != ".lock")


def fail_to_replace(target: Path) -> None:
    with replacing(target) as work:
        (work / "file").write_text("half")
        raise KeyError


def test_an_error_while_writing_keeps_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "x"
    with pytest.raises(KeyError):
        fail_to_replace(target)
    assert not target.exists()
    assert leftovers(tmp_path) == []
    with replacing(target) as work:
        (work / "file").write_text("old")
    with pytest.raises(KeyError):
        fail_to_replace(target)
    assert (target / "file").read_text() == "old"
    assert leftovers(tmp_path) == []


def test_a_writer_killed_between_its_two_renames_loses_nothing(tmp_path: Path) -> None:
    old = tmp_path / ".x.replaced"
    old.mkdir()
    (old / "file").write_text("old")
    with pytest.raises(KeyError):
        fail_to_replace(tmp_path / "x")
    assert (tmp_path / "x" / "file").read_text() == "old"
    assert leftovers(tmp_path) == []


def test_only_one_process_replaces_a_folder(tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / ".x.lock"),
        pytest.raises(PolyqaError, match="x is being written by another process"),
        replacing(tmp_path / "x"),
    ):
        raise AssertionError


def test_the_new_folder_is_on_the_disk_before_the_old_one_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    with replacing(tmp_path / "x") as work:
        (work / "file").write_text("new")
    places = (tmp_path / "x" / "file", tmp_path / "x", tmp_path)
    assert synced == [path.stat().st_ino for path in places]
