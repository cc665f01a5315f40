"""An index that is spread over workers finds what one machine finds, whatever they hold."""

import pickle
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import (
    BiEncoderReranker,
    ColBERTIndex,
    FusedRetriever,
    IndexFaultError,
    SearchSettings,
    build_index,
    remove_passages,
)
from polyqa.colbert_index.compressed import Candidates
from polyqa.colbert_index.spread import Request, Share, SpreadIndex, best_of, documents_of
from polyqa.models import Encoder

QUERIES = ["what stops the kite from spinning", "why does printing metal hold lead", "salt in the tea"]
NARROW = SearchSettings(ncells=2, ndocs=4, candidates=9)


class Here:
    """Shares in this process; keeps what they were asked."""

    def __init__(self, index: ColBERTIndex, held: Sequence[Sequence[int]], settings: SearchSettings) -> None:
        self._shares = [Share(str(index.path), index.fingerprint, own, settings) for own in held]
        self.asked: list[str] = []

    def __len__(self) -> int:
        return len(self._shares)

    def ask(self, requests: Mapping[int, Request]) -> dict[int, Any]:
        self.asked += [name for name, _ in requests.values()]
        return {at: self._shares[at](request) for at, request in requests.items()}


def spread(
    index: ColBERTIndex, held: Sequence[Sequence[int]] = ([0], [1, 2]), settings: SearchSettings = SearchSettings()
) -> tuple[SpreadIndex, Here]:
    shares = Here(index, held, settings)
    return SpreadIndex(index.path, shares, search_settings=settings), shares


@pytest.mark.parametrize("held", [([0, 1, 2],), ([0], [1, 2]), ([0], [1], [2])], ids=str)
@pytest.mark.parametrize("settings", [SearchSettings(), NARROW, SearchSettings(1, 1, 1)], ids=str)
def test_passages_and_scores_are_those_of_one_machine(
    sharded: ColBERTIndex, held: Sequence[Sequence[int]], settings: SearchSettings
) -> None:
    one = ColBERTIndex(sharded.path, search_settings=settings)
    many, _ = spread(sharded, held, settings)
    for k in (1, 3, 40):
        assert many.search_many([*QUERIES, " "], k) == one.search_many([*QUERIES, " "], k)
        assert many.bm25.search_many(QUERIES, k) == one.bm25.search_many(QUERIES, k)
        fused = [FusedRetriever([index, index.bm25]).search_many(QUERIES, k) for index in (one, many)]
        assert fused[0] == fused[1] != []
    assert many.bm25.search_many([]) == []


@pytest.mark.parametrize("held", [([0, 1, 2],), ([0], [1], [2])], ids=str)
@pytest.mark.parametrize("settings", [SearchSettings(), NARROW, SearchSettings(1, 1, 1)], ids=str)
def test_a_condition_finds_what_it_finds_on_one_machine(
    passages: list[Passage], tmp_path: Path, held: Sequence[Sequence[int]], settings: SearchSettings
) -> None:
    numbered = [one.model_copy(update={"metadata": {"number": at}}) for at, one in enumerate(passages)]
    build_index(iter(numbered), tmp_path / "numbered", shards=3, progress=False)
    one = ColBERTIndex(tmp_path / "numbered", search_settings=settings)
    many, _ = spread(one, held, settings)
    for condition, count in (("number < 15 or number = 30", 16), ("number >= 1", 39), ("number = 5", 1)):
        few, spread_few = one.where(condition), many.where(condition)
        assert len(few) == len(spread_few) == count
        for k in (1, 3, 40):
            found = few.search_many(QUERIES, k)
            assert spread_few.search_many(QUERIES, k) == found
            assert [len(hits) for hits in found] == [min(k, count)] * len(QUERIES)
            assert spread_few.bm25.search_many(QUERIES, k) == few.bm25.search_many(QUERIES, k)
        assert [spread_few.may_find(p.pid) for p in numbered] == [few.may_find(p.pid) for p in numbered]
    other = object.__new__(SpreadIndex)
    other.__setstate__(many.where("number = 5").__getstate__())
    assert len(other) == 1
    with pytest.raises(PolyqaError, match="there are pid, title, number"):
        many.where("nubmer = 5")


