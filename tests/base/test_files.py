"""A file is the old or the whole new one, whatever happens while it is written."""

import errno
import os
from pathlib import Path

import pytest
from filelock import FileLock

from polyqa.base.errors import PolyqaError
from polyqa.base.files import locked, sync_all, write_atomically


def test_texts_bytes_and_parts_are_written(tmp_path: Path) -> None:
    for data in ("grün", "grün".encode(), (part.encode() for part in ("gr", "ün"))):
        write_atomically(tmp_path / "file", data)
        assert (tmp_path / "file").read_text(encoding="utf-8") == "grün"
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "no draft is left"


@pytest.mark.parametrize("lasting", [True, False])
def test_what_cannot_be_written_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasting: bool
) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old", lasting=lasting)
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800", lasting=lasting)

    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(Path, "replace", full)
    told = r"file cannot be written: No space left on device\. What it held before is kept; .* run the same"
    with pytest.raises(PolyqaError, match=told):
        write_atomically(path, "new", lasting=lasting)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"], "no draft is left"


def test_a_file_system_that_cannot_sync_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(file: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", unknown)
    write_atomically(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    lock = tmp_path / "folder" / ".lock"
    with locked(lock, "runs/mine"):
        pass
    with (
        FileLock(lock),
        pytest.raises(PolyqaError, match=r"^runs/mine is being written by another process"),
        locked(lock, "runs/mine"),
    ):
        pass


def test_a_folder_is_synced_with_all_that_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for place in (tmp_path, tmp_path / "a" / "b"):
        (place / "file").touch()
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    sync_all(tmp_path)
    assert sorted(synced) == sorted(path.stat().st_ino for path in (tmp_path, *tmp_path.rglob("*")))
