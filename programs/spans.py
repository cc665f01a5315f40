"""Searching and reranking, seen by DSPy's callbacks: what MLflow, OpenTelemetry and loggers show between the calls.

Where no callback is set (``dspy.configure(callbacks=…)``) nothing but the search happens.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dspy
import numpy as np
from dspy.utils.callback import with_callbacks
from numpy.typing import NDArray

from polyqa import colbert_index
from polyqa.base.titles import told_apart
from polyqa.base.values import Passage
from polyqa.colbert_index import Reranker, Retriever


class Retrieve(dspy.Retrieve):
    """A search, as a callback sees it: a `dspy.Retrieve` that is called with ``query`` and ``k``.

    Its outputs are the passages.
    """

    def __init__(self, retriever: Retriever, k: int) -> None:
        # Not that of `dspy.Retrieve`, which draws from the random numbers of all.
        self.stage, self.k = "", k
        self.callbacks: list[Any] = []
        self.retriever = retriever

    @with_callbacks
    def __call__(self, query: str, k: int | None = None) -> list[Passage]:
        """Search."""
        return self.retriever.search(query, k or self.k)


class Rerank:
    """Reranking, as a callback sees it: called with ``queries``, ``passages`` and ``k`` (``None``: they are scored)."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run = run

    @with_callbacks
    def __call__(self, *, queries: Sequence[str], passages: Sequence[Passage], k: int | None = None) -> Any:
        """Rerank."""
        return self._run()


def search(retriever: Retriever, query: str, k: int) -> list[Passage]:
    """Return the best ``k`` passages of a retriever, those of one title told apart by their metadata."""
    return told_apart(Retrieve(retriever, k)(query=query, k=k))


def rerank(reranker: Reranker, query: str, passages: Sequence[Passage], k: int) -> list[Passage]:
    """Return the best ``k`` of some passages, see `polyqa.colbert_index.rerank`."""
    best: list[Passage] = Rerank(partial(colbert_index.rerank, reranker, query, passages, k))(
        queries=[query], passages=passages, k=k
    )
    return best


def rerank_found(reranker: Reranker, query: str, found: Sequence[Passage], k: int) -> list[Passage]:
    """Return the best ``k`` of the passages that a retriever found, see `polyqa.colbert_index.rerank_found`."""
    best: list[Passage] = Rerank(partial(colbert_index.rerank_found, reranker, query, found, k))(
        queries=[query], passages=found, k=k
    )
    return best


def scores(reranker: Reranker, queries: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.float32]:
    """Return the scores of passages for queries, shape (queries, passages)."""
    relevance: NDArray[np.float32] = Rerank(partial(reranker.score, queries, passages))(
        queries=queries, passages=passages
    )
    return relevance
