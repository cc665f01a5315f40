"""The set of stored results only grows: other results for the same place are refused."""

import json
import shutil
from pathlib import Path

import pytest
from harness import ledger_rows, question, questions

import polyqa
from polyqa.artifacts.store import compiled_home
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.language_models import Models, ready_reader
from polyqa.models import Encoder
from polyqa.question_building import build_questions
from polyqa.questions import generate_questions

_TEXTS = {
    "tower": "Tower Bridge was opened by the Prince of Wales on 30 June 1894.",
    "tay": "The Tay Bridge was designed by Thomas Bouch. It fell on 28 December 1879.",
    "forth": "The Forth Bridge was opened on 4 March 1890. It was designed by John Fowler.",
}


@pytest.fixture
def bridges(encoder: Encoder, tmp_path: Path) -> ColBERTIndex:
    passages = [Passage(pid=pid, title=f"{pid.title()} Bridge", text=text) for pid, text in _TEXTS.items()]
    return build_index(passages, tmp_path / "bridges", encoder=encoder, progress=False)


def stored(folder: Path) -> set[str]:
    """Every result below a folder: rows of ledgers, and what artifacts and databases hold."""
    results = {json.dumps(row) for path in folder.rglob("*.sqlite") for row in ledger_rows(path).values()}
    names = ("program.json", "card.json", "questions.json")
    return results | {path.read_text() for path in folder.rglob("*.json") if path.name in names}


def test_an_artifact_is_not_replaced(tmp_path: Path) -> None:
    made = Path(shutil.copytree(compiled_home() / "rac-homonyms-local", tmp_path / "made"))
    before = stored(tmp_path)
    assert before
    sets = polyqa.Sets(train=questions(4), dev=[question("other")])
    with pytest.raises(PolyqaError, match=r"made holds a compiled program already \(rac, by .*, on homonyms"):
        polyqa.compile("rac", sets=sets, out=made)
    with pytest.raises(PolyqaError, match=r"made holds a compiled program already"):
        polyqa.adapt("corpus.jsonl", out=made)
    assert stored(tmp_path) == before


def test_questions_of_an_index_are_not_replaced_by_fewer(bridges: ColBERTIndex) -> None:
    pytest.importorskip("lancedb")
    journal = bridges.path / ".questions.journal.sqlite"
    kept = {one.question for one in build_questions(bridges, pids=["tay"]).questions()}
    assert not journal.exists()
    with pytest.raises(PolyqaError, match="exists; remove it"):
        build_questions(bridges, pids=["forth"])
    whole = build_questions(bridges, overwrite=True)
    assert {one.question for one in whole.questions()} >= kept
    journal.touch()  # as of a passage whose language model failed
    with pytest.raises(
        PolyqaError, match=r"holds questions of 2 passages of bridges that are not asked for now, such as"
    ):
        build_questions(bridges, pids=["forth"])


def test_what_a_stopped_build_has_read_is_kept_by_one_of_fewer_passages(bridges: ColBERTIndex) -> None:
    pytest.importorskip("lancedb")
    journal = bridges.path / ".questions.journal.sqlite"
    stopped = []

    def stop() -> None:
        stopped.append(1)
        if len(stopped) == 2:
            raise KeyboardInterrupt

    lm = Models().answering()
    with pytest.raises(KeyboardInterrupt):
        generate_questions(bridges.passages, lm=lm, reader=ready_reader(), journal=journal, threads=1, step=stop)
    before = stored(bridges.path)
    assert before
    build_questions(bridges, pids=["forth"])
    assert stored(bridges.path) >= before
