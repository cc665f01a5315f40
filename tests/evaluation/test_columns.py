from math import nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.evaluation.columns import COLUMNS


@pytest.mark.parametrize(
    ("name", "scores", "expected"),
    [
        ("str_em", ([0.5, 1.0],), 75.0),
        ("length", ([10.0, 20.0],), 15.0),  # as it is, not in per cent
        ("failed", ([0.0, 0.0, 0.0, 1.0],), 25.0),
        ("dr", ([1.0, 0.0], [0.0, 0.5]), 100 * sqrt(0.5 * 0.25)),  # of the corpus values: each question's DR is 0
        ("g_precision", ([1, 0, 3], [2, 0, 3]), 75.0),  # a ratio of nothing is left out
        ("g_precision", ([0, 0], [0, 0]), nan),
        ("g_precision_micro", ([1, 0, 3], [2, 0, 8]), 40.0),
        ("g_recall_micro", ([1, 1], [1, 3]), 50.0),
        ("g_recall_micro", ([0], [0]), nan),
        ("g_f1", ([1, 2], [2, 2], [1, 0], [4, 2]), 2 * 75.0 * 12.5 / 87.5),  # of the corpus values 75 and 12.5
        ("g_f1", ([0, 0], [0, 0], [0, 0], [2, 3]), 0.0),  # no interpretation anywhere
        ("g_f1", ([2], [2], [0], [0]), 0.0),  # nothing could be recalled
        ("g_f1", ([0], [2], [0], [2]), 0.0),
        ("g_f1", ([0], [0], [0], [0]), 0.0),
        ("answer_f1", ([1.0, 0.25], [1, 3]), 100 * (1.0 + 3 * 0.25) / 4),  # the mean over readings
    ],
)
def test_what_questions_have_becomes_a_value_of_the_corpus(
    name: str, scores: tuple[list[float], ...], expected: float
) -> None:
    value = COLUMNS[name].value(*(np.array(one, dtype=float) for one in scores))
    assert float(value) == pytest.approx(expected, nan_ok=True)


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
