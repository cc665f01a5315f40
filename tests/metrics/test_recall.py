import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics import answer_coverage, mrecall

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "mrecall.json").read_text(encoding="utf-8"))
CASES = [
    pytest.param(case, int(k), scores, id=f"case {number}, k = {k}")
    for number, case in enumerate(GOLDEN["cases"])
    for k, scores in case["at"].items()
]
both = pytest.mark.parametrize("metric", [answer_coverage, mrecall])

CITIES = ["Nagano", "Turin", "Oslo", "Calgary", "Sapporo"]
ANSWERS = st.lists(st.sampled_from(CITIES), min_size=1, unique=True).map(lambda names: [[n] for n in names])
TEXTS = st.lists(st.lists(st.sampled_from(CITIES), max_size=3).map(" and ".join), max_size=6)


@pytest.mark.parametrize(("case", "k", "scores"), CASES)
def test_agreement_with_the_released_scorer(case: dict[str, Any], k: int, scores: dict[str, float]) -> None:
    assert answer_coverage(case["answers"], case["passages"], k) == scores["answer_coverage"]
    # The released code takes for k how many passages there are.
    assert mrecall(case["answers"], case["passages"], scores["n_docs"]) == scores["mrecall"]


def test_all_answers_are_needed_where_k_allows_it() -> None:
    answers = [["Nagano"], ["Turin"], ["Oslo"]]
    assert mrecall(answers, ["Nagano", "Turin", "Oslo"], 3) == 1.0
    assert mrecall(answers, ["Nagano", "Turin", "Turin"], 3) == 0.0
    assert mrecall(answers, ["Nagano and Turin", "Oslo"], 5) == 1.0


def test_k_answers_are_enough_where_there_are_more() -> None:
    answers = [["Nagano"], ["Turin"], ["Oslo"]]
    assert mrecall(answers, ["Nagano", "Turin"], 2) == 1.0
    assert mrecall(answers, ["Nagano and Turin", "none"], 2) == 1.0
    assert mrecall(answers, ["Nagano", "Nagano"], 2) == 0.0


def test_only_the_first_k_passages_count() -> None:
    answers = [["Nagano"], ["Turin"]]
    texts = ["none", "Nagano", "Turin"]
    assert [answer_coverage(answers, texts, k) for k in (1, 2, 3, 9)] == [0.0, 0.5, 1.0, 1.0]
    assert [mrecall(answers, texts, k) for k in (1, 2, 3, 9)] == [0.0, 0.0, 1.0, 1.0]


@both
def test_without_passages_nothing_is_covered(metric: Callable[..., float]) -> None:
    assert metric([["Nagano"]], [], 5) == 0.0


@both
def test_a_question_without_answers_has_no_score(metric: Callable[..., float]) -> None:
    with pytest.raises(ValueError, match="without answers is undefined"):
        metric([], ["text"], 5)


@both
@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(metric: Callable[..., float], k: int) -> None:
    with pytest.raises(ValueError, match=f"k must be at least 1, got {k}"):
        metric([["Nagano"]], ["Nagano"], k)


@both
def test_an_answer_without_aliases_is_never_covered(metric: Callable[..., float]) -> None:
    assert metric([[]], ["Nagano"], 1) == 0.0


@given(ANSWERS, TEXTS, st.integers(1, 8))
def test_coverage_grows_with_k_and_full_coverage_is_full_recall(
    answers: list[list[str]], texts: list[str], k: int
) -> None:
    coverage = answer_coverage(answers, texts, k)
    assert 0.0 <= coverage <= answer_coverage(answers, texts, k + 1) <= 1.0
    recalled = mrecall(answers, texts, k)
    assert recalled in (0.0, 1.0)
    assert recalled == float(coverage * len(answers) > min(k, len(answers)) - 0.5)
