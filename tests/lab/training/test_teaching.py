import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lab.training.batches import Graded, Step, epoch_steps, step_loss
from lab.training.late_interaction import LateInteraction
from lab.training.mining import Query
from lab.training.teaching import Grading, grade
from polyqa.models import Encoder, Reader

QUESTION = "Who built the mill by the river?"
FACT = "The mill by the river was built by Piet Harlan in 1840."
TALK = "People often talk about the mill by the river and who may own it."
OTHER = "Herring is salted within a day."
QUERY = Query(QUESTION, (FACT,), (TALK, OTHER), ("Piet Harlan",), "questions")


class Counting(Reader):
    """Counts the pairs that it is asked to read."""

    asked = 0

    def read(self, pairs, *, keep=1):  # type: ignore[no-untyped-def]
        self.asked += len(pairs)
        return super().read(pairs, keep=keep)


def test_a_grade_is_its_formula_and_is_made_once(encoder: Encoder, tmp_path: Path) -> None:
    reader = Counting()
    cache = tmp_path / "grades.json"
    (graded,) = grade([QUERY], encoder, reader, Grading(), cache)
    near = encoder.similarity([QUESTION], [FACT, TALK, OTHER])[0]
    spans = [Reader().read([(QUESTION, text)])[0].spans[0].score for text in (FACT, TALK, OTHER)]
    expected = [20 * cos + 0.4 * span + bonus for cos, span, bonus in zip(near, spans, (2, 0, 0), strict=True)]
    assert graded.grades == pytest.approx(expected, abs=0.05)
    assert graded.grades[0] == max(graded.grades)
    assert replace(graded, grades=()) == QUERY
    assert reader.asked == 3
    assert grade([QUERY], encoder, reader, Grading(), cache) == [graded]
    assert reader.asked == 3
    grade([QUERY], encoder, reader, Grading(negatives=1), cache)
    assert reader.asked == 5, "grades of other settings are not taken"
    cache.write_text("{", encoding="utf-8")
    assert grade([QUERY], encoder, reader, Grading(), cache) == [graded]
    assert json.loads(cache.read_text())["grades"][0] == pytest.approx(list(graded.grades))


def test_a_graded_query_brings_its_own_list() -> None:
    queries = [replace(QUERY, question=f"{QUESTION} {n}", grades=(3.0, 2.0, 1.0)) for n in range(4)]
    (step,) = epoch_steps(queries, 8, random.Random(0), list_size=4)
    assert len(step.queries) == len(step.graded) == 4
    grades = dict(zip((FACT, TALK, OTHER), (3.0, 2.0, 1.0), strict=True))
    for row, own in enumerate(step.graded):
        assert (own.row, own.columns[0]) == (row, row)
        assert sorted(step.documents[column] for column in own.columns) == sorted(grades)
        assert [grades[step.documents[column]] for column in own.columns] == list(own.grades)
    (short,) = epoch_steps(queries[:2], 2, random.Random(0), list_size=2)
    assert [len(own.columns) for own in short.graded] == [2, 2]


def test_the_loss_is_lower_for_grades_that_the_model_agrees_with(encoder: Encoder) -> None:
    model = LateInteraction()
    model.module.eval()

    def loss(grades: tuple[float, ...]) -> float:
        step = Step((QUESTION,), (FACT, OTHER), (), (Graded(0, (0, 1), grades),))
        with torch.inference_mode():
            return float(step_loss(model, step, encoder, 0.0))

    assert loss((9.0, 0.0)) < loss((0.0, 0.0)) < loss((0.0, 9.0))
