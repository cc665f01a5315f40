from dataclasses import replace
from pathlib import Path

import pytest

from lab.compiling import Compared, answered_by_years, measure, tables
from polyqa.evaluation.loading import load_questions
from polyqa.metrics.gold import Question, Reading


def test_the_tables_have_a_row_for_each_recipe_and_a_column_for_each_set() -> None:
    row = ["A", "dr", "20", "knn", "40.0", "41.0", "+1.0 [+0.0, +2.0]", "<0.001", "years"]
    sets = [Compared("A, dr", [row], {"clarify: years": "+1.0", "clarify: brief": "+2.0"}), Compared("B", [row], {})]
    found = tables(sets)
    assert found["recipes"].rows == [row, row]
    assert found["clauses"].markdown().splitlines()[0::2] == ["| clause | A, dr | B |", "| clarify: years | +1.0 |  |"]
    assert list(tables(sets[1:])) == ["recipes"]


def test_other_labels_are_years_of_questions_that_ask_when() -> None:
    dated = Question("1", "When did it open?", (Reading("?", ("4 May 1901", "May 4, 1901", "1901")),))
    others = [
        Question("2", "Who opened it?", (Reading("?", ("A king of 1901",)),)),
        Question("3", "When did it open?", (Reading("?", ("in May",)),)),
    ]
    (only,) = answered_by_years([dated, *others])
    assert (only.id, only.readings[0].short_answers) == ("1", ("1901",))


@pytest.mark.slow
def test_a_row_counts_the_questions_that_were_compared(tmp_path: Path) -> None:
    """Without a reference answer there is no DR."""
    train, dev = (load_questions(f"homonyms/{split}")[:3] for split in ("train", "dev"))
    test = [*dev[:2], replace(dev[2], long_answers=())]
    (row,) = measure("homonyms", "rac", [train, dev, test], ["labeled-few-shot"], tmp_path, alone=False).rows
    assert row[:4] == ["homonyms", "dr", "2", "labeled-few-shot"]
