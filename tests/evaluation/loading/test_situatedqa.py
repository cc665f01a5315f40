from typing import Any

import pytest
from memory_records import questions_from_records
from refusals import told

from polyqa.metrics.gold import Question, Reading

ASKED = "how long is the ferry"


def there(place: str, *answers: str, id: int = 4, question: str = ASKED) -> dict[str, Any]:
    return {
        "id": id,
        "question": question,
        "edited_question": f"{question} in {place}",
        "location": place,
        "answer": list(answers),
        "any_answer": ["1 hour", "2 hours"],
    }


def then(year: str, *answers: str) -> dict[str, Any]:
    edited = f"{ASKED} as of {year}"
    return {"id": 4, "question": ASKED, "edited_question": edited, "date": year, "answer": list(answers)}


def test_records_of_one_question_become_its_readings() -> None:
    other = there("bergen", "3 hours", id=9, question="when does it open")
    assert questions_from_records([there("oslo", "1 hour"), other, there("kiel", "2 hours", "120 min")]) == [
        Question(
            "4", ASKED, (Reading(f"{ASKED} in oslo", ("1 hour",)), Reading(f"{ASKED} in kiel", ("2 hours", "120 min")))
        ),
        Question("9", "when does it open", (Reading("when does it open in bergen", ("3 hours",)),)),
    ]


@pytest.mark.parametrize(
    ("records", "readings"),
    [
        ([then("1990", "1 hour"), then("2000", "1 hour")], {"as of 1990": ("1 hour",), "as of 2000": ("1 hour",)}),
        # What asks the same becomes one reading with all answers, each once.
        (
            [there("oslo", "1 hour"), there("kiel", "2 hours"), there("Oslo ", "60 min", "1 hour")],
            {"in oslo": ("1 hour", "60 min"), "in kiel": ("2 hours",)},
        ),
        ([there("oslo", "1 hour", "60 min", "1 hour")], {"in oslo": ("1 hour", "60 min")}),
    ],
)
def test_dates_are_read_like_places_and_nothing_stands_twice(
    records: list[dict[str, Any]], readings: dict[str, tuple[str, ...]]
) -> None:
    (question,) = questions_from_records(records)
    assert question.readings == tuple(Reading(f"{ASKED} {edited}", answers) for edited, answers in readings.items())


def test_a_first_row_without_a_reading_asks_the_question_itself() -> None:
    rows = [{"question": ASKED, "reading": None, "answer": "1"}, {"question": ASKED, "reading": "x", "answer": "2"}]
    assert questions_from_records(rows) == [Question(ASKED, ASKED, (Reading(ASKED, ("1",)), Reading("x", ("2",))))]


def test_one_id_with_two_questions_is_an_error() -> None:
    records = [there("oslo", "1 hour"), there("kiel", "2 hours", question="how deep is it")]
    message = told(questions_from_records, records)
    assert "record 2: the id '4' already stands at the records: record 1 with another" in message


@pytest.mark.parametrize("id", ["", True, ["4"]])
def test_an_id_that_is_none_is_told(id: Any) -> None:
    assert "no situatedqa record: id: " in told(questions_from_records, [{**there("oslo", "1 hour"), "id": id}])
