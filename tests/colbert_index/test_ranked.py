"""Rankings hold the passages themselves; copies are made of those that are returned."""

from collections.abc import Sequence

import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, FusedRetriever, Retriever
from polyqa.colbert_index.retriever import MergedRetriever, Ranks, ranked, scored

QUERIES = ["When was the bridge opened?", "river", "", "zzz"]


class Plain(Retriever):
    """A retriever of a user's own, which knows of no rankings."""

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Return one passage for each query."""
        return [[Passage(pid=query, text=query, score=3.5)] for query in queries]


@pytest.mark.parametrize("kind", ["colbert", "bm25", "merged", "shards", "BM25 of shards"])
def test_a_ranking_holds_the_passages_of_the_index_and_the_scores_of_a_search(
    kind: str, index: ColBERTIndex, sharded: ColBERTIndex
) -> None:
    retrievers: dict[str, Retriever] = {
        "colbert": index,
        "bm25": index.bm25,
        "merged": MergedRetriever([index.bm25]),
        "shards": sharded,
        "BM25 of shards": sharded.bm25,
    }
    rankings = ranked(retrievers[kind], QUERIES, 7)
    assert scored(rankings) == retrievers[kind].search_many(QUERIES, 7)
    assert rankings[0]
    held = {id(passage) for one in (index, sharded) for passage in one.positions}
    assert {id(passage) for ranking in rankings for passage, _ in ranking} <= held
    with pytest.raises(ValueError, match="at least 1"):
        ranked(retrievers[kind], QUERIES, 0)


def test_a_retriever_without_rankings_is_searched() -> None:
    assert not isinstance(Plain(), Ranks)
    assert ranked(Plain(), ["a", "b"], 3) == [
        [(Passage(pid="a", text="a", score=3.5), 3.5)],
        [(Passage(pid="b", text="b", score=3.5), 3.5)],
    ]
    assert [one.pid for one in FusedRetriever([Plain()]).search("a")] == ["a"]
