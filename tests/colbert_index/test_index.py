import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import (
    ColBERTIndex,
    IndexFaultError,
    IndexSettings,
    Retriever,
    SearchSettings,
    build_index,
)

QUERIES = {
    "what stops the kite from spinning in gusts": "kite-tail",
    "how do hermit crabs swap their snail shells": "pool-hermit",
    "why is old glacier ice blue": "ice-blue",
    "which tea is churned with butter": "tea-salt",
    "what does rosin do for the bow": "violin-bow",
    "what is type metal made of": "type-lead",
}


@pytest.mark.parametrize(("query", "pid"), QUERIES.items())
def test_a_question_finds_its_passage(index: ColBERTIndex, passages: list[Passage], query: str, pid: str) -> None:
    found = index.search(query, k=5)
    assert found[0].pid == pid
    assert found[0].with_score(0) in passages
    assert len(found) == len({passage.pid for passage in found}) == 5
    scores = [passage.score for passage in found]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= index.settings.query_maxlen


def test_search_many_is_many_searches(index: ColBERTIndex) -> None:
    many = index.search_many(list(QUERIES), k=3)
    for query, found in zip(QUERIES, many, strict=True):
        alone = index.search(query, k=3)
        assert [passage.pid for passage in found] == [passage.pid for passage in alone]
        assert [passage.score for passage in found] == pytest.approx([p.score for p in alone], abs=0.05)
    assert index.search_many([]) == []


def test_as_many_passages_as_asked_for_or_as_there_are(index: ColBERTIndex, passages: list[Passage]) -> None:
    query = "what does rosin do for the bow"
    found = index.search(query, k=1000)
    assert found[0].pid == "violin-bow"
    assert found[:2] == index.search(query, k=2)
    assert sorted(passage.pid for passage in found) == sorted(passage.pid for passage in passages)


@pytest.mark.parametrize("empty", ["", "  \n\t"])
def test_an_empty_query_finds_nothing(index: ColBERTIndex, empty: str) -> None:
    assert index.search(empty) == []
    first, second, third = index.search_many([empty, "old blue ice of the glacier", empty], k=1)
    assert (first, [passage.pid for passage in second], third) == ([], ["ice-blue"], [])


def test_a_long_query_is_cut(index: ColBERTIndex) -> None:
    query = "what stops the kite from spinning " * 8
    assert index.search(query, k=5) == index.search(query + "violin tea glacier", k=5)


def test_fewer_cells_offer_other_candidates_and_all_are_found_all_the_same(index: ColBERTIndex) -> None:
    few, many, narrow, hasty = (
        ColBERTIndex(index.path, search_settings=settings)
        for settings in (
            *(SearchSettings(ncells, ndocs=5, candidates=5) for ncells in (1, 8)),
            SearchSettings(ncells=1),
            SearchSettings(candidates=8, ndocs=4),
        )
    )
    assert any(few.search(query, k=5) != many.search(query, k=5) for query in QUERIES)
    for query, pid in QUERIES.items():
        found = narrow.search(query, k=40)
        assert found[0].pid == hasty.search(query, k=1)[0].pid == pid
        assert len(found) == 40


def test_the_handle_tells_what_it_holds(index: ColBERTIndex, passages: list[Passage]) -> None:
    opened = ColBERTIndex(str(index.path))
    assert len(opened) == len(passages) == 40
    assert opened.passages == opened.positions == passages
    assert opened.name == "forty"
    assert opened.settings == IndexSettings()
    assert opened.passage("tea-salt") == next(p for p in passages if p.pid == "tea-salt")
    with pytest.raises(KeyError):
        opened.passage("tea-sugar")
    info = opened.info()
    assert info["bytes"] == sum(file.stat().st_size for file in index.folder.rglob("*") if file.is_file())
    assert (info["name"], info["passages"], info["encoder"]) == ("forty", 40, "all-MiniLM-L6-v2")
    assert info["fingerprint"] in repr(opened)


def test_the_position_of_a_passage_needs_its_text(index: ColBERTIndex, passages: list[Passage]) -> None:
    assert [index.position(passage.with_score(3)) for passage in passages] == list(range(40))
    assert index.position(passages[3].model_copy(update={"text": "other"})) is None
    assert index.position(passages[3].model_copy(update={"title": "other"})) == 3, "a title may be told apart"
    assert index.position(passages[3].model_copy(update={"pid": "other"})) is None


def test_vectors_are_given_out_for_their_encoder_only(index: ColBERTIndex) -> None:
    vectors = index.vectors("all-MiniLM-L6-v2")
    assert vectors is not None
    assert (len(vectors), len(vectors[39])) == (40, 384)
    assert index.vectors("another-encoder") is None


def test_an_index_is_a_retriever_that_deep_copies_share(index: ColBERTIndex) -> None:
    assert [isinstance(one, Retriever) for one in (index, index.bm25, "text")] == [True, True, False]
    nested = copy.deepcopy({"retriever": [index, index.bm25]})
    assert nested["retriever"][0] is index
    assert nested["retriever"][1] is index.bm25


def test_a_pickle_opens_the_same_index(index: ColBERTIndex) -> None:
    index.search("kite")
    settings = SearchSettings(ncells=2, candidates=40, ndocs=32)
    pickled = pickle.dumps(ColBERTIndex(index.path, search_settings=settings))
    assert len(pickled) < 1000
    opened = pickle.loads(pickled)
    assert (opened.path, opened.fingerprint) == (index.path, index.fingerprint)
    assert opened.search_settings == settings
    again = pickle.loads(pickle.dumps(index))
    assert again.search("old blue ice", k=4) == index.search("old blue ice", k=4)


def test_a_pickle_of_an_index_that_has_changed_or_is_gone_is_refused(copy_index: Callable[[], Path]) -> None:
    path = copy_index()
    old = ColBERTIndex(path)
    pickled = pickle.dumps(old)
    rebuilt = build_index(["A marmot whistles."], path, overwrite=True, progress=False)
    assert old.search("old blue ice", k=1)[0].pid == "ice-blue", "a handle finds what it opened"
    assert len(old.passages) == 40
    del old
    with pytest.raises(IndexFaultError, match=f"has changed: its fingerprint is {rebuilt.fingerprint}"):
        pickle.loads(pickled)
    path.rename(path.with_name("elsewhere"))
    with pytest.raises(IndexFaultError, match="There is no index at"):
        pickle.loads(pickled)


def test_a_relative_path_outlives_a_change_of_folder(
    copy_index: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_index()
    monkeypatch.chdir(path.parent)
    index = ColBERTIndex(Path("copy"))
    pickled = pickle.dumps(index)
    monkeypatch.chdir("/")
    assert index.search("kite", k=1)
    assert pickle.loads(pickled).fingerprint == index.fingerprint


def test_eight_threads_find_what_one_finds(index: ColBERTIndex) -> None:
    one = [index.search(query, k=5) for query in QUERIES]
    shared = ColBERTIndex(index.path)  # nothing loaded: the threads race to load it
    start = Barrier(8)

    def search(_: int) -> list[list[Passage]]:
        start.wait()
        return [shared.search(query, k=5) for query in QUERIES]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(search, range(8)))
    assert found == [one] * 8