def test_passages_vectors_and_positions_are_fetched_once(sharded: ColBERTIndex, encoder: Encoder) -> None:
    many, shares = spread(sharded)
    passages = [one for one in sharded.positions if one]
    wanted = [passages[0], passages[20], passages[39], Passage(pid="unknown", title="", text="nobody holds this")]
    scores = BiEncoderReranker(encoder, sharded).score(QUERIES, wanted)
    np.testing.assert_array_equal(BiEncoderReranker(encoder, many).score(QUERIES, wanted), scores)
    asked = len(shares.asked)
    BiEncoderReranker(encoder, many).score(QUERIES, wanted)
    assert len(shares.asked) == asked
    assert many.first_passage() == sharded.first_passage() == passages[0]
    assert many.passage(passages[20].pid) == passages[20]
    assert many.position(passages[39]) == 39
    assert many.position(passages[39].model_copy(update={"text": "changed"})) is None
    assert many.position(passages[39].model_copy(update={"title": "told apart"})) == 39
    with pytest.raises(KeyError, match="unknown"):
        many.passage("unknown")
    rows = many.vectors(encoder.name)
    assert rows.shape == (40, 384)
    assert many.vectors("another") is None
    np.testing.assert_array_equal(rows[[[3], [30]]], sharded.vectors(encoder.name)[[[3], [30]]])
    np.testing.assert_array_equal(rows[5], sharded.vectors(encoder.name)[5])
    for beyond in (-1, 40):
        with pytest.raises(IndexError, match=r"lie in \[0, 40\)"):
            many.entries([beyond])


def test_removed_passages_are_not_found(sharded: ColBERTIndex, tmp_path: Path) -> None:
    copied = ColBERTIndex(shutil.copytree(sharded.path, tmp_path / "copy"))
    gone = copied.search(QUERIES[0], 1)[0]
    less = remove_passages(copied, [gone.pid])
    many, _ = spread(less)
    assert many.search_many(QUERIES, 40) == less.search_many(QUERIES, 40)
    assert gone.pid not in {one.pid for one in many.search(QUERIES[0], 40)}
    assert len(many) == 39


def test_it_travels_with_who_is_asked_and_a_copy_is_the_same(sharded: ColBERTIndex) -> None:
    many, shares = spread(sharded)
    state = many.__getstate__()
    assert state["shares"] is shares
    other = object.__new__(SpreadIndex)
    other.__setstate__(state)
    assert other.search_many(QUERIES, 3) == many.search_many(QUERIES, 3)
    assert pickle.loads(pickle.dumps({**state, "shares": None}))["index"] == str(sharded.path)


def test_what_reads_all_passages_is_told_where_they_are(sharded: ColBERTIndex) -> None:
    many, _ = spread(sharded)
    for name in ("passages", "positions", "token_vectors"):
        with pytest.raises(PolyqaError, match=r"three lie with 2 workers; .* ColBERTIndex"):
            getattr(many, name)


def test_shares_that_are_not_the_whole_index_are_refused(
    sharded: ColBERTIndex, passages: list[Passage], tmp_path: Path
) -> None:
    with pytest.raises(IndexFaultError, match=r"workers hold 27 passages of the index at .*, which has 40"):
        spread(sharded, ([0], [1]))
    other = build_index(passages[:20], tmp_path / "other", shards=2, progress=False)
    more = build_index(passages[20:], tmp_path / "more", shards=2, progress=False)
    shares = Here(other, ([0],), SearchSettings())
    shares._shares += Here(more, ([1],), SearchSettings())._shares
    with pytest.raises(IndexFaultError, match="of different builds"):
        SpreadIndex(_with_counts(other, shares), shares)
    with pytest.raises(IndexFaultError):
        Share(str(sharded.path), "0" * 16, [0], SearchSettings())


def _with_counts(index: ColBERTIndex, shares: Here) -> Path:
    """Make the manifest of an index name what some shares hold together."""
    sizes = [share.size for share in shares._shares]
    manifest = index.manifest.model_copy(
        update={"passages": sum(share.passages for share in sizes), "tokens": sum(share.tokens for share in sizes)}
    )
    (index.folder / "polyqa.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    return index.path


scores = st.floats(-1, 1, width=32)


@given(st.lists(st.tuples(scores, scores, scores), min_size=1, max_size=30), st.data())
def test_parts_together_take_what_the_whole_takes(rows: list[tuple[float, float, float]], data: st.DataObject) -> None:
    second = data.draw(st.integers(1, 30))
    third = data.draw(st.integers(1, second))
    cut = data.draw(st.integers(0, len(rows)))
    met, near, exact = (np.array(column, np.float32) for column in zip(*rows, strict=True))
    whole = Candidates(np.arange(len(rows)), met, near)
    parts = [Candidates(*(array[part] for array in whole)) for part in (slice(cut), slice(cut, None))]
    taken = documents_of(parts, (second, third))
    by_first = sorted(range(len(rows)), key=lambda at: (-met[at], at))[:second]
    expected = sorted(by_first, key=lambda at: (-near[at], at))[:third] if len(by_first) > third else by_first
    assert sorted(taken) == sorted(expected)
    assert [at for at, _ in best_of(taken, exact[taken], 5)] == sorted(expected, key=lambda at: (-exact[at], at))[:5]
