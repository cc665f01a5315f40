import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab.training.questions import Asked, drawn, read_questions
from lab.training.reader_data import app, best_place, over_sentences
from lab.training.squad import Example, read_squad, write_squad
from lab.training.unanswerable import twist
from polyqa.base.errors import PolyqaError

KIOSK = (
    "The kettle in the station kiosk is painted green. It was bought in 1987 at a flea market in Tarnville by "
    "Mrs Orla Venn, who ran the kiosk for eleven years. The kiosk sold tea, rolls and newspapers to the stokers."
)
LATER = "The station kiosk was closed in winter. The stationmaster Piet Holm kept bees behind the kettle shed."


def example(question: str, answer: str = "", context: str = KIOSK, article: str = "kiosk") -> Example:
    answers = ((context.index(answer), answer),) if answer else ()
    return Example(f"{question} {context[:9]}", question, context, answers, article, article.title())


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
        ("When did Piet Holm buy it?", {"When did Orla Venn buy it?", "When did Anna Moor buy it?"}),
        ("Who bought it in 1911?", {"Who bought it in 1924?"}),
        ("What was sold?", {"What was not sold?", "What was never sold?"}),
        ("Which boats sank?", {None}),
    ],
)
def test_twisted_questions(question: str, outcomes: set[str | None]) -> None:
    found = {twist(question, SOLD, random.Random(seed), ["Anna Moor", "Ida"]) for seed in range(60)}
    assert found == outcomes


TWISTABLE = [
    example("Who bought the green kettle in Tarnville in 1987?", "Mrs Orla Venn"),
    example("Who bought the green kettle in Tarnville in 1988?", "Mrs Orla Venn"),
    example("What colour?", "green"),
    example("Who was the first owner of the kettle?"),
    example("Who was Piet Holm?", "The stationmaster", LATER),
]


def made_by(command: str, folder: Path, **options: str) -> tuple[list[Example], str]:
    """Return the file that a command makes, whose files lie in a folder, and what it prints."""
    files = [f"--{name.replace('_', '-')}={folder / value}" for name, value in options.items() if "." in value]
    others = [f"--{name}={value}" for name, value in options.items() if "." not in value]
    result = CliRunner().invoke(app, [command, *files, *others, f"--out={folder / 'made.json'}"])
    assert result.exit_code == 0, result.output
    return read_squad(folder / "made.json"), result.output


def test_a_file_of_unanswerable_questions(tmp_path: Path) -> None:
    write_squad(TWISTABLE, tmp_path / "own.json")
    made, told = made_by("unanswerable", tmp_path, questions="own.json", share="1", copies="2")
    people = [one for one in made if "-again-" in one.id]
    assert {one.question for one in people} == {"Who was the first owner of the kettle?"}
    assert len({one.id for one in people}) == 2
    assert len(made) > 2
    assert not any(one.answers for one in made)
    assert f"{len(made) - 2} changed questions and 2 copies" in told


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
AMBIGNQ = [
    {
        "id": "a1",
        "question": "Who sang it?",
        "annotations": [
            {"type": "multipleQAs", "qaPairs": [{"question": "Who sang it first?", "answer": ["Ida"]}]},
            {"type": "singleAnswer", "answer": ["Ida", "Ida Moon"]},
        ],
    }
]


def test_questions_of_both_formats(tmp_path: Path) -> None:
    (tmp_path / "asqa.jsonl").write_text(json.dumps(ASQA_LINE) + "\n\n", encoding="utf-8")
    (tmp_path / "asqa.json").write_text(json.dumps({"dev": {"7": ASQA_LINE}}), encoding="utf-8")
    (tmp_path / "ambignq.json").write_text(json.dumps(AMBIGNQ), encoding="utf-8")
    long = ASQA_LINE["long_answer"]
    asqa = [
        Asked("7", "When did the boat sink?", (("1911", "in 1911"), ("1924",)), long),
        Asked("7", "When did the first boat sink?", (("1911", "in 1911"),), long),
        Asked("7", "When did the second boat sink?", (("1924",),), long),
    ]
    assert read_questions([tmp_path / "asqa.jsonl"]) == read_questions([tmp_path / "asqa.json"]) == asqa
    ambignq = [
        Asked("a1", "Who sang it?", (("Ida",), ("Ida", "Ida Moon"))),
        Asked("a1", "Who sang it first?", (("Ida",),)),
    ]
    assert read_questions([tmp_path / "asqa.json", tmp_path / "ambignq.json"]) == [*asqa, *ambignq]
    assert read_questions([tmp_path / "asqa.json", tmp_path / "ambignq.json"], [tmp_path / "asqa.jsonl"]) == ambignq
    (tmp_path / "other.json").write_text('[{"what": 1}]', encoding="utf-8")
    with pytest.raises(PolyqaError, match=r"other\.json"):
        read_questions([tmp_path / "other.json"])


def test_readings_over_the_long_answer(tmp_path: Path) -> None:
    (tmp_path / "asqa.jsonl").write_text(json.dumps(ASQA_LINE) + "\n", encoding="utf-8")
    (tmp_path / "ambignq.json").write_text(json.dumps(AMBIGNQ), encoding="utf-8")
    examples, told = made_by("long-answers", tmp_path, questions="asqa.jsonl", held_out="ambignq.json")
    assert [(e.question, e.texts) for e in examples] == [
        ("When did the first boat sink?", ("1911",)),
        ("When did the second boat sink?", ("1924",)),
    ]
    assert "2 questions over long answers" in told


def test_sentence_pairs_stand_among_others(tmp_path: Path) -> None:
    pairs = [
        ("When was the kettle bought?", "The kettle was bought in 1987."),
        ("Who mended the kettle?", "The kettle was mended by Orla."),
        ("Where is the boat?", "The boat is in the shed."),
    ]
    examples = over_sentences(pairs, [(25, "1987"), None, (15, "the shed")], seed=0)
    assert [e.texts for e in examples] == [("1987",), ("the shed",)]
    assert pairs[1][1] in examples[0].context
    write_squad(examples, tmp_path / "pairs.json")
    assert len(read_squad(tmp_path / "pairs.json")) == 2
    lines = [json.dumps({"question": question, "passage": text}) + "\n" for question, text in pairs]
    (tmp_path / "pairs.jsonl").write_text("".join(lines), encoding="utf-8")
    marked, told = made_by("pairs", tmp_path, pairs="pairs.jsonl", share="1")
    assert {text for one in marked for text in one.texts} == {"1987", "Orla", "shed"}
    assert "3 of 3 pairs" in told
    assert drawn(examples, 1, seed=3) == drawn(examples, 1, seed=3)
    assert drawn(examples, None, seed=0) == examples
