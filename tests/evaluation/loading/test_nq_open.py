from typing import Any

import pytest

from polyqa.evaluation.loading import questions_from_records
from polyqa.metrics.gold import Question, Reading
from polyqa.signatures import PolyqaError


def test_a_record_becomes_a_question_of_one_reading() -> None:
    records = [
        {"question": "who built it", "answer": ["Eve", "Eve Day"]},
        {"question": "who broke it", "answer": ["Fay"]},
    ]
    assert questions_from_records(records) == [
        Question("1", "who built it", (Reading("who built it", ("Eve", "Eve Day")),)),
        Question("2", "who broke it", (Reading("who broke it", ("Fay",)),)),
    ]


def test_an_id_is_kept_where_there_is_one() -> None:
    (question,) = questions_from_records([{"id": 7, "question": "who built it", "answer": ["Eve"]}])
    assert question.id == "7"


@pytest.mark.parametrize("answer", ["Eve", [], [""], [None], {"text": ["Eve"]}])
def test_a_bad_answer_is_told(answer: Any) -> None:
    with pytest.raises(PolyqaError, match=r"record 1: no nq-open record: answer"):
        questions_from_records([{"question": "who built it", "answer": answer}])
