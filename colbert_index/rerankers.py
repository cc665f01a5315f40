"""Rerankers: the sentence encoder's cosine, the same with what a span reader finds, or any cross-encoder.

Tree of Clarifications and DIVA rerank with a frozen SentenceBERT bi-encoder (the released code of
the former with a cross-encoder).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyqa.base.copies import Shared
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.models import Encoder, SpanReader
from polyqa.models.loading import LOADING
from polyqa.models.running import own_threads

from .index import ColBERTIndex

_READ = 25  # passages per query
_WEIGHT = 0.02  # of a span, chosen on the training questions of ASQA


class BiEncoderReranker:
    """Cosine similarity between sentence vectors of query and passage, in [-1, 1].

    Parameters
    ----------
    encoder
        The sentence encoder.
    index
        If it holds this encoder's vectors of its passages, they are read and not computed again.

    Attributes
    ----------
    fused
        Whether what a retriever found counts beside the scores, see `rerank_found`.
    """

    fused = True

    def __init__(self, encoder: Encoder, index: ColBERTIndex | None = None) -> None:
        self.encoder = encoder
        self.index = index if index is not None and index.vectors(encoder.name) is not None else None

    def score(self, queries: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return the similarities, shape (len(queries), len(passages))."""
        if not queries or not passages:
            return np.zeros((len(queries), len(passages)), dtype=np.float32)
        return self.encoder.encode(queries) @ self._passage_vectors(passages).T

    def _passage_vectors(self, passages: Sequence[Passage]) -> NDArray[np.float32]:
        stored = self.index.vectors(self.encoder.name) if self.index else None
        if self.index is None or stored is None:
            return self.encoder.encode([passage.indexed_text for passage in passages])
        positions = [self.index.position(passage) for passage in passages]
        unknown = [passage.indexed_text for passage, at in zip(passages, positions, strict=True) if at is None]
        fresh = iter(self.encoder.encode(unknown) if unknown else ())
        return np.stack([next(fresh) if at is None else stored[at] for at in positions], dtype=np.float32)


class SpanReaderReranker:
    """What a passage is about, and whether an answer stands in it.

        score(q, p) = cos(q, p) + 0.02 · span(q, p)

    with the score of the reader's best span, a sum of two logits. Only the 25 passages nearest to a query are read;
    the others get the least span score of those that were, so that none of them overtakes all of these.

    Parameters
    ----------
    similar
        Gives the cosines.
    reader
        Reads about 60 passages per second on two CPU cores.
    """

    def __init__(self, similar: BiEncoderReranker, reader: SpanReader) -> None:
        self.similar = similar
        self.reader = reader

    def score(self, queries: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return the scores, shape (len(queries), len(passages)); about [-1, 1.5]."""
        scores = self.similar.score(queries, passages)
        if not scores.size:
            return scores
        nearest = np.argsort(-scores, axis=1, kind="stable")[:, :_READ]
        texts = [" ".join(passage.text.split()) for passage in passages]
        pairs = [(query, texts[at]) for query, places in zip(queries, nearest, strict=True) for at in places]
        readings = self.reader.read(pairs)
        spans = [reading.spans[0].score if reading.spans else reading.null_score for reading in readings]
        read = np.array(spans, dtype=np.float32).reshape(nearest.shape)
        bonus = np.repeat(read.min(axis=1, keepdims=True), len(passages), axis=1)
        np.put_along_axis(bonus, nearest, read, axis=1)
        return (scores + _WEIGHT * bonus).astype(np.float32)


class CrossEncoderReranker(Shared):
    """Any cross-encoder of sentence-transformers, such as ``cross-encoder/ms-marco-MiniLM-L-12-v2``.

    Parameters
    ----------
    name
        A path or a hub name.

    Raises
    ------
    PolyqaError
        At the first use, if the model gives a pair more than one score.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def model(self) -> Any:
        """The `sentence_transformers.CrossEncoder`, loaded on first use."""
        with LOADING:
            from sentence_transformers import CrossEncoder
            from torch.nn import Sigmoid

            # Many give logits, where what reads the scores counts on a fixed scale, as of cosines.
            model = CrossEncoder(self.name, activation_fn=Sigmoid())
        if model.num_labels != 1:
            raise PolyqaError(f"{self.name} has {model.num_labels} scores for a pair; a reranker has one.")
        return model

    def score(self, queries: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return the sigmoid of the model's relevance scores, in [0, 1], shape (len(queries), len(passages))."""
        if not queries or not passages:
            return np.zeros((len(queries), len(passages)), dtype=np.float32)
        own_threads()
        pairs = [(query, passage.indexed_text) for query in queries for passage in passages]
        scores = self.model.predict(pairs, show_progress_bar=False)
        return np.asarray(scores, dtype=np.float32).reshape(len(queries), len(passages))
