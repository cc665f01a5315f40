from typing import Any

import pytest
from memory_records import questions_from_records
from refusals import told

from polyqa.metrics.gold import Question, Reading

ASKED = "Who won the cup?"
SINGLE = {"type": "singleAnswer", "answer": ["Ann", "Ann Lee"]}
CUPS = {
    "type": "multipleQAs",
    "qaPairs": [
        {"question": "Who won the first cup?", "answer": ["Bea"]},
        {"question": "Who won the last cup?", "answer": ["Cat", "C. T."]},
    ],
}
YEARS = {"type": "multipleQAs", "qaPairs": [{"question": "Who won the cup in 1990?", "answer": ["Dot"]}]}
SINGLE_READING = (Reading(ASKED, ("Ann", "Ann Lee")),)
CUP_READINGS = (Reading("Who won the first cup?", ("Bea",)), Reading("Who won the last cup?", ("Cat", "C. T.")))
YEAR_READINGS = (Reading("Who won the cup in 1990?", ("Dot",)),)


def loaded(annotations: Any) -> Question:
    (question,) = questions_from_records([{"id": "q1", "question": ASKED, "annotations": annotations}])
    return question


@pytest.mark.parametrize(
    ("annotations", "readings", "others"),
    [
        ([SINGLE], SINGLE_READING, ()),
        ([SINGLE, SINGLE], SINGLE_READING, (SINGLE_READING,)),
        ([CUPS], CUP_READINGS, ()),
        ([CUPS, SINGLE], CUP_READINGS, (SINGLE_READING,)),
        ([SINGLE, CUPS, YEARS], CUP_READINGS, (SINGLE_READING, YEAR_READINGS)),
    ],
    ids=["single", "singles", "several", "several and single", "single, several, several"],
)
def test_the_first_annotation_with_several_readings_comes_first(
    annotations: Any, readings: tuple[Reading, ...], others: tuple[tuple[Reading, ...], ...]
) -> None:
    assert loaded(annotations) == Question("q1", ASKED, readings, other_annotations=others)


def test_annotations_as_the_hub_has_them() -> None:
    empty = {"question": [], "answer": []}
    several = {"question": [p["question"] for p in CUPS["qaPairs"]], "answer": [p["answer"] for p in CUPS["qaPairs"]]}
    by_column = {
        "type": ["singleAnswer", "multipleQAs"],
        "answer": [SINGLE["answer"], []],
        "qaPairs": [empty, several],
    }
    assert loaded(by_column) == loaded([SINGLE, CUPS])


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Who won first?|Who was first? | Who led?", ("Who won first?", "Who was first?", "Who led?")),
        ("|Who won first?| |", ("Who won first?",)),
        (" Who won first? ", (" Who won first? ",)),
    ],
)
def test_bars_stand_between_the_ways_to_ask_a_reading(text: str, questions: tuple[str, ...]) -> None:
    (reading,) = loaded([{"type": "multipleQAs", "qaPairs": [{"question": text, "answer": ["Bea"]}]}]).readings
    assert reading == Reading(questions[0], ("Bea",), other_questions=questions[1:])
    assert reading.questions == questions


def test_the_full_version_has_more_keys() -> None:
    record = {"id": "q1", "question": ASKED, "annotations": [SINGLE], "nq_answer": ["Ann"], "used_queries": []}
    assert questions_from_records([record]) == [loaded([SINGLE])]


@pytest.mark.parametrize(
    ("bad", "wrong"),
    [
        ([], "annotations: List should have at least 1 item"),
        ({"type": ["singleAnswer"], "answer": []}, "annotations: Input should be a valid list"),
        ([{"type": "noAnswer"}], "annotations[0]: Input tag 'noAnswer'"),
        ([{"answer": ["Ann"]}], "annotations[0]: Unable to extract tag"),
        ([{"type": "singleAnswer", "answer": []}], "answer: List should have at least 1 item"),
        ([{"type": "singleAnswer", "answer": "Ann"}], "answer: Input should be a valid list"),
        ([SINGLE, {"type": "multipleQAs", "qaPairs": []}], "annotations[1].multipleQAs.qaPairs: List should"),
        ([{"type": "multipleQAs", "qaPairs": [{"question": ASKED}]}], "qaPairs[0].answer: Field required"),
        ([{"type": "multipleQAs", "qaPairs": [{"question": "| |", "answer": ["Ann"]}]}], "question: Text is blank"),
    ],
)
def test_a_bad_annotation_is_told(bad: Any, wrong: str) -> None:
    record = {"id": "q1", "question": ASKED, "annotations": bad}
    message = told(questions_from_records, [record], format="ambignq", origin="mine")
    assert message.startswith("mine: record 1: no ambignq record: ")
    assert wrong in message
