from math import isnan, nan

import pytest
from harness import FAILURE, question, record

from polyqa.base.values import Interpretation, Passage
from polyqa.base.work import Failure
from polyqa.evaluation.records import Record, column_scores
from polyqa.evaluation.scoring import Output


def test_a_record_comes_back_from_json_as_it_was() -> None:
    one = Record.of(
        question("q", ("blue", "green"), ambiguity="subject"),
        Output(
            "Blue, or “grün”.",
            (Interpretation(question="Which?", answer="", pid="p"),),
            (Passage(pid="p", title="T", text="x", score=0.1),),
        ),
        extra={"verdicts": [True]},
        scores={"str_em": 1 / 3},
        calls=2,
        seconds=0.25,
        error=Failure(kind="K", message="m", reply="r"),
    )
    assert (one.gold_readings, one.ambiguity) == (2, "subject")
    assert Record.model_validate_json(one.model_dump_json()) == one


def test_costs_and_failures_are_values_like_scores() -> None:
    one = record(scores={"str_em": 0.5}, calls=3, input_tokens=7, output_tokens=5, seconds=0.5, error=FAILURE)
    names = ("str_em", "calls", "input_tokens", "output_tokens", "seconds", "failed")
    assert [one.value(name) for name in names] == [0.5, 3, 7, 5, 0.5, 1]
    assert isnan(one.value("rouge_l"))
    assert record().value("failed") == 0.0


FAILED = record("b", error=FAILURE)
GROUNDED = {"g_recall_part": 1.0, "g_recall_whole": 2.0, "g_precision_part": 1.0, "g_precision_whole": 1.0}
ANSWERED_BY_A_CACHE = [
    record("a", calls=2, input_tokens=9, seconds=0.5),
    record("b", calls=2, input_tokens=4, seconds=0.1, cached=1),
    record("c", calls=1, cached=1, error=FAILURE),
]


@pytest.mark.parametrize(
    ("records", "values"),
    [
        # A cache tells no tokens and no seconds.
        (ANSWERED_BY_A_CACHE, {"calls": [2.0, 2.0, 1.0], "input_tokens": [9.0, nan, nan]}),
        (ANSWERED_BY_A_CACHE, {"output_tokens": [0.0, nan, nan], "seconds": [0.5, nan, nan]}),
        # A failed question scores zero where answered ones have a score,
        ([record("a", {"mrecall@5": 1.0, "sufficient": 1.0}), FAILED], {"mrecall@5": [1, 0], "sufficient": [1, 0]}),
        # recalls none of its gold readings, and has no precision,
        (
            [record("a", GROUNDED), record("b", gold_readings=3, error=FAILURE)],
            {"g_recall_whole": [2.0, 3.0], "g_recall_part": [1.0, 0.0], "g_precision_whole": [1.0, 0.0]},
        ),
        # and keeps the scores that its empty answer got.
        ([record("a", {"length": 9.0}), record("b", {"length": 2.0}, error=FAILURE)], {"length": [9.0, 2.0]}),
        # What depends on the question is not made up for it.
        *(
            ([record("a", {name: 1.0}), FAILED], {name: [1.0, nan]})
            for name in ("rouge_l", "edit_f1", "exact_match", "answer_f1")
        ),
        # What no answered question has, nobody has.
        ([record("a"), FAILED, FAILED], {"mrecall@5": [nan] * 3}),
        ([FAILED, FAILED], {"mrecall@5": [nan] * 2}),
        ([record("a"), record("b", {"readings": 0.0}, error=FAILURE)], {"readings": [nan] * 2}),  # of its empty answer
        # An answer without readings, as of a program that gives some at times, has no right one.
        ([record("a", {"readings": 2.0, "f1_answer": 1.0}), record("b")], {"readings": [2, 0], "f1_answer": [1, 0]}),
        # A plain question has no EDIT-F1, and no reading no mean over readings.
        ([record("a", {"edit_f1": 1.0, "answer_f1": 1.0}), record("b")], {"edit_f1": [1, nan], "answer_f1": [1, nan]}),
        ([record("a", {"rouge_l": 1.0}), record("b")], {"rouge_l": [1.0, nan]}),  # answered, and without the score
    ],
)
def test_scores_of_questions_stand_in_columns(records: list[Record], values: dict[str, list[float]]) -> None:
    for found, expected in zip(column_scores(records, list(values)), values.values(), strict=True):
        assert list(found) == pytest.approx(expected, nan_ok=True)
