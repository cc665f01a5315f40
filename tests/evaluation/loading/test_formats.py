"""Formats are told from the keys; the plain ones, of questions with their answers, have their records here."""

from itertools import product
from typing import Any

import pytest
from memory_records import questions_from_records
from refusals import told

from polyqa.base.rows import Record
from polyqa.evaluation.loading import FORMATS
from polyqa.evaluation.loading.convert import convert
from polyqa.metrics.gold import Document, Question, Reading

RECORDS: dict[str, dict[str, Any]] = {
    "asqa": {"ambiguous_question": "Who?", "qa_pairs": [{"question": "Who won?", "short_answers": ["Gil"]}]},
    "ambignq": {"id": "q", "question": "Who?", "annotations": [{"type": "singleAnswer", "answer": ["Gil"]}]},
    "situatedqa": {"id": "q", "question": "Who?", "edited_question": "Who, in Kiel?", "answer": ["Gil"]},
    "nq-open": {"question": "Who?", "answer": ["Gil"]},
    "multi-answer": {"question": "Who?", "answers": [["Gil"]]},
    "dpr": {"question": "Who?", "answers": ["Gil"], "positive_ctxs": []},
    "plain": {"question": "Who?", "answer": "Gil"},
    "popqa": {"id": 4, "prop": "winner", "question": "Who?", "possible_answers": '["Gil"]'},
    "triviaqa": {"question_id": "t", "question": "Who?", "answer": {"value": "Gil", "aliases": ["Gil"]}},
    "squad": {"question": "Who?", "context": "Gil.", "answers": {"text": ["Gil", "Gil"], "answer_start": [0, 0]}},
    "kilt": {"input": "Who?", "output": [{"answer": "Gil", "provenance": []}, {"provenance": []}]},
    "ramdocs": {
        "question": "Who?",
        "documents": [
            {"text": "Gil won in Kiel.", "type": "correct", "answer": "Gil"},
            {"text": "Hal won in Kiel.", "type": "misinfo", "answer": "Hal"},
            {"text": "Kiel lies by the sea.", "type": "noise", "answer": "unknown"},
        ],
        "disambig_entity": ["Kiel race"],
        "gold_answers": ["Gil"],
        "wrong_answers": ["Hal", "Hal"],
    },
}
AMBIGUOUS = {"question": "Who?", "answer": ["Gil"], "answers": ["Gil", "Hal"]}


def numbered(name: str, *ids: Any) -> list[dict[str, Any]]:
    return [{**RECORDS[name], "id": id} for id in ids]


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


def test_ramdocs_keeps_documents_and_wrong_answers() -> None:
    (question,) = questions_from_records([RECORDS["ramdocs"]])
    assert question.readings == (Reading("Who (Kiel race)?", ("Gil",)),)
    assert question.wrong_answers == ("Hal",)
    assert [(one.pid, one.kind, one.answer) for one in question.documents] == [
        ("1-1", "correct", "Gil"),
        ("1-2", "misinfo", "Hal"),
        ("1-3", "noise", ""),
    ]
    assert question.documents[2].text == "Kiel lies by the sea."
    named = {**RECORDS["asqa"], "wrong_answers": ["Hal"], "documents": [["p7", "misinfo", "Hal"]]}
    (elsewhere,) = questions_from_records([named])
    assert (elsewhere.wrong_answers, elsewhere.documents) == (("Hal",), (Document("p7", "misinfo", "Hal"),))


@pytest.mark.parametrize("key", ["documents", "gold_answers"])
def test_a_ramdocs_question_without_documents_or_answers_is_told(key: str) -> None:
    assert f"no ramdocs record: {key}" in told(questions_from_records, [{**RECORDS["ramdocs"], key: []}])


@pytest.mark.parametrize(
    ("record", "id", "answers"),
    [
        ({"question": "Who?", "answer": ["Eve", "Eve Day"]}, "1", [("Eve", "Eve Day")]),
        ({"id": 7, "question": "Who?", "answer": ["Eve"]}, "7", [("Eve",)]),
        ({"question": "Who?", "answers": ["Elm", "Oak"], "url": "passed over"}, "1", [("Elm",), ("Oak",)]),
        ({"utterance": "Who?", "answers": ["Elm", "Oak"]}, "1", [("Elm",), ("Oak",)]),
        ({"id": "q", "question": "Who?", "answers": [["Elm", "the Elm"], "Oak"]}, "q", [("Elm", "the Elm"), ("Oak",)]),
        ({"utterance": "Who?", "answers": ["Elm", "Oak", "Elm"]}, "1", [("Elm",), ("Oak",)]),  # each counts once
        ({"question": "Who?", "answers": ["Elm", "the Elm"]}, "1", [("Elm", "the Elm")]),  # DPR: aliases
        # as a table holds them
        ({"question": "Who?", "answers": "['Elm', 'the Elm']"}, "1", [("Elm", "the Elm")]),
        ({"question": "Who?", "answers": "[['Elm', 'the Elm'], ['Oak']]"}, "1", [("Elm", "the Elm"), ("Oak",)]),
    ],
)
def test_every_answer_is_a_reading_of_the_question_itself(
    record: dict[str, Any], id: str, answers: list[tuple[str, ...]]
) -> None:
    readings = tuple(Reading("Who?", aliases) for aliases in answers)
    other = Question("other", "Who broke it?", (Reading("Who broke it?", ("Fay",)),))
    last = {"id": "other", next(iter({"question", "utterance"} & set(record))): "Who broke it?"}
    last["answers" if "answers" in record else "answer"] = ["Fay"]
    assert questions_from_records([record, last]) == [Question(id, "Who?", readings), other]


