import numpy as np
import pytest
from harness import FAILURE, question, record

from polyqa.base.values import Interpretation, Passage
from polyqa.base.work import Failure
from polyqa.evaluation.records import Record, column_scores
from polyqa.evaluation.scoring import Output


def column(records: list[Record], name: str) -> list[float]:
    return [float(value) for value in column_scores(records, [name])[0]]


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
    assert np.isnan(one.value("rouge_l"))
    assert record().value("failed") == 0.0


def test_what_a_cache_answered_tells_no_tokens_and_seconds() -> None:
    records = [
        record("a", calls=2, input_tokens=9, seconds=0.5),
        record("b", calls=2, input_tokens=4, seconds=0.1, cached=1),
        record("c", calls=1, cached=1, error=FAILURE),
    ]
    assert column(records, "calls") == [2.0, 2.0, 1.0]
    for name, value in (("input_tokens", 9.0), ("output_tokens", 0.0), ("seconds", 0.5)):
        assert column(records, name) == pytest.approx([value, np.nan, np.nan], nan_ok=True)


def test_a_failed_question_scores_zero_where_answered_ones_have_a_score() -> None:
    records = [record("a", {"mrecall@5": 1.0, "sufficient": 1.0}), record("b", error=FAILURE)]
    assert column(records, "mrecall@5") == [1.0, 0.0]
    assert column(records, "sufficient") == [1.0, 0.0]


def test_a_failed_question_recalls_none_of_its_gold_readings() -> None:
    scores = {"g_recall_part": 1.0, "g_recall_whole": 2.0, "g_precision_part": 1.0, "g_precision_whole": 1.0}
    records = [record("a", scores), record("b", gold_readings=3, error=FAILURE)]
    assert column(records, "g_recall_whole") == [2.0, 3.0]
    assert column(records, "g_recall_part") == [1.0, 0.0]
    assert column(records, "g_precision_whole") == [1.0, 0.0], "it has no precision"


def test_a_failed_question_keeps_the_scores_that_its_empty_answer_got() -> None:
    records = [record("a", {"length": 9.0}), record("b", {"length": 2.0}, error=FAILURE)]
    assert column(records, "length") == [9.0, 2.0]


@pytest.mark.parametrize("name", ["rouge_l", "edit_f1", "exact_match", "answer_f1"])
def test_what_depends_on_the_question_is_not_made_up_for_a_failed_one(name: str) -> None:
    assert np.isnan(column([record("a", {name: 1.0}), record("b", error=FAILURE)], name)[1])


def test_what_no_answered_question_has_nobody_has() -> None:
    records = [record("a"), record("b", error=FAILURE), record("c", error=FAILURE)]
    assert np.isnan(column(records, "mrecall@5")).all()
    assert np.isnan(column(records[1:], "mrecall@5")).all()


def test_an_answered_question_without_a_score_is_left_out() -> None:
    records = [record("a", {"rouge_l": 1.0}), record("b")]
    assert np.isnan(column(records, "rouge_l")[1])
