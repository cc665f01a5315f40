import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import (
    BiEncoderReranker,
    ColBERTIndex,
    CrossEncoderReranker,
    Reranker,
    SpanReaderReranker,
    add_passages,
    build_index,
    rerank,
    rerank_found,
    rerankers,
)
from polyqa.colbert_index.files import write_checksums
from polyqa.models import Encoder, Reader
from polyqa.models.compact import minilm_path

QUERIES = ["why is old ice blue", "what keeps bread free of mould", "sound post of the violin"]


class Lengths:
    """A reranker that likes long texts."""

    def score(self, queries: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.float32]:
        return np.array([[len(passage.text) for passage in passages] for _ in queries], dtype=np.float32)


@pytest.mark.parametrize("k", [3, 6, 100])
def test_rerank_orders_by_score_cuts_and_keeps_the_order_of_ties(k: int) -> None:
    texts = [Passage(pid=word, text=word, score=1.0) for word in ("aa", "c", "bbb", "dd", "e", "fff")]
    found = [(passage.text, passage.score) for passage in rerank(Lengths(), "q", texts, k=k)]
    assert found == [("bbb", 3), ("fff", 3), ("aa", 2), ("dd", 2), ("c", 1), ("e", 1)][:k]
    assert all(passage.score == 1.0 for passage in texts)
    assert rerank(Lengths(), "q", [], k=k) == []


def test_the_scores_of_a_reranker_of_ones_own_may_be_lists() -> None:
    lists: Any = SimpleNamespace(score=lambda queries, passages: [[float(len(one.text)) for one in passages]])
    texts = [Passage(pid=word, text=word) for word in ("c", "bbb")]
    assert [one.pid for one in rerank(lists, "q", texts, k=2)] == ["bbb", "c"]
    lists.fused = True
    assert [one.pid for one in rerank_found(lists, "q", texts, k=2)] == ["bbb", "c"]


class CountedLengths(Lengths):
    """The same, as one voice beside the retriever."""

    fused = True


def test_what_was_found_counts_beside_a_fused_reranker() -> None:
    found = [Passage(pid=word, text=word, score=9 - at) for at, word in enumerate(("a", "bb", "ccc", "dddd"))]
    votes = {"a": 2 / 11 + 1 / 14, "bb": 2 / 12 + 1 / 13, "ccc": 2 / 13 + 1 / 12, "dddd": 2 / 14 + 1 / 11}
    best = rerank_found(CountedLengths(), "q", found, 3)
    assert [one.pid for one in best] == sorted(votes, key=lambda pid: -votes[pid])[:3]
    assert [one.score for one in best] == [len(one.text) for one in best]  # the reranker's
    assert [one.pid for one in rerank_found(Lengths(), "q", found, 4)] == ["dddd", "ccc", "bb", "a"]
    assert rerank_found(CountedLengths(), "q", [], 3) == []
    with pytest.raises(ValueError, match="at least 1"):
        rerank_found(CountedLengths(), "q", found, 0)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=12), st.integers(1, 15))
def test_a_fused_reranker_alone_decides_among_passages_that_nothing_ranked(lengths: list[int], k: int) -> None:
    found = [Passage(pid=str(at), text="x" * length) for at, length in enumerate(lengths)]
    assert rerank_found(CountedLengths(), "q", found, k) == rerank(CountedLengths(), "q", found, k)


def test_the_bi_encoders_scores_are_cosines_of_the_indexed_texts(encoder: Encoder, passages: list[Passage]) -> None:
    reranker = BiEncoderReranker(encoder)
    assert isinstance(reranker, Reranker)
    best = [rerank(reranker, query, passages, k=1)[0].pid for query in QUERIES]
    assert best == ["ice-blue", "dough-acid", "violin-post"]
    texts = [passage.indexed_text for passage in passages]
    np.testing.assert_allclose(reranker.score(QUERIES, passages), encoder.similarity(QUERIES, texts), atol=1e-6)


def test_stored_vectors_are_read_and_not_computed(
    copy_folder: Callable[[], Path], encoder: Encoder, passages: list[Passage]
) -> None:
    path = copy_folder()
    np.save(path / "vectors.npy", np.eye(40, 384, dtype=np.float16))
    write_checksums(path)
    scores = BiEncoderReranker(encoder, ColBERTIndex(path.parents[1])).score(QUERIES, passages)
    np.testing.assert_allclose(scores, encoder.encode(QUERIES)[:, :40], atol=1e-6)


def test_stored_vectors_agree_with_computed_ones_also_beside_passages_that_the_index_does_not_hold(
    index: ColBERTIndex, encoder: Encoder, passages: list[Passage]
) -> None:
    changed = passages[0].model_copy(update={"text": "A marmot whistles."})
    foreign = Passage(pid="marmot", text="The burrow of the marmot is dry.")
    stored, computed = BiEncoderReranker(encoder, index), BiEncoderReranker(encoder)
    assert stored.index is index
    queries = [*QUERIES, "marmot", "burrow", "sea water"]
    for chosen in ([passages[n] for n in (39, 0, 17, 17, 5)], [foreign, passages[7], changed, passages[30]]):
        np.testing.assert_allclose(stored.score(queries, chosen), computed.score(queries, chosen), atol=2e-2)


