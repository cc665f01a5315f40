from typing import Any

import pytest

from polyqa.evaluation.loading import FORMATS, questions_from_records
from polyqa.signatures import PolyqaError

RECORDS: dict[str, dict[str, Any]] = {
    "asqa": {"ambiguous_question": "Who?", "qa_pairs": [{"question": "Who won?", "short_answers": ["Gil"]}]},
    "ambignq": {"id": "q", "question": "Who?", "annotations": [{"type": "singleAnswer", "answer": ["Gil"]}]},
    "situatedqa": {"id": "q", "question": "Who?", "edited_question": "Who, in Kiel?", "answer": ["Gil"]},
    "nq-open": {"question": "Who?", "answer": ["Gil"]},
    "multi-answer": {"question": "Who?", "answers": ["Gil"]},
}


def test_every_format_has_a_record_here() -> None:
    assert set(FORMATS) == set(RECORDS)


@pytest.mark.parametrize("name", RECORDS)
def test_a_format_is_told_from_the_keys(name: str) -> None:
    (question,) = questions_from_records([RECORDS[name]])
    assert questions_from_records([RECORDS[name]], format=name) == [question]
    assert question.question == "Who?"
    assert question.answers == [("Gil",)]


@pytest.mark.parametrize("name", RECORDS)
def test_empty_columns_tell_nothing(name: str) -> None:
    columns = dict.fromkeys({key for record in RECORDS.values() for key in record})
    assert questions_from_records([{**columns, **RECORDS[name]}], format=name) == questions_from_records(
        [{**columns, **RECORDS[name]}]
    )


def test_records_of_another_format_are_not_taken_for_the_first() -> None:
    with pytest.raises(PolyqaError, match="record 2: no nq-open record: answer: Field required"):
        questions_from_records([RECORDS["nq-open"], RECORDS["multi-answer"]])


def test_no_format_fits() -> None:
    with pytest.raises(PolyqaError) as caught:
        questions_from_records([{"title": "Tea"}])
    message = str(caught.value)
    assert all(name in message for name in FORMATS)
    assert "multi-answer needs answers, question or utterance" in message
    assert message.endswith('{"title": "Tea"}')


def test_two_formats_fit() -> None:
    record = {"question": "Who?", "answer": ["Gil"], "answers": ["Gil", "Hal"]}
    with pytest.raises(PolyqaError, match="the keys fit nq-open and multi-answer alike; name one as the format"):
        questions_from_records([record])
    assert len(questions_from_records([record], format="multi-answer")[0].readings) == 2


def test_an_unknown_format() -> None:
    with pytest.raises(PolyqaError, match="there is no format 'squad'; there are asqa, ambignq, situatedqa, nq-open"):
        questions_from_records([RECORDS["asqa"]], format="squad")


@pytest.mark.parametrize("format", [None, "asqa"])
def test_no_records(format: str | None) -> None:
    with pytest.raises(PolyqaError, match="mine: there is no question in it"):
        questions_from_records([], format=format, origin="mine")


@pytest.mark.parametrize("format", [None, "asqa"])
@pytest.mark.parametrize("record", ["text", 3, None, [1]])
def test_what_is_no_record(record: Any, format: str | None) -> None:
    with pytest.raises(PolyqaError, match=f"record 1: expected an object, got {type(record).__name__}"):
        questions_from_records([record], format=format)


@pytest.mark.parametrize("name", sorted(set(RECORDS) - {"situatedqa"}))
def test_an_id_stands_but_once(name: str) -> None:
    records = [{**RECORDS[name], "id": id} for id in ("a", "b", "a")]
    with pytest.raises(PolyqaError, match="record 3: the id 'a' already stands at the records: record 1"):
        questions_from_records(records)


def test_a_number_and_the_text_of_it_are_one_id() -> None:
    records = [{**RECORDS["nq-open"], "id": id} for id in (5, "5")]
    with pytest.raises(PolyqaError, match="the id '5' already stands"):
        questions_from_records(records)


def test_what_would_break_a_line_is_escaped() -> None:
    with pytest.raises(PolyqaError) as caught:
        questions_from_records([{"question": "one\u2028two\x85\ud800\n"}], origin="a\nfolder")
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).encode()
