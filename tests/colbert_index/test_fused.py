from collections.abc import Mapping, Sequence

import pytest

from polyqa.colbert_index import ColBERTIndex, FusedRetriever, Retriever
from polyqa.signatures import Passage


class Ranking:
    """A retriever whose rankings are written down."""

    def __init__(self, rankings: Mapping[str, str], label: str = "") -> None:
        self.rankings = rankings
        self.label = label

    def search(self, query: str, k: int = 10) -> list[Passage]:
        pids = self.rankings.get(query, "")[:k]
        return [Passage(pid=pid, text=f"{self.label}{pid}", score=9.0 - rank) for rank, pid in enumerate(pids)]

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        return [self.search(query, k) for query in queries]


def scores(passages: Sequence[Passage]) -> dict[str, float]:
    return {passage.pid: passage.score for passage in passages}


def test_the_formula_by_hand() -> None:
    fused = FusedRetriever([Ranking({"q": "abc"}), Ranking({"q": "cd"})])
    found = fused.search("q")
    assert [passage.pid for passage in found] == ["c", "a", "b", "d"]
    assert scores(found) == pytest.approx({"c": 1 / 63 + 1 / 61, "a": 1 / 61, "b": 1 / 62, "d": 1 / 62})


def test_a_small_constant_favours_the_first_ranks() -> None:
    rankings = [Ranking({"q": "xab"}), Ranking({"q": "yab"})]
    small = FusedRetriever(rankings, constant=0.1).search("q")
    assert [passage.pid for passage in small] == ["a", "x", "y", "b"]
    assert scores(small) == pytest.approx({"a": 2 / 2.1, "x": 1 / 1.1, "y": 1 / 1.1, "b": 2 / 3.1})
    large = FusedRetriever(rankings).search("q")
    assert [passage.pid for passage in large] == ["a", "b", "x", "y"]


def test_equal_scores_keep_the_order_of_the_first_retriever() -> None:
    found = FusedRetriever([Ranking({"q": "ab"}), Ranking({"q": "ba"}), Ranking({"q": ""})]).search("q")
    assert [passage.pid for passage in found] == ["a", "b"]
    found = FusedRetriever([Ranking({"q": "a"}), Ranking({"q": "b"})]).search("q")
    assert [passage.pid for passage in found] == ["a", "b"]


def test_the_passage_is_that_of_the_first_retriever_that_finds_it() -> None:
    fused = FusedRetriever([Ranking({"q": "a"}, "first "), Ranking({"q": "ba"}, "second ")])
    assert [passage.text for passage in fused.search("q")] == ["first a", "second b"]


def test_k_limits_the_pool_and_the_result() -> None:
    fused = FusedRetriever([Ranking({"q": "abz"}), Ranking({"q": "cdz"})])
    assert [passage.pid for passage in fused.search("q", k=2)] == ["a", "c"]
    assert fused.search("q", k=3)[0].pid == "z"


def test_search_many_is_many_searches() -> None:
    fused = FusedRetriever([Ranking({"q": "ab", "r": "c"}), Ranking({"q": "ba", "s": "d"})])
    queries = ["q", "r", "s", "nothing"]
    found = fused.search_many(queries, k=2)
    assert found == [fused.search(query, k=2) for query in queries]
    assert [[passage.pid for passage in row] for row in found] == [["a", "b"], ["c"], ["d"], []]
    assert fused.search_many([]) == []


def test_one_retriever_keeps_its_order() -> None:
    assert [passage.pid for passage in FusedRetriever([Ranking({"q": "cab"})]).search("q")] == ["c", "a", "b"]


def test_faulty_arguments() -> None:
    with pytest.raises(ValueError, match="at least one retriever"):
        FusedRetriever([])
    with pytest.raises(ValueError, match="constant must be above 0, got 0"):
        FusedRetriever([Ranking({})], constant=0)


def test_colbert_and_bm25_together(index: ColBERTIndex) -> None:
    fused = FusedRetriever([index, index.bm25])
    assert isinstance(fused, Retriever)
    query = "how does rosin let the horsehair of the bow grip the string"
    found = fused.search(query, k=5)
    ranks = [
        {passage.pid: rank for rank, passage in enumerate(ranking, 1)}
        for ranking in (index.search(query, k=5), index.bm25.search(query, k=5))
    ]
    assert found[0].pid == "violin-bow"
    for passage in found:
        expected = sum(1 / (60 + rank[passage.pid]) for rank in ranks if passage.pid in rank)
        assert passage.score == pytest.approx(expected)
    assert fused.search("") == []
