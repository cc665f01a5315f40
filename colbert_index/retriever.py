"""What programs know of retrieval: two narrow protocols, and what combines their implementations."""

from collections.abc import Sequence
from itertools import chain
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyqa.base.values import Passage

_FUSION = 60.0  # the constant of reciprocal rank fusion
_TOP = 10.0  # the same where the first places alone count
_RETRIEVERS = 2.0  # what was found is the order of two retrievers, a reranker is one voice beside them


@runtime_checkable
class Retriever(Protocol):
    """Finds passages for questions."""

    def search(self, query: str, k: int = 10) -> list[Passage]:
        """Return at most ``k`` passages, best first, each with its score; see `search_many`."""
        return self.search_many([query], k)[0]

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Return the passages of each query; the same as one `search` per query, but in batches."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores passages against queries."""

    def score(self, queries: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return the relevance of every passage to every query, shape (len(queries), len(passages))."""
        ...


def require_positive(k: int) -> None:
    """Raise `ValueError` if no passage is asked for."""
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")


def rerank(reranker: Reranker, query: str, passages: Sequence[Passage], k: int) -> list[Passage]:
    """Return the ``k`` passages most relevant to ``query``, best first, with the reranker's scores.

    Passages of equal score keep their order.
    """
    require_positive(k)
    if not passages:
        return []
    scores = np.asarray(reranker.score([query], passages)[0])
    order = np.argsort(-scores, kind="stable")[:k]
    return [passages[index].with_score(scores[index]) for index in order]


def rerank_found(reranker: Reranker, query: str, found: Sequence[Passage], k: int) -> list[Passage]:
    """Return the ``k`` most relevant of the passages that a retriever found, with the reranker's scores.

    A reranker that is ``fused`` (the sentence encoder's cosine) does not decide alone: the passages are in the order of

        score(p) = 2 / (10 + rank_found(p)) + 1 / (10 + rank_reranked(p))

    with ranks from 1, equal for equal scores. Over folders of documents the cosine alone left about one in eight of
    the answers out of the first five passages that the search had put there. Any other reranker decides alone, as in
    `rerank`.

    Parameters
    ----------
    reranker
        Scores them.
    query
        What was searched for.
    found
        Passages with the scores of their retriever.
    k
        How many, at least 1.
    """
    if not getattr(reranker, "fused", False) or not found:
        return rerank(reranker, query, found, k)
    require_positive(k)
    scores = np.asarray(reranker.score([query], found)[0])
    votes = _RETRIEVERS / (_TOP + _ranks([passage.score for passage in found])) + 1 / (_TOP + _ranks(scores))
    order = np.lexsort((-scores, -votes))[:k]
    return [found[index].with_score(scores[index]) for index in order]


def _ranks(scores: ArrayLike) -> NDArray[np.int64]:
    """Return the rank of each score, the highest 1; of equal scores each has the best of their ranks."""
    ascending = np.sort(scores)
    return np.asarray(1 + len(ascending) - np.searchsorted(ascending, scores, side="right"))


class MergedRetriever(Retriever):
    """Several retrievers over parts of one corpus, whose scores can be compared: the best of all, by score.

    Passages of equal score keep the order of the retrievers.
    """

    def __init__(self, retrievers: Sequence[Retriever]) -> None:
        self.retrievers = tuple(retrievers)

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Return per query at most ``k`` passages, best first."""
        found = zip(*(retriever.search_many(queries, k) for retriever in self.retrievers), strict=True)
        return [sorted(chain.from_iterable(parts), key=lambda passage: -passage.score)[:k] for parts in found]


class FusedRetriever(Retriever):
    """Several retrievers as one, by reciprocal rank fusion.

    Every retriever is asked for ``k`` passages; the pooled passages are ordered by

        score(p) = Σ_r 1 / (60 + rank_r(p))

    with ranks from 1 (Cormack, Clarke and Büttcher, 2009). A passage that a retriever
    does not return adds nothing; equal scores keep the order of the first retriever.

    Parameters
    ----------
    retrievers
        At least one, over corpora whose passage ids agree.
    """

    def __init__(self, retrievers: Sequence[Retriever]) -> None:
        if not retrievers:
            raise ValueError("fusion needs at least one retriever")
        self.retrievers = tuple(retrievers)

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Return per query at most ``k`` passages, best first, each with its fused score."""
        found = zip(*(retriever.search_many(queries, k) for retriever in self.retrievers), strict=True)
        return [self._fuse(of_query, k) for of_query in found]

    def _fuse(self, rankings: Sequence[Sequence[Passage]], k: int) -> list[Passage]:
        scores: dict[str, float] = {}
        passages: dict[str, Passage] = {}
        for ranking in rankings:
            for rank, passage in enumerate(ranking, 1):
                passages.setdefault(passage.pid, passage)
                scores[passage.pid] = scores.get(passage.pid, 0.0) + 1.0 / (_FUSION + rank)
        best = sorted(scores, key=lambda pid: -scores[pid])[:k]
        return [passages[pid].with_score(scores[pid]) for pid in best]
