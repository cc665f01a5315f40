import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lab.training.reader_data import app, best_place, without_held_out
from lab.training.squad import Example, read_paragraphs, read_squad, subject
from lab.training.unanswerable import twist
from polyqa.base.errors import PolyqaError
from polyqa.metrics.gold import Question, Reading

KIOSK = (
    "The kettle in the station kiosk is painted green. It was bought in 1987 at a flea market in Tarnville by "
    "Mrs Orla Venn, who ran the kiosk for eleven years. The kiosk sold tea, rolls and newspapers to the stokers."
)


def test_an_answer_that_does_not_stand_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "off.json"
    qas = [{"id": "q1", "question": "Which?", "answers": [{"text": "green", "answer_start": 3}]}]
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": KIOSK, "qas": qas}]}]}), encoding="utf-8")
    with pytest.raises(PolyqaError, match=r"'q1'.*green.*character 3"):
        read_squad(path)


SOLD = "It was sold to Orla Venn in 1911, and in 1924 to the Tarnville museum."


@pytest.mark.parametrize(
    ("question", "outcomes"),
    [
        ("Who won the first race?", {"Who won the last race?", "Who lost the first race?"}),
        ("When did Piet Holm buy it?", {"When did Orla Venn buy it?"}),
        ("Who bought it in 1911?", {"Who bought it in 1924?"}),
        ("What was sold?", {"What was not sold?", "What was never sold?"}),
        ("Which boats sank?", {None}),
    ],
)
def test_twisted_questions(question: str, outcomes: set[str | None]) -> None:
    found = {twist(question, SOLD, random.Random(seed)) for seed in range(60)}
    assert found == outcomes


def made_by(folder: Path, *words: object) -> tuple[list[Example], str]:
    """Return the file that a command makes, and what it prints."""
    result = CliRunner().invoke(app, [*map(str, words), f"--out={folder / 'made.json'}"])
    assert result.exit_code == 0, result.output
    return read_squad(folder / "made.json"), result.output


def test_where_an_answer_stands() -> None:
    text = "In 1987 it opened. It was sold, the records say, in 1987 to Anna. 19870 visitors came."
    assert best_place("When was it sold to Anna?", ("1987",), text) == (text.rindex("in 1987") + 3, "1987")
    assert best_place("When was it sold?", ("1990",), text) is None
    assert best_place("When was it sold?", (" ", "sold, THE"), text) == (text.index("sold"), "sold, the")
    assert best_place("Who came?", ("987",), text) is None


ASQA_LINE = {
    "id": 7,
    "ambiguous_question": "When did the boat sink?",
    "qa_pairs": [
        {"question": "When did the first boat sink?", "short_answers": ["1911", "in 1911"]},
        {"question": "When did the second boat sink?", "short_answers": ["1924"]},
    ],
    "long_answer": "The first boat sank in 1911, the second in May 1924.",
}


def test_what_is_measured_on_is_held_out_by_id_and_by_words() -> None:
    def asked(name: str, question: str, reading: str) -> Question:
        return Question(name, question, (Reading(reading, ("1911",)),))

    boats = asked("7", "When did the boat sink?", "When did the first boat sink?")
    held = [
        asked("7", "Who?", "Who, today?"),
        asked("8", "when did the Boat sink", "Which?"),
        asked("9", "Where?", "When did the first boat sink"),
    ]
    for one in held:
        assert without_held_out([boats], [one]) == []
    assert without_held_out([boats], [asked("1", "Who sang it?", "Who sang it first?")]) == [boats]


def test_readings_over_the_long_answer(tmp_path: Path) -> None:
    (tmp_path / "asqa.jsonl").write_text(json.dumps(ASQA_LINE) + "\n", encoding="utf-8")
    (tmp_path / "held.jsonl").write_text('{"question": "Who sang it?", "answers": ["Ida"]}', encoding="utf-8")
    files = ("--questions", tmp_path / "asqa.jsonl", "--held-out", tmp_path / "held.jsonl")
    examples, told = made_by(tmp_path, "long-answers", *files)
    assert [(e.question, e.texts) for e in examples] == [
        ("When did the first boat sink?", ("1911",)),
        ("When did the second boat sink?", ("1924",)),
    ]
    assert "2 questions over long answers" in told


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
    _, told = made_by(tmp_path, "paragraphs", "--paragraphs", one, "--answerable", 1)
    assert "1 questions with an answer, 2 without" in told
    held, _ = made_by(tmp_path, "held-out", "--questions", tmp_path / "made.json", "--share", 0.5)
    (title,) = {subject(example) for example in held}
    assert title in ("kettle", "other thing")
