import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lab.training.reader_data import app
from lab.training.squad import read_paragraphs, read_squad, subject

TEXT = "The kettle was bought in 1987 by Orla Venn."


def asked(question: str, answer: str = "", **more: Any) -> dict[str, Any]:
    answers = [{"text": answer, "answer_start": TEXT.index(answer)}] if answer else []
    return {"question": question, "answers": answers, "is_impossible": not answer, **more}


PARAGRAPH = {
    "title": "Kettle",
    "context": TEXT,
    "qas": [
        asked("When was it bought?", "1987", answer_conf=0.9),
        asked("Who bought it?", "Orla Venn", answer_conf=0.5),
        asked("Who sold it?", question_bt="Who has sold it?"),
    ],
}
SINGLE = {"title": "Kettle", "context": TEXT, **asked("Who was it bought by?", "Orla Venn")}


def written(path: Path, *records: Any) -> Path:
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["paragraphs.jsonl.gz", "paragraphs.jsonl"])
def test_paragraphs_and_single_questions_are_read(tmp_path: Path, name: str) -> None:
    found = read_paragraphs(written(tmp_path / name, PARAGRAPH, SINGLE))
    assert [(one.question, one.texts) for one in found] == [
        ("When was it bought?", ("1987",)),
        ("Who bought it?", ("Orla Venn",)),
        ("Who sold it?", ()),
        ("Who was it bought by?", ("Orla Venn",)),
    ]
    assert len({one.id for one in found}) == 4


def test_unsure_answers_are_left_out_and_translations_taken(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", PARAGRAPH)
    found = read_paragraphs(path, least_confidence=0.8, translated=1.0)
    assert [one.question for one in found] == ["When was it bought?", "Who has sold it?"]


def test_articles_are_held_out_of_one_file_and_known_in_another(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", PARAGRAPH, {**PARAGRAPH, "title": "Other_thing"})

    def call(*arguments: object) -> str:
        result = CliRunner().invoke(app, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        return result.output

    told = call("paragraphs", "--paragraphs", one, "--answerable", 1, "--out", tmp_path / "all.json")
    assert "1 questions with an answer, 2 without" in told
    call("held-out", "--questions", tmp_path / "all.json", "--share", 0.5, "--out", tmp_path / "held.json")
    (title,) = {subject(example) for example in read_squad(tmp_path / "held.json")}
    assert title in ("kettle", "other thing")
