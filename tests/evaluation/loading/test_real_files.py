"""Counts of the public files, taken from the files themselves without the loaders."""

from collections import Counter

import pytest
from data_files import public_data

from polyqa.evaluation.loading import load_questions
from polyqa.metrics.gold import Question

pytestmark = pytest.mark.data


def loaded(name: str, format: str) -> list[Question]:
    file = public_data(name)
    questions = load_questions(file)
    assert questions == load_questions(str(file), format=format)
    return questions


@pytest.mark.parametrize(
    ("name", "format", "questions", "readings"),
    [
        ("asqa/asqa_dev300.json", "asqa", 300, 1030),
        ("asqa/asqa_train3809.jsonl", "asqa", 3809, 10654),
        ("ambignq/dev_light_public.json", "ambignq", 1354, 2749),
        ("ambignq/train_light.json", "ambignq", 10036, 19246),
        ("situatedqa/geo.dev.jsonl", "situatedqa", 351, 1386),
        ("situatedqa/geo.train.jsonl", "situatedqa", 3548, 3548),
        ("situatedqa/temp.dev.jsonl", "situatedqa", 1178, 3411),
        ("situatedqa/temp.train.jsonl", "situatedqa", 2667, 6009),
        ("nq_open/dev.jsonl", "nq-open", 3610, 3610),
    ],
)
def test_counts(name: str, format: str, questions: int, readings: int) -> None:
    found = loaded(name, format)
    assert (len(found), sum(len(question.readings) for question in found)) == (questions, readings)


def test_asqa_dev_has_two_long_answers_each_and_train_one() -> None:
    assert {len(question.long_answers) for question in loaded("asqa/asqa_dev300.json", "asqa")} == {2}
    assert {len(question.long_answers) for question in loaded("asqa/asqa_train3809.jsonl", "asqa")} == {1}


def test_ambignq_dev_keeps_every_annotation() -> None:
    found = loaded("ambignq/dev_light_public.json", "ambignq")
    assert Counter(len(question.annotations) for question in found) == {1: 392, 2: 870, 3: 92}
    single = [q for q in found if q.readings[0].question == q.question and len(q.readings) == 1]
    assert len(single) == 830
    assert all(len(own) == 1 for question in single for own in question.other_annotations)


def test_bars_of_ambignq_dev_are_gone_and_counted() -> None:
    readings = [
        one
        for question in loaded("ambignq/dev_light_public.json", "ambignq")
        for own in question.annotations
        for one in own
    ]
    assert not any("|" in way for one in readings for way in one.questions)
    assert sum(bool(one.other_questions) for one in readings) == 89


def test_situatedqa_repeats_no_reading() -> None:
    for name in ("geo.dev", "temp.dev"):
        for question in loaded(f"situatedqa/{name}.jsonl", "situatedqa"):
            asked = [reading.question.casefold().strip() for reading in question.readings]
            assert len(set(asked)) == len(asked)
            assert all(len(set(own)) == len(own) for own in question.answers)
