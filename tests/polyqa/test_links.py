"""Folders from strangers: a link in one of them never has anything written or removed where it leads."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.base.ledger import open_ledger
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, add_passages, build_index, remove_passages
from polyqa.colbert_index.versions import _release
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.runner import run_answers
from polyqa.lm.recorded import RecordedReply, RecordedRequest, Recording
from polyqa.optimizers.calls import kept_calls
from polyqa.questions.build import free_place

_NEW = Passage(pid="new", title="New", text="One more passage.")


def _add(index: Path) -> None:
    add_passages(ColBERTIndex(index), [_NEW])


def _remove(index: Path) -> None:
    opened = ColBERTIndex(index)
    remove_passages(opened, [opened.passages[0].pid])


def _rebuild(index: Path) -> None:
    build_index([_NEW], index, overwrite=True, progress=False)


def _rebuild_in_shards(index: Path) -> None:
    build_index(["one", "two"], index, overwrite=True, shards=2, progress=False)


def _make_questions(index: Path) -> None:
    free_place(ColBERTIndex(index))


def _evaluate(folder: Path) -> None:
    run_answers(lambda question: pytest.fail("asked"), [], folder=folder, identity=RunIdentity(program="rac", lm="m"))


def _compile(folder: Path) -> None:
    polyqa.compile("rac", out=folder)


def _adapt(folder: Path) -> None:
    polyqa.adapt("no.jsonl", out=folder)


def _keep_calls(folder: Path) -> None:
    with kept_calls(folder):
        pytest.fail("begun")


def _write(folder: Path) -> None:
    write_atomically(folder / "file", "new")


def _record(folder: Path) -> None:
    request = RecordedRequest("m", {}, [{"role": "user", "content": "hello"}])
    Recording(folder / "file").add(RecordedReply(request, "yes", "stop", {}, 0.1))


def _open_ledger(folder: Path) -> None:
    with open_ledger(folder / "ledger.sqlite", {}):
        pytest.fail("opened")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("write", [_add, _remove, _rebuild, _rebuild_in_shards])
@pytest.mark.parametrize("name", ["versions", "current", "version", "shard", "questions"])
def test_an_index_is_not_changed_through_a_link(
    sharded: ColBERTIndex, tmp_path: Path, write: Callable[[Path], None], name: str
) -> None:
    victim, evil = (Path(shutil.copytree(sharded.path, tmp_path / name)) for name in ("victim", "evil"))
    (victim / "questions").mkdir()
    (version,) = (evil / "versions").iterdir()
    link = {"version": version, "shard": version / "shards" / "0001"}.get(name, evil / name)
    _replace_by_link(link, victim / link.relative_to(evil))
    before = contents(victim)
    with pytest.raises(PolyqaError, match=rf"{link} is a link to {victim}"):
        write(evil)
    assert contents(victim) == before


def test_closing_an_index_removes_no_version_of_another_one(index: ColBERTIndex, tmp_path: Path) -> None:
    victim = Path(shutil.copytree(index.path, tmp_path / "victim"))
    before = contents(victim)
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "versions").symlink_to(victim / "versions")
    (tmp_path / "evil" / "current").write_text("000009-0123456789abcdef\n")
    held = tmp_path / "evil" / "versions" / (victim / "current").read_text().strip()
    file = (held / ".readers").open()
    _release(file.detach().detach().fileno(), held)
    assert contents(victim) == before


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (_make_questions, "questions"),
        (_evaluate, ""),
        (_evaluate, "predictions.jsonl"),
        (_evaluate, ".ledger.sqlite"),
        (_compile, ""),
        (_compile, ".work"),
        (_compile, ".work/before"),
        (_adapt, ""),
        (_adapt, ".work/replies"),
        (_keep_calls, ""),
        (_keep_calls, "replies"),
        (_write, ".file.draft"),
        (_record, "file.new"),
        (_open_ledger, "ledger.sqlite"),
        (_open_ledger, "ledger.sqlite-wal"),
    ],
)
def test_no_folder_is_written_through_a_link(
    copy_index: Callable[[], Path], tmp_path: Path, write: Callable[[Path], None], name: str
) -> None:
    folder = copy_index() if write is _make_questions else tmp_path / "folder"
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine")
    _replace_by_link(folder / name, victim / "file" if Path(name).suffix else victim)
    before = contents(victim)
    with pytest.raises(PolyqaError):
        write(folder)
    assert contents(victim) == before


def _replace_by_link(path: Path, leads_to: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(leads_to)
