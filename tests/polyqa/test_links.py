"""Folders from strangers: a link in one of them never has anything written or removed where it leads."""

import os
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
from polyqa.lm.reply_file import RecordedReply, RecordedRequest, Recording
from polyqa.optimizers.calls import kept_calls
from polyqa.questions.build import free_place

_NEW = Passage(pid="new", title="New", text="One more passage.")


Write = Callable[[Path], object]
INDEX_WRITES: dict[str, Write] = {
    "add": lambda index: add_passages(ColBERTIndex(index), [_NEW]),
    "remove": lambda index: remove_passages(opened := ColBERTIndex(index), [opened.passages[0].pid]),
    "rebuild": lambda index: build_index([_NEW], index, overwrite=True, progress=False),
    "shards": lambda index: build_index(["one", "two"], index, overwrite=True, shards=2, progress=False),
}
HELLO = RecordedRequest("m", {}, [{"role": "user", "content": "hello"}])
WRITES: dict[str, Write] = {
    "questions": lambda index: free_place(ColBERTIndex(index)),
    "evaluate": lambda run: run_answers(pytest.fail, [], folder=run, identity=RunIdentity(program="rac", lm="m")),
    "compile": lambda out: polyqa.compile("rac", out=out),
    "adapt": lambda out: polyqa.adapt("no.jsonl", out=out),
    "calls": lambda folder: kept_calls(folder).__enter__(),
    "file": lambda folder: write_atomically(folder / "file", "new"),
    "record": lambda folder: Recording(folder / "file").add(RecordedReply(HELLO, "yes", "stop", {}, 0.1)),
    "ledger": lambda folder: open_ledger(folder / "ledger.sqlite", {}).__enter__(),
}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("write", INDEX_WRITES)
@pytest.mark.parametrize("name", ["versions", "current", "version", "shard", "questions"])
def test_an_index_is_not_changed_through_a_link(sharded: ColBERTIndex, tmp_path: Path, write: str, name: str) -> None:
    victim, evil = (Path(shutil.copytree(sharded.path, tmp_path / name)) for name in ("victim", "evil"))
    (victim / "questions").mkdir()
    (version,) = (evil / "versions").iterdir()
    link = {"version": version, "shard": version / "shards" / "0001"}.get(name, evil / name)
    _replace_by_link(link, victim / link.relative_to(evil))
    before = contents(victim)
    with pytest.raises(PolyqaError, match=rf"{link} is a link to {victim}"):
        INDEX_WRITES[write](evil)
    assert contents(victim) == before


def test_closing_an_index_removes_no_version_of_another_one(index: ColBERTIndex, tmp_path: Path) -> None:
    victim = Path(shutil.copytree(index.path, tmp_path / "victim"))
    before = contents(victim)
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "versions").symlink_to(victim / "versions")
    (tmp_path / "evil" / "current").write_text("000009-0123456789abcdef\n")
    held = tmp_path / "evil" / "versions" / (victim / "current").read_text().strip()
    _release(os.open(held, os.O_RDONLY), held)
    assert contents(victim) == before


@pytest.mark.parametrize(
    ("write", "name"),
    [
        ("questions", "questions"),
        ("evaluate", ""),
        ("evaluate", "predictions.jsonl"),
        ("evaluate", ".ledger.sqlite"),
        ("compile", ""),
        ("compile", ".work"),
        ("compile", ".work/before"),
        ("adapt", ""),
        ("adapt", ".work/replies"),
        ("calls", ""),
        ("calls", "replies"),
        ("file", ".file.draft"),
        ("record", "file.new"),
        ("ledger", "ledger.sqlite"),
        ("ledger", "ledger.sqlite-wal"),
    ],
)
def test_no_folder_is_written_through_a_link(
    copy_index: Callable[[], Path], tmp_path: Path, write: str, name: str
) -> None:
    folder = copy_index() if write == "questions" else tmp_path / "folder"
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine")
    _replace_by_link(folder / name, victim / "file" if Path(name).suffix else victim)
    before = contents(victim)
    with pytest.raises(PolyqaError):
        WRITES[write](folder)
    assert contents(victim) == before


def _replace_by_link(path: Path, leads_to: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(leads_to)