def test_an_index_without_vectors_or_with_those_of_another_encoder_will_do(
    index: ColBERTIndex, encoder: Encoder, tmp_path: Path
) -> None:
    plain = build_index(["Green tea is steamed.", "Old ice is blue."], tmp_path / "plain", progress=False)
    reranker = BiEncoderReranker(encoder, plain)
    assert reranker.index is BiEncoderReranker(Encoder(str(minilm_path())), index).index is None
    assert rerank(reranker, "glacier", plain.passages, k=1)[0].text == "Old ice is blue."
    with_more = add_passages(plain, [{"id": "m", "text": "A marmot whistles."}])
    assert rerank(BiEncoderReranker(encoder, with_more), "marmot", with_more.passages, k=1)[0].pid == "m"


@pytest.mark.parametrize(("queries", "count"), [(0, 2), (2, 0), (0, 0)])
def test_nothing_to_score(
    encoder: Encoder, index: ColBERTIndex, passages: list[Passage], queries: int, count: int
) -> None:
    similar = BiEncoderReranker(encoder)
    plain = (similar, BiEncoderReranker(encoder, index), CrossEncoderReranker("none"))
    for reranker in (*plain, SpanReaderReranker(similar, Reader())):
        scores = reranker.score(QUERIES[:queries], passages[:count])
        assert scores.shape == (queries, count)
        assert scores.dtype == np.float32


def test_the_reader_lifts_what_holds_an_answer(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerankers, "_WEIGHT", 0.1)
    question = "Who built the mill by the river?"
    talk = Passage(pid="talk", text="People often ask who built the mill by the river, and nobody there can say.")
    fact = Passage(pid="fact", text="The mill was built by Piet Harlan in the autumn of 1840, with oak from Ost.")
    other = Passage(pid="other", text="Herring is salted within a day.")
    similar = BiEncoderReranker(encoder)
    assert [p.pid for p in rerank(similar, question, [other, talk, fact], 3)] == ["talk", "fact", "other"]
    reader = Reader()
    reading = SpanReaderReranker(similar, reader)
    assert isinstance(reading, Reranker)
    assert [p.pid for p in rerank(reading, question, [other, talk, fact], 3)] == ["fact", "talk", "other"]
    scores = reading.score([question, "What is salted?"], [other, talk, fact])
    spans = [reader.read([(question, p.text)])[0].spans[0].score for p in (other, talk, fact)]
    assert scores[0] == pytest.approx(
        similar.score([question], [other, talk, fact])[0] + 0.1 * np.array(spans), abs=1e-3
    )
    assert scores.dtype == np.float32


def test_what_is_not_read_stays_behind_what_is(
    encoder: Encoder, passages: list[Passage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerankers, "_READ", 4)
    similar = BiEncoderReranker(encoder)
    first = [p.pid for p in rerank(similar, QUERIES[0], passages, 4)]
    found = [p.pid for p in rerank(SpanReaderReranker(similar, Reader()), QUERIES[0], passages, 40)]
    assert set(found[:4]) >= set(first[:3])
    assert [pid for pid in found if pid not in first] == [
        p.pid for p in rerank(similar, QUERIES[0], passages, 40) if p.pid not in first
    ]


def random_cross_encoder(folder: Path, *, labels: int = 1) -> CrossEncoderReranker:
    """Save a cross-encoder of two small layers with random weights, which gives logits as those of MS MARCO do."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(minilm_path())
    with torch.random.fork_rng():
        torch.manual_seed(5)
        shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        config = BertConfig(vocab_size=len(tokenizer), num_labels=labels, initializer_range=0.5, **shape)
        config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity"}
        BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return CrossEncoderReranker(str(folder))


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoderReranker:
    """What it likes is fixed but means nothing."""
    return random_cross_encoder(tmp_path_factory.mktemp("cross_encoder"))


def test_a_cross_encoder_scores_every_pair(cross_encoder: CrossEncoderReranker, passages: list[Passage]) -> None:
    assert isinstance(cross_encoder, Reranker)
    chosen = passages[::9]
    scores = cross_encoder.score(QUERIES, chosen)
    assert scores.shape == (3, 5)
    assert ((scores > 0) & (scores < 1)).all()
    assert np.unique(scores.round(4)).size == 15
    for row, query in enumerate(QUERIES):
        for column, passage in enumerate(chosen):
            alone = cross_encoder.score([query], [passage])
            np.testing.assert_allclose(alone, [[scores[row, column]]], atol=1e-4)
    best = rerank(cross_encoder, QUERIES[0], chosen, k=5)
    assert [passage.pid for passage in best] == [chosen[n].pid for n in np.argsort(-scores[0])]


def test_a_cross_encoder_that_sorts_into_classes_is_no_reranker(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="has 3 scores for a pair; a reranker has one"):
        random_cross_encoder(tmp_path, labels=3).score(QUERIES[:1], [Passage(pid="a", text="Tea.")])


def test_deep_copies_share_the_models(cross_encoder: CrossEncoderReranker, encoder: Encoder) -> None:
    assert copy.deepcopy(cross_encoder) is cross_encoder
    assert copy.deepcopy(BiEncoderReranker(encoder)).encoder is encoder
