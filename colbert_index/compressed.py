"""The vectors of an index: compressed token vectors in memory, with their search, and rows of sentence vectors."""

import ctypes
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyqa.base.errors import PolyqaError

from .files import LARGEST, read_part
from .kernel import Asked, IndexArrays, kernel, pointer
from .settings import SearchSettings


def weights_of_bytes(bucket_weights: NDArray[np.float32], nbits: int) -> NDArray[np.float32]:
    """Return what each byte of a residual stands for, shape (256, 8 / nbits).

    colbert-ai writes a dimension's bucket with its lowest bit first, and fills bytes from their highest bit.

    >>> weights_of_bytes(np.array([-2, -1, 1, 2], dtype=np.float32), 2)[0b00_10_01_11].tolist()
    [-2.0, -1.0, 1.0, 2.0]
    """
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).reshape(256, 8 // nbits, nbits)
    return np.ascontiguousarray(bucket_weights[bits @ (1 << np.arange(nbits))], dtype=np.float32)


class Cells(NamedTuple):
    """An inverted file: the passages that each centroid occurs in, one centroid after the other, and how many."""

    passages: NDArray[np.int32]
    sizes: NDArray[Any]


class Selection(NamedTuple):
    """Which passages a search may find: whether each, shape (passages,); all if ``None``.

    If the probed cells hold fewer than ``least``, those in other cells may be found, too.
    """

    allowed: NDArray[np.bool_] | None
    least: int

    @classmethod
    def of(cls, allowed: NDArray[np.bool_] | None, k: int, settings: SearchSettings) -> "Selection":
        """Return the selection for a search for ``k`` passages: of few, every one is looked at."""
        count = None if allowed is None else int(np.count_nonzero(allowed))
        return cls(allowed, k if count is None or count > settings.passes(k)[0] else count)


class CompressedVectors:
    """All token vectors of an index as ColBERTv2 stores them: 36 bytes each at 2 bits.

    The parts are the folders of an index, or of its shards, whose files were checked (see `files.require_vectors`): the
    search does not look whether numbers point somewhere. Shards have the same centroids, and are searched as one.
    """

    def __init__(self, parts: Sequence[Path]) -> None:
        described = [read_part(part / "metadata.json") for part in parts]
        self.nbits = int(described[0]["config"]["nbits"])
        self.centroids: NDArray[np.float32] = read_part(parts[0] / "centroids.pt").float().numpy()
        _, weights = read_part(parts[0] / "buckets.pt")
        self._weights = weights_of_bytes(weights.float().numpy(), self.nbits)
        lengths: list[int] = []
        cells: list[Cells] = []
        self.codes = np.empty(sum(metadata["num_embeddings"] for metadata in described), np.int32)
        self.residuals = np.empty((len(self.codes), self.dim * self.nbits // 8), np.uint8)
        end = 0
        for part, metadata in zip(parts, described, strict=True):
            passages, sizes = read_part(part / "ivf.pid.pt")
            cells.append(Cells(passages.numpy().astype(np.int32) + np.int32(len(lengths)), sizes.numpy()))
            for chunk in range(metadata["num_chunks"]):
                lengths += read_part(part / f"doclens.{chunk}.json")
                codes = read_part(part / f"{chunk}.codes.pt").numpy()
                begin, end = end, end + len(codes)
                self.codes[begin:end] = codes
                self.residuals[begin:end] = read_part(part / f"{chunk}.residuals.pt").numpy()
        self.offsets = _offsets(lengths)
        merged = merged_cells(cells)
        self._members, self._first_members = merged.passages, _offsets(merged.sizes)

    @property
    def dim(self) -> int:
        """Dimensions of a token vector."""
        return int(self.centroids.shape[1])

    def __len__(self) -> int:
        """Return the number of passages, removed ones counted."""
        return len(self.offsets) - 1

    def search(
        self, query: NDArray[np.float32], k: int, settings: SearchSettings, selection: Selection | None = None
    ) -> list[tuple[int, float]]:
        """Return positions and scores of the best passages, best first; of equal ones the earlier first.

        The query is its token vectors of length 1, shape (tokens, dim). Fewer than ``k`` passages come only if there
        are fewer that may be found. `MemoryError` if there is not enough for the scores of all centroids.
        """
        limit = min(k, len(self))
        positions, scores = np.empty(limit, np.int32), np.empty(limit, np.float32)
        count = kernel().polyqa_search(
            ctypes.byref(self._arrays()),
            ctypes.byref(self._asked(query, k, settings, selection)),
            pointer(positions, np.int32),
            pointer(scores, np.float32),
        )
        if count < 0:
            raise MemoryError(f"no memory for the scores of {len(self.centroids):,} centroids")
        return list(zip(positions[:count].tolist(), scores[:count].tolist(), strict=True))

    def _asked(
        self, query: NDArray[np.float32], k: int, settings: SearchSettings, selection: Selection | None = None
    ) -> Asked:
        if query.ndim != 2 or query.shape[1] != self.dim:
            raise ValueError(f"expected token vectors of {self.dim} dimensions, got an array of shape {query.shape}")
        candidates, documents = settings.passes(k)
        query = np.ascontiguousarray(query, dtype=np.float32)
        allowed, least = selection or Selection(None, k)
        if allowed is not None and allowed.shape != (len(self),):
            raise ValueError(f"expected a choice of {len(self)} passages, got an array of shape {allowed.shape}")
        if not np.abs(query).max(initial=0) <= LARGEST:
            raise PolyqaError("The model of the index makes no vectors of this question (not a number); use another.")
        mask = None if allowed is None else pointer(allowed, np.bool_)
        numbers = (len(query), settings.ncells, candidates, documents, min(k, len(self)), least)
        request = Asked(*numbers, pointer(query, np.float32), mask)
        request.keeps = query, allowed  # ctypes holds addresses only
        return request

    def _arrays(self) -> IndexArrays:
        return IndexArrays(
            len(self),
            len(self.centroids),
            self.dim,
            self.nbits,
            pointer(self.centroids, np.float32),
            pointer(self._weights, np.float32),
            pointer(self.codes, np.int32),
            pointer(self.residuals, np.uint8),
            pointer(self.offsets, np.int64),
            pointer(self._members, np.int32),
            pointer(self._first_members, np.int64),
        )


def merged_cells(parts: Sequence[Cells]) -> Cells:
    """Return the inverted file of several parts: each centroid's passages of all parts, one part after the other.

    >>> one = Cells(np.array([0, 1, 0], np.int32), np.array([2, 1]))
    >>> other = Cells(np.array([2, 2, 3], np.int32), np.array([1, 2]))
    >>> merged_cells([one, other]).passages.tolist()
    [0, 1, 2, 0, 2, 3]
    """
    if len(parts) == 1:
        return parts[0]
    sizes = np.stack([np.asarray(part.sizes, dtype=np.int64) for part in parts])  # (parts, centroids)
    total = sizes.sum(axis=0)
    # Where each part's own stretch of each centroid begins.
    begin = _offsets(total)[:-1] + np.cumsum(sizes, axis=0) - sizes
    passages = np.empty(int(total.sum()), np.int32)
    for part, counts, starts in zip(parts, sizes, begin, strict=True):
        filled = int(counts.sum())  # colbert-ai pads the list of passages
        passages[np.repeat(starts - _offsets(counts)[:-1], counts) + np.arange(filled)] = part.passages[:filled]
    return Cells(passages, total)


def _offsets(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """Return where each part begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(lengths, dtype=np.int64))])


class Rows:
    """Rows of arrays, one array after the other; they may lie on disk, and only what is asked for is read."""

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        self._arrays = [np.asarray(array) for array in arrays]  # a row of a `np.memmap` takes much longer
        self._starts = list(accumulate(map(len, arrays), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, row: int) -> NDArray[Any]:
        holder = bisect_right(self._starts, row) - 1
        return self._arrays[holder][row - self._starts[holder]]
