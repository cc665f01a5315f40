from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.evaluation.columns import COLUMNS


def value(name: str, *scores: list[float]) -> float:
    return float(COLUMNS[name].value(*(np.array(one, dtype=float) for one in scores)))


def test_a_mean_is_in_per_cent_and_a_length_is_not() -> None:
    assert value("str_em", [0.5, 1.0]) == pytest.approx(75.0)
    assert value("length", [10.0, 20.0]) == 15.0
    assert value("failed", [0.0, 0.0, 0.0, 1.0]) == 25.0


def test_dr_is_of_the_corpus_values_not_the_mean_of_the_questions_dr() -> None:
    disambig_f1, rouge_l = [1.0, 0.0], [0.0, 0.5]
    assert value("dr", disambig_f1, rouge_l) == pytest.approx(100 * sqrt(0.5 * 0.25))
    assert value("dr", disambig_f1, rouge_l) > 100 * np.mean(np.sqrt(np.multiply(disambig_f1, rouge_l)))


def test_a_ratio_of_nothing_is_left_out() -> None:
    assert value("g_precision", [1, 0, 3], [2, 0, 3]) == pytest.approx(75.0)
    assert isnan(value("g_precision", [0, 0], [0, 0]))


def test_micro_divides_the_sums() -> None:
    assert value("g_precision_micro", [1, 0, 3], [2, 0, 8]) == pytest.approx(40.0)
    assert value("g_recall_micro", [1, 1], [1, 3]) == pytest.approx(50.0)
    assert isnan(value("g_recall_micro", [0], [0]))


def test_g_f1_is_the_harmonic_mean_of_the_corpus_values() -> None:
    precision, recall = ([1, 2], [2, 2]), ([1, 0], [4, 2])
    p, r = value("g_precision", *precision), value("g_recall", *recall)
    assert (p, r) == (pytest.approx(75.0), pytest.approx(12.5))
    assert value("g_f1", *precision, *recall) == pytest.approx(2 * p * r / (p + r))


@pytest.mark.parametrize(
    "scores",
    [
        ([0, 0], [0, 0], [0, 0], [2, 3]),  # no interpretation anywhere
        ([2], [2], [0], [0]),  # nothing could be recalled
        ([0], [2], [0], [2]),
        ([0], [0], [0], [0]),
    ],
)
def test_g_f1_is_zero_where_there_is_nothing_to_divide(scores: tuple[list[float], ...]) -> None:
    assert value("g_f1", *scores) == 0.0


def test_answer_f1_is_the_mean_over_readings() -> None:
    assert value("answer_f1", [1.0, 0.25], [1, 3]) == pytest.approx(100 * (1.0 + 3 * 0.25) / 4)


def test_names_are_keys_and_labels_are_distinct() -> None:
    assert all(name == column.name for name, column in COLUMNS.items())
    assert len({column.label for column in COLUMNS.values()}) == len(COLUMNS)


@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_a_batch_is_combined_row_by_row(name: str, data: st.DataObject) -> None:
    column = COLUMNS[name]
    rows, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    counts = st.lists(st.integers(0, 3), min_size=rows * n, max_size=rows * n)
    scores = [np.array(data.draw(counts), dtype=float).reshape(rows, n) for _ in column.scores]
    batch = column.value(*scores)
    assert batch.shape == (rows,)
    for at in range(rows):
        assert np.isclose(batch[at], column.value(*(one[at] for one in scores)), equal_nan=True)
