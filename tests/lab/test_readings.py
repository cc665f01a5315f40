"""Whether shown readings are right."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from lab.readings import Figures, compared, held_against, main
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Interpretation
from polyqa.evaluation.records import Record
from polyqa.metrics.f1_answer import matches
from polyqa.metrics.gold import Question, Reading

GOLD = (
    Reading("When did the film Marrow come out?", ("4 May 1953", "1953")),
    Reading("When did the song Marrow come out?", ("1971",)),
)
QUESTION = Question("q", "When did Marrow come out?", GOLD)


def record(*answers: str, id: str = "q") -> Record:
    shown = tuple(Interpretation(question=f"When, {answer}?", answer=answer) for answer in answers)
    return Record(id=id, question=QUESTION.question, gold_readings=2, interpretations=shown)


@pytest.mark.parametrize(
    ("answers", "taken"),
    [
        (("the 1971", "1953"), [1, 0]),
        (("1953", "4 May 1953"), [0, None]),
        (("1972", "1971", "1971"), [None, 1, None]),
        ((), []),
    ],
)
def test_each_gold_answer_is_taken_once(answers: tuple[str, ...], taken: list[int | None]) -> None:
    assert matches(answers, [reading.short_answers for reading in GOLD]) == taken


def test_figures_are_over_all_readings() -> None:
    every = [held_against(QUESTION, record("1953", "1999", "1971")), held_against(QUESTION, record())]
    figures = Figures.of(every)
    assert (figures.shown, figures.gold, figures.right) == (3, 4, 2)
    assert (figures.precision, figures.recall, figures.f1) == pytest.approx((200 / 3, 50, 400 / 7))
    assert Figures(0, 4, 0).precision == 0
    assert [one.errors for one in every] == [1, 2]
    assert every[0].lines() == [
        QUESTION.question,
        "  + When, 1953? → 1953",
        "  - When, 1999? → 1999",
        "  + When, 1971? → 1971",
    ]
    assert every[1].lines()[1] == "  ? When did the film Marrow come out? → 4 May 1953 / 1953"


def test_the_annotator_who_agrees_best_counts() -> None:
    asked = Question("q", QUESTION.question, GOLD[:1], other_annotations=(GOLD,))
    assert held_against(asked, record("1953", "1971")).right == 2
    assert len(held_against(asked, record("1953")).gold) == 1


def test_questions_of_another_set_are_told() -> None:
    with pytest.raises(PolyqaError, match="'other' is none of these"):
        compared([QUESTION], [record(id="other")])


def test_the_command_prints_figures_and_the_worst(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "predictions.jsonl").write_text(record("1953", "1999").model_dump_json() + "\n", encoding="utf-8")
    pairs = [{"question": one.question, "short_answers": list(one.short_answers)} for one in GOLD]
    item = {"ambiguous_question": QUESTION.question, "qa_pairs": pairs, "annotations": [{"long_answer": "x"}]}
    (tmp_path / "gold.json").write_text(json.dumps({"dev": {"q": item}}), encoding="utf-8")
    app = typer.Typer()
    app.command()(main)
    result = CliRunner().invoke(app, [str(run), f"--questions={tmp_path / 'gold.json'}"])
    assert result.exit_code == 0, result.output
    assert "1 of 2 shown are right, of 2 gold: precision 50.0, recall 50.0, F1 50.0" in result.output
    assert "  ? When did the song Marrow come out? → 1971" in result.output
