import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.colbert_index.compressed import Rows


@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=5), data=st.data())
def test_rows_are_those_of_the_arrays_in_a_row(lengths: list[int], data: st.DataObject) -> None:
    whole = np.arange(3 * sum(lengths), dtype=np.float16).reshape(-1, 3)
    rows = Rows(np.split(whole, np.cumsum(lengths)[:-1]))
    assert rows.shape == whole.shape
    assert len(rows) == len(whole)
    np.testing.assert_array_equal(np.asarray(rows), whole)
    wanted = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=6)) if len(whole) else []
    np.testing.assert_array_equal(rows[wanted], whole[wanted].reshape(-1, 3))
    for one in wanted:
        np.testing.assert_array_equal(rows[one], whole[one])


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there_is_an_error(row: int) -> None:
    with pytest.raises(IndexError, match=r"rows lie in \[0, 3\)"):
        Rows([np.zeros((2, 1)), np.zeros((1, 1))])[row]
