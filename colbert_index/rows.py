"""Rows of several arrays as if they were one, without copying them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def require_within(wanted: NDArray[Any], count: int, what: str) -> None:
    """Check that some numbers are below a count and not below 0.

    Raises
    ------
    IndexError
        If one is not; ``what`` says what they are numbers of.
    """
    if wanted.size and not 0 <= wanted.min() <= wanted.max() < count:
        raise IndexError(f"{what} lie in [0, {count}), asked for {wanted.min()} to {wanted.max()}")


class Rows:
    """Rows of arrays, one array after the other; they may lie on disk, and only what is asked for is read.

    Parameters
    ----------
    arrays
        At least one, each of shape (rows, columns), with the same columns and type.
    """

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        self._arrays = tuple(arrays)
        self._starts = np.cumsum([0, *map(len, self._arrays)])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self._starts[-1]), int(self._arrays[0].shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: ArrayLike) -> NDArray[Any]:
        """Return one row, shape (columns,), or several, shape (len(rows), columns), in the order asked for.

        Raises
        ------
        IndexError
            If there is no such row.
        """
        wanted = np.asarray(rows, dtype=np.int64)
        require_within(wanted, len(self), "rows")
        flat = wanted.ravel()
        found = np.empty((len(flat), self.shape[1]), dtype=self._arrays[0].dtype)
        holders = np.searchsorted(self._starts, flat, side="right") - 1
        for number in np.unique(holders):
            own = holders == number
            found[own] = self._arrays[number][flat[own] - self._starts[number]]
        return found.reshape(*wanted.shape, self.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all rows as one array, a copy if there are several arrays."""
        if len(self._arrays) == 1:
            return np.array(self._arrays[0], dtype=dtype, copy=copy)
        return np.concatenate(self._arrays, dtype=dtype)
