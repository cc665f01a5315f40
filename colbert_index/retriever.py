"""What programs know of retrieval: two narrow protocols."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polyqa.signatures import Passage


@runtime_checkable
class Retriever(Protocol):
    """Finds passages for questions."""

    def search(self, query: str, k: int = 10) -> list[Passage]:
        """Return at most ``k`` passages, best first, each with its score."""
        ...

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Return the passages of each query; the same as one `search` per query, but in batches."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores passages against queries."""

    def score(self, queries: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return the relevance of every passage to every query, shape (len(queries), len(passages))."""
        ...


def rerank(reranker: Reranker, query: str, passages: Sequence[Passage], k: int) -> list[Passage]:
    """Return the ``k`` passages most relevant to ``query``, best first, with the reranker's scores.

    Passages of equal score keep their order.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if not passages:
        return []
    scores = reranker.score([query], passages)[0]
    order = np.argsort(-scores, kind="stable")[:k]
    return [passages[index].with_score(scores[index]) for index in order]
