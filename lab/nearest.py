"""Texts by the words that they share with a question."""

from collections.abc import Sequence

from polyqa.base.values import Passage
from polyqa.colbert_index import BM25Retriever


def nearest_by_words(texts: Sequence[str], queries: Sequence[str], k: int) -> list[list[int]]:
    """Return per query the positions of at most ``k`` texts that share a word with it, best first by BM25."""
    if not texts:
        return [[] for _ in queries]
    found = BM25Retriever([Passage(pid=str(place), text=text) for place, text in enumerate(texts)])
    return [[int(passage.pid) for passage, _ in row] for row in found.rank_many(queries, k)]
