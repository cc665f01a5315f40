from collections.abc import Mapping, Sequence

import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, FusedRetriever, Retriever
from polyqa.colbert_index.retriever import MergedRetriever


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


@pytest.mark.parametrize(
    ("rankings", "expected"),
    [
        (["abc", "cd"], {"c": 1 / 63 + 1 / 61, "a": 1 / 61, "b": 1 / 62, "d": 1 / 62}),
        (["xab", "yab"], {"a": 2 / 62, "b": 2 / 63, "x": 1 / 61, "y": 1 / 61}),
        (["ab", "ba", ""], {"a": 1 / 61 + 1 / 62, "b": 1 / 61 + 1 / 62}),
        (["a", "b"], {"a": 1 / 61, "b": 1 / 61}),
        (["cab"], {"c": 1 / 61, "a": 1 / 62, "b": 1 / 63}),
    ],
    ids=["formula", "two ranks", "ties", "ties of different passages", "one"],
)
def test_the_formula_by_hand(rankings: list[str], expected: dict[str, float]) -> None:
    found = FusedRetriever([Ranking({"q": ranking}) for ranking in rankings]).search("q")
    assert [passage.pid for passage in found] == list(expected)  # equal scores keep the order of the first retriever
    assert [passage.score for passage in found] == pytest.approx(list(expected.values()))


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
    with pytest.raises(ValueError, match="at least one retriever"):
        FusedRetriever([])


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


def test_no_passage_is_asked_for(index: ColBERTIndex) -> None:
    for retriever in (index, index.bm25, MergedRetriever([index.bm25])):
        for k in (0, -1):
            with pytest.raises(ValueError, match=f"k must be at least 1, got {k}"):
                retriever.search_many(["river"], k)
