from typing import Any

import pytest
from data_files import golden
from hypothesis import given
from hypothesis import strategies as st

from polyqa.metrics import answer_coverage, mrecall
from polyqa.metrics.recall import distinct_answers, recall

GOLDEN = golden("mrecall")
CASES = [
    pytest.param(case, int(k), scores, id=f"case {number}, k = {k}")
    for number, case in enumerate(GOLDEN["cases"])
    for k, scores in case["at"].items()
]
CITIES = ["Nagano", "Turin", "Oslo", "Calgary", "Sapporo"]
ANSWERS = st.lists(st.sampled_from(CITIES), min_size=1, unique=True).map(lambda names: [[n] for n in names])
TEXTS = st.lists(st.lists(st.sampled_from(CITIES), max_size=3).map(" and ".join), max_size=6)


@pytest.mark.parametrize(("case", "k", "scores"), CASES)
def test_agreement_with_the_released_scorer(case: dict[str, Any], k: int, scores: dict[str, float]) -> None:
    assert answer_coverage(case["answers"], case["passages"], k) == scores["answer_coverage"]
    # The released code takes for k how many passages there are.
    assert mrecall(case["answers"], case["passages"], scores["n_docs"]) == scores["mrecall"]


@given(ANSWERS, TEXTS, st.integers(1, 8))
def test_coverage_grows_with_k_and_full_coverage_is_full_recall(
    answers: list[list[str]], texts: list[str], k: int
) -> None:
    coverage = answer_coverage(answers, texts, k)
    assert 0.0 <= coverage <= answer_coverage(answers, texts, k + 1) <= 1.0
    recalled = mrecall(answers, texts, k)
    assert recalled in (0.0, 1.0)
    assert recalled == float(coverage * len(answers) > min(k, len(answers)) - 0.5)


def test_recall_counts_an_answer_of_several_readings_once() -> None:
    answers = [["Nagano"], ["Turin", "Torino"], ["torino"]]
    assert recall(answers, ["in Torino"], 5) == 1 / 2
    assert answer_coverage(answers, ["in Torino"], 5) == 2 / 3
    # Merged answers pool their aliases: a passage that names Turin now holds the third reading's answer.
    assert recall(answers, ["in Turin"], 5) == 1 / 2
    assert answer_coverage(answers, ["in Turin"], 5) == 1 / 3


@pytest.mark.parametrize(
    ("answers", "merged"),
    [
        ([["Oslo"], ["Turin"]], [["Oslo"], ["Turin"]]),
        ([["Oslo"], ["oslo."], ["The Oslo"]], [["Oslo", "oslo.", "The Oslo"]]),
        ([["Oslo"], ["Oslo"]], [["Oslo"]]),
        ([["Oslo", "Oslo"]], [["Oslo"]]),
        ([["a1"], ["b1"], ["a1", "b1"], ["c1"]], [["a1", "b1"], ["c1"]]),  # the third joins the first two
        ([["c1"], ["b1"], ["a1", "b1"]], [["c1"], ["b1", "a1"]]),
        ([[], ["Oslo"], []], [[], ["Oslo"], []]),
        ([], []),
    ],
)
def test_answers_that_share_an_alias_are_one(answers: list[list[str]], merged: list[list[str]]) -> None:
    assert distinct_answers(answers) == merged


def test_merging_leaves_the_gold_answers_alone() -> None:
    answers = [["Turin"], ["turin", "Torino"]]
    distinct_answers(answers)
    assert answers == [["Turin"], ["turin", "Torino"]]
