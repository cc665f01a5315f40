import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex, delete_index

HOLD = (
    "import sys; from polyqa.colbert_index import ColBERTIndex as I; i = I(sys.argv[1]); print(1, flush=True); input()"
)


def test_nothing_is_left_of_an_index(copy_index: Callable[[], Path], tmp_path: Path) -> None:
    path = copy_index()
    (path / "questions").mkdir()
    (path / ".questions.journal.jsonl").write_text("{}\n")
    delete_index(path)
    assert [one.name for one in tmp_path.iterdir()] == [".copy.lock"]
    with pytest.raises(PolyqaError, match="no index at"):
        delete_index(path)


def test_what_a_killed_first_build_left_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "half" / "versions").mkdir(parents=True)
    (tmp_path / "half" / ".current.draft").touch()
    delete_index(tmp_path / "half")
    assert not (tmp_path / "half").exists()


def test_the_shards_of_a_build_that_was_given_up_are_deleted(tmp_path: Path) -> None:
    (tmp_path / ".half.shards" / "0000").mkdir(parents=True)
    delete_index(tmp_path / "half")
    assert [one.name for one in tmp_path.iterdir()] == [".half.lock"]


def test_an_index_that_is_open_stays(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    held = ColBERTIndex(path)
    with pytest.raises(PolyqaError, match="is open"):
        delete_index(path)
    assert held.search("beavers")
    del held
    other = subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout
    assert other.stdout.readline()
    with pytest.raises(PolyqaError, match="is open"):
        delete_index(path)
    other.communicate(b"\n")
    delete_index(path)
    assert not path.exists()


def test_an_index_that_is_written_stays(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    with FileLock(path.parent / ".copy.lock"), pytest.raises(PolyqaError, match="being written by another process"):
        delete_index(path)
    assert len(ColBERTIndex(path)) == 40


def strange_file(path: Path) -> Path:
    (path / "notes.txt").write_text("mine")
    return path


def link(path: Path) -> Path:
    place = path.with_name("link")
    place.symlink_to(path)
    return place


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (strange_file, "holds notes.txt, which is no part of an index"),
        (link, "is a link to"),
        (lambda path: path.parent, "is not a polyqa index; it is left alone"),
        (lambda path: path / "versions", "is not a polyqa index; it is left alone"),
        (lambda path: path / "current", "no index at"),
        (lambda path: next(path.glob("versions/*")), "is not a polyqa index; it is left alone"),
    ],
)
def test_what_is_no_index_alone_is_refused(
    copy_index: Callable[[], Path], place: Callable[[Path], Path], told: str
) -> None:
    path = copy_index()
    before = sorted(path.rglob("*"))
    with pytest.raises(PolyqaError, match=told):
        delete_index(place(path))
    assert set(before) <= set(path.rglob("*"))
