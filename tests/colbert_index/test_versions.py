import errno
import fcntl
import gc
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import (
    ColBERTIndex,
    IndexFaultError,
    add_passages,
    build_index,
    check_index,
    remove_passages,
    versions,
)
from polyqa.colbert_index.store import index_names
from polyqa.colbert_index.versions import CURRENT, VERSIONS, version_in_force
from polyqa.models import Encoder

MARMOT = Passage(pid="marmot", title="Marmot", text="A marmot whistles when an eagle crosses the meadow.")
ALPHORN = Passage(pid="alphorn", title="Alphorn", text="The alphorn is carved from a crooked spruce.")


def kept(index: Path) -> list[str]:
    """The numbers of the versions that are there."""
    return [name.partition("-")[0].lstrip("0") for name in versions.versions(index)]


def litter(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob(".*") if p.suffix != ".lock")


def test_a_version_that_nobody_holds_goes_with_its_last_handle(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    first, again = ColBERTIndex(path), ColBERTIndex(path)
    second = add_passages(first, [MARMOT])
    assert kept(path) == ["1", "2"]
    third = add_passages(second, [ALPHORN])
    assert kept(path) == ["1", "2", "3"]
    del second
    assert kept(path) == ["1", "3"]
    del first
    assert kept(path) == ["1", "3"]
    assert again.search("what stops the kite from spinning", k=1)[0].pid == "kite-tail"
    assert "marmot" not in {passage.pid for passage in again.passages}
    del again
    assert kept(path) == ["3"]
    assert check_index(path).version == third.version == version_in_force(path)
    assert litter(path.parent) == []


def test_a_version_does_not_change_with_the_next_ones(copy_index: Callable[[], Path], encoder: Encoder) -> None:
    """Files that a new version shares with it are links, which must be replaced and not written to."""
    path = copy_index()
    held = ColBERTIndex(path)
    before = {file: file.read_bytes() for file in held.folder.rglob("*") if file.is_file()}
    changed = remove_passages(add_passages(held, [MARMOT, ALPHORN]), ["ice-blue", "marmot"])
    build_index([ALPHORN], changed.path, encoder=encoder, overwrite=True, progress=False)
    assert {file: file.read_bytes() for file in held.folder.rglob("*") if file.is_file()} == before


_HOLD = """
import pickle, sys
index = pickle.load(sys.stdin.buffer)
index.search("kite", k=1)
print(index.version, index.search("why does a marmot whistle", k=1)[0].pid, flush=True)
sys.stdin.read()
"""


def test_a_pickle_finds_the_version_that_is_held(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    held = add_passages(ColBERTIndex(path), [MARMOT])
    pickled = pickle.dumps(held)
    newest = remove_passages(held, ["marmot"])
    with subprocess.Popen([sys.executable, "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(pickled)
        process.stdin.close()
        assert process.stdout.readline().decode().split() == [held.version, "marmot"]
    assert kept(path) == ["2", "3"]
    del held
    assert kept(path) == ["3"]
    with pytest.raises(IndexFaultError, match=f"has changed: its fingerprint is {newest.fingerprint}"):
        pickle.loads(pickled)


@pytest.mark.slow
def test_a_process_that_is_killed_lets_go(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    code = "import sys, time; from polyqa.colbert_index import ColBERTIndex; index = ColBERTIndex(sys.argv[1]);"
    command = [sys.executable, "-c", f"{code} print(1, flush=True); time.sleep(600)", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        second = add_passages(ColBERTIndex(path), [MARMOT])
        assert kept(path) == ["1", "2"]
        process.kill()
    add_passages(second, [ALPHORN])
    del second
    assert kept(path) == ["3"]


@pytest.mark.parametrize(
    ("current", "message"),
    [
        ("", "names no version"),
        ("garbage", "names no version"),
        ("../../elsewhere", "names no version"),
        ("000001-../../../../../tmp", "names no version"),
        ("\udcff", "names no version"),
        ("x" * 10_000_000, "names no version"),
        ("000007-0123456789abcdef", "is incomplete: versions/000007-0123456789abcdef missing"),
    ],
)
def test_what_names_no_version_is_refused(copy_index: Callable[[], Path], current: str, message: str) -> None:
    path = copy_index()
    (path / CURRENT).write_bytes(current.encode(errors="surrogateescape"))
    with pytest.raises(IndexFaultError, match=message):
        ColBERTIndex(path)


def test_a_version_under_the_name_of_another_is_refused(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    folder = ColBERTIndex(path).folder
    folder.rename(folder.with_name("000001-0123456789abcdef"))
    (path / CURRENT).write_text("000001-0123456789abcdef\n")
    with pytest.raises(IndexFaultError, match="is of another index"):
        ColBERTIndex(path)


def test_a_writer_killed_before_its_version_is_named_changes_nothing(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    before = ColBERTIndex(path)
    unnamed = path / VERSIONS / "000002-0123456789abcdef"
    shutil.copytree(before.folder, unnamed)
    assert ColBERTIndex(path).version == before.version
    added = add_passages(before, [MARMOT])
    assert not unnamed.exists()
    assert check_index(path).version == added.version


@pytest.mark.parametrize("beside", [(), (".current.draft",)])
def test_what_a_killed_first_build_leaves_is_no_index(
    index: ColBERTIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: tuple[str, ...]
) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    path = tmp_path / "indexes" / "tea"
    shutil.copytree(index.path / VERSIONS, path / VERSIONS)
    for name in beside:
        (path / name).write_text("000001-")
    assert index_names() == []
    with pytest.raises(IndexFaultError, match="There is no index at"):
        ColBERTIndex("tea")
    built = build_index([MARMOT], path, progress=False)
    assert index_names() == ["tea"]
    assert versions.versions(path) == [built.version]


def test_without_locks_a_version_is_kept_for_a_day(
    copy_index: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(file: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(versions, "fcntl", SimpleNamespace(**{**vars(fcntl), "flock": flock}))
    path = copy_index()
    second = add_passages(ColBERTIndex(path), [MARMOT])
    third = add_passages(second, [ALPHORN])
    assert kept(path) == ["1", "2", "3"]
    long_ago = time.time() - 25 * 3600
    os.utime(second.folder, (long_ago, long_ago))
    remove_passages(third, ["marmot"])
    assert kept(path) == ["2", "3", "4"]


def test_where_no_more_files_may_be_opened_a_version_is_not_taken_for_one_without_locks(
    copy_index: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    path = copy_index()
    (folder,) = (path / VERSIONS).iterdir()
    monkeypatch.setattr(os, "open", fails)
    with pytest.raises(OSError, match="Too many open files"):
        ColBERTIndex(path)
    with versions._alone(folder) as alone:
        assert alone is False


def test_leftovers_of_killed_writers_go_when_somebody_writes_beside_them(
    copy_index: Callable[[], Path], tmp_path: Path
) -> None:
    for name in (".copy.building-1", ".gone.building-2", ".busy.building-3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.codes.pt").write_bytes(b"half")
    with FileLock(tmp_path / ".busy.lock"):
        add_passages(ColBERTIndex(copy_index()), [MARMOT])
    assert litter(tmp_path) == [".busy.building-3"]


def test_what_a_killed_process_began_to_remove_goes_with_the_next_handle(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    index = add_passages(ColBERTIndex(path), [MARMOT])
    begun = index.folder.with_name(".gone-000001-0123456789abcdef")
    begun.mkdir()
    (begun / "0.codes.pt").write_bytes(b"half")
    with pytest.raises(PolyqaError, match="holds no passage"):
        remove_passages(index, ["weasel"])
    assert begun.exists()
    del index
    gc.collect()
    assert not begun.exists()
    assert kept(path) == ["2"]


_ADD = """
import sys
from polyqa.colbert_index import ColBERTIndex, add_passages
index = ColBERTIndex(sys.argv[1])
index.search("kite", k=1)
print("ready", flush=True)
add_passages(index, [{"id": str(n), "text": f"Marmot number {n} whistles."} for n in range(30)])
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.02, 0.08, 0.2])
def test_an_update_that_is_killed_leaves_the_old_version_or_the_new(
    copy_index: Callable[[], Path], seconds: float
) -> None:
    path = copy_index()
    before = ColBERTIndex(path)
    with subprocess.Popen([sys.executable, "-c", _ADD, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(seconds)
        process.kill()
    assert process.returncode in (0, -signal.SIGKILL)
    found = check_index(path)
    assert len(found) in (len(before), len(before) + 30)
    assert check_index(remove_passages(found, ["ice-blue"]).path).version == version_in_force(path)
    del found, before
    assert len(kept(path)) == 1
    assert litter(path.parent) == []


def test_a_version_is_on_the_disk_before_it_is_in_force(
    copy_index: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda file: synced.add(os.fstat(file).st_ino))
    folder = add_passages(ColBERTIndex(copy_index()), [MARMOT]).folder
    assert {path.stat().st_ino for path in (folder, *folder.rglob("*"))} <= synced


def test_an_update_while_somebody_writes_waits_for_nobody(copy_index: Callable[[], Path]) -> None:
    index = ColBERTIndex(copy_index())
    with (
        FileLock(index.path.parent / f".{index.name}.lock"),
        pytest.raises(PolyqaError, match="is being written by another process"),
    ):
        add_passages(index, [MARMOT])
    assert index.search("what stops the kite from spinning", k=1)[0].pid == "kite-tail"
