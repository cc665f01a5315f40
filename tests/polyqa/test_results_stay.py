"""The set of stored results only grows: other results for the same place are refused, or merged on request."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness import ledger_rows, question, questions

import polyqa
from polyqa.artifacts.store import compiled_home
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.batch import Batch, answer_many
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
    """Every result below a folder: lines, rows of ledgers, and what artifacts and databases hold."""
    results: set[str] = set()
    for path in folder.rglob("*"):
        if path.suffix == ".jsonl":
            results |= {json.dumps({**json.loads(line), "id": ""}) for line in path.read_text().splitlines()}
        elif path.suffix == ".sqlite":
            results |= {json.dumps(row) for row in ledger_rows(path).values()}
        elif path.name in ("program.json", "card.json", "questions.json", "dropped.json"):
            results.add(path.read_text())
    return results


def _compile(folder: Path, n: int) -> None:
    sets = polyqa.Sets(train=questions(n), dev=[question("other")])
    polyqa.compile("rac", sets=sets, out=folder / "made", budget=polyqa.Budget(confirm=lambda what: False))


def test_an_artifact_is_not_replaced(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    for path in (compiled_home() / "rac-homonyms-local").iterdir():
        if path.is_file():
            (made / path.name).write_bytes(path.read_bytes())
    before = stored(tmp_path)
    assert before
    with pytest.raises(
        PolyqaError, match=r"made holds a compiled program already \(rac, by the recipe .*, on homonyms"
    ):
        _compile(tmp_path, 4)
    with pytest.raises(PolyqaError, match=r"made holds a compiled program already"):
        polyqa.adapt("corpus.jsonl", out=made)
    assert stored(tmp_path) == before


def test_answers_are_kept_or_refused(bridges: ColBERTIndex, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    asked = [f"When did the {name} bridge open?" for name in _TEXTS]

    def answer(given: Any, **batch: Any) -> None:
        answer_many(given, folder / "a.jsonl", program="rac", index=bridges, batch=Batch(**batch))

    answer(asked)
    before = stored(folder)
    for other in (asked[:1], [*asked[1:], "Who fell?"], [f"{one}!" for one in asked]):
        with pytest.raises(PolyqaError, match="--merge"):
            answer(other)
        assert stored(folder) == before
        answer(other, merge=True)
        assert stored(folder) >= before
        before = stored(folder)


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
