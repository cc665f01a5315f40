from typing import Any

import pytest

from polyqa.evaluation.loading import questions_from_records
from polyqa.metrics.gold import Question, Reading
from polyqa.signatures import PolyqaError

ASKED = "which rivers meet here"


@pytest.mark.parametrize("key", ["question", "utterance"])
def test_every_answer_is_a_reading(key: str) -> None:
    assert questions_from_records([{key: ASKED, "answers": ["Elm", "Oak"], "url": "passed over"}]) == [
        Question("1", ASKED, (Reading(ASKED, ("Elm",)), Reading(ASKED, ("Oak",))))
    ]


def test_an_answer_may_have_aliases() -> None:
    (question,) = questions_from_records([{"id": "q", "question": ASKED, "answers": [["Elm", "the Elm"], "Oak"]}])
    assert [reading.short_answers for reading in question.readings] == [("Elm", "the Elm"), ("Oak",)]
    assert question.id == "q"


def test_an_answer_that_repeats_counts_once() -> None:
    (question,) = questions_from_records([{"question": ASKED, "answers": ["Elm", "Oak", "Elm"]}])
    assert [reading.short_answers for reading in question.readings] == [("Elm",), ("Oak",)]


@pytest.mark.parametrize("answers", ["Elm", [], [[]], [""], [["Elm", 3]], [None], {"text": ["Elm"]}])
def test_bad_answers_are_told(answers: Any) -> None:
    with pytest.raises(PolyqaError, match=r"record 1: no multi-answer record: answers"):
        questions_from_records([{"question": ASKED, "answers": answers}])
