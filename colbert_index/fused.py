"""Pools the candidates of several retrievers."""

from collections.abc import Sequence

from polyqa.signatures import Passage

from .retriever import Retriever


class FusedRetriever:
    """Several retrievers as one, by reciprocal rank fusion.

    Every retriever is asked for ``k`` passages; the pooled passages are ordered by

        score(p) = Σ_r 1 / (c + rank_r(p))

    with ranks from 1 and c = 60 (Cormack, Clarke and Büttcher, 2009). A passage that a retriever
    does not return adds nothing; equal scores keep the order of the first retriever.

    Parameters
    ----------
    retrievers
        At least one, over corpora whose passage ids agree.
    constant
        The c of the formula, above 0: the larger, the less the first ranks stand out.
    """

    def __init__(self, retrievers: Sequence[Retriever], *, constant: float = 60.0) -> None:
        if not retrievers:
            raise ValueError("fusion needs at least one retriever")
        if constant <= 0:
            raise ValueError(f"constant must be above 0, got {constant}")
        self.retrievers = tuple(retrievers)
        self.constant = constant

    def search(self, query: str, k: int = 10) -> list[Passage]:
        """Return the ``k`` best passages of the pool; see `search_many`."""
        return self.search_many([query], k)[0]

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Return per query at most ``k`` passages, best first, each with its fused score."""
        rankings = [retriever.search_many(queries, k) for retriever in self.retrievers]
        return [self._fuse([ranking[index] for ranking in rankings], k) for index in range(len(queries))]

    def _fuse(self, rankings: Sequence[Sequence[Passage]], k: int) -> list[Passage]:
        scores: dict[str, float] = {}
        passages: dict[str, Passage] = {}
        for ranking in rankings:
            for rank, passage in enumerate(ranking, 1):
                passages.setdefault(passage.pid, passage)
                scores[passage.pid] = scores.get(passage.pid, 0.0) + 1.0 / (self.constant + rank)
        best = sorted(scores, key=lambda pid: -scores[pid])[:k]
        return [passages[pid].with_score(scores[pid]) for pid in best]