@pytest.mark.parametrize(
    ("name", "key", "answers"),
    [
        *(("plain", "answer", bad) for bad in ([None], {"text": [["Eve"]]}, [{"text": "Eve"}, None])),
        ("plain", "answers", '["Elm", null]'),
        *(("multi-answer", "answers", bad) for bad in ([[]], [["Elm", True]], [["Elm"], None])),
    ],
)
def test_bad_answers_are_told(name: str, key: str, answers: Any) -> None:
    message = told(questions_from_records, [{"question": "Who?", key: answers}])
    assert f"record 1: no {name} record: {key}" in message


@pytest.mark.parametrize(
    ("key", "nothing"),
    [
        *product(("answer", "answers", "golden_answers", "qa_pairs"), (None, [], float("nan"))),
        *product(("answer", "answers", "golden_answers"), ([""],)),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_question_without_an_answer_is_left_out(key: str, nothing: Any, first: bool) -> None:
    answers: Any = [{"question": "Who is it?", "short_answers": ["Eve"]}] if key == "qa_pairs" else ["Eve", "Ada"]
    rows = [{"question": "Who?", key: nothing}, {"question": "Who is it?", key: answers}]
    loaded = convert([Record(f"{n}", row) for n, row in enumerate(rows[:: 1 if first else -1], 1)], None, "mine")
    assert [question.question for question in loaded.questions] == ["Who is it?"]
    assert loaded.left_out == {"1" if first else "2"}


@pytest.mark.parametrize("nothing", [None, [], "", "[]"])
def test_a_question_without_any_of_several_answers_is_left_out(nothing: Any) -> None:
    rows = [{"question": "Who?", "answers": nothing}, {"question": "Who is it?", "answers": ["Eve", "Ada"]}]
    loaded = convert([Record(f"{n}", row) for n, row in enumerate(rows, 1)], "multi-answer", "mine")
    assert [question.answers for question in loaded.questions] == [[("Eve",), ("Ada",)]]
    assert loaded.left_out == {"1"}


def test_an_answer_may_be_yes_or_a_figure_beside_lists() -> None:
    rows = [["Eve"], "Ada", [1, 2.0, "x"], True]
    found = questions_from_records([{"question": f"Who {n}?", "answer": row} for n, row in enumerate(rows)])
    assert [one.answers for one in found] == [[("Eve",)], [("Ada",)], [("1", "2", "x")], [("yes",)]]


@pytest.mark.parametrize(
    ("records", "format", "message"),
    [
        # of another format than the first
        ([RECORDS["nq-open"], RECORDS["multi-answer"]], None, "record 2: no plain record: answers[0]: "),
        ([RECORDS["asqa"]], "quads", "there is no format 'quads'; there are asqa, ambignq"),
        (
            [{"question": "Who?", "context": "Gil.", "answers": []}],
            None,
            "there is no question in it that has an answer",
        ),
        *(([], format, "mine: there is no question in it") for format in (None, "asqa")),
        *(
            ([record], format, f"record 1: expected an object, got {type(record).__name__}")
            for format in (None, "asqa")
            for record in ("text", 3, None, [1])
        ),
        *(
            (numbered(name, "a", "b", "a"), None, "record 3: the id 'a' already stands at mine: record 1")
            for name in sorted(set(RECORDS) - {"situatedqa"})
        ),
        (numbered("nq-open", 5, "5"), None, "the id '5' already stands"),
    ],
)
def test_what_is_refused(records: list[Any], format: str | None, message: str) -> None:
    assert message in told(questions_from_records, records, format=format, origin="mine")


def test_where_two_formats_fit_one_can_be_named() -> None:
    assert len(questions_from_records([AMBIGUOUS])[0].readings) == 1
    for answers in (["Gil", "Hal"], '["Gil", "Hal"]'):
        (question,) = questions_from_records([{**AMBIGUOUS, "answers": answers}], format="multi-answer")
        assert question.answers == [("Gil",), ("Hal",)]


def test_where_no_format_fits_all_are_told() -> None:
    message = told(questions_from_records, [{"title": "Tea"}])
    assert all(f" ({record.name})" in message for record in FORMATS.values())
    assert "there is no question (question, ambiguous_question, utterance, " in message
    assert "); no format has these keys, beside the question: qa_pairs (asqa) / " in message
    assert "no answer to score against (`polyqa answer` needs none)" in told(
        questions_from_records, [{"query": "Who?"}]
    )
    assert message.endswith('{"title": "Tea"}')


def test_what_would_break_a_line_is_escaped() -> None:
    told(questions_from_records, [{"question": "one\u2028two\x85\ud800\n"}], origin="a\nfolder")
