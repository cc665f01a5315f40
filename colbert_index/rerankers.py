"""Rerankers: the sentence encoder's cosine, or any cross-encoder.

Tree of Clarifications and DIVA rerank with a frozen SentenceBERT bi-encoder (the released code of
the former with a cross-encoder).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_models import Encoder
from signatures import Passage

from .index import ColBERTIndex


class BiEncoderReranker:
    """Cosine similarity between sentence vectors of query and passage, in [-1, 1].

    Parameters
    ----------
    encoder
        The sentence encoder.
    index
        If it holds this encoder's vectors of its passages, they are read and not computed again.
    """

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
        fresh = iter(self.encoder.encode(unknown))
        rows = [next(fresh) if at is None else stored[at].astype(np.float32) for at in positions]
        return np.stack(rows)


class CrossEncoderReranker:
    """Any cross-encoder of sentence-transformers, such as ``cross-encoder/ms-marco-MiniLM-L-12-v2``.

    Parameters
    ----------
    name
        A path or a hub name.
    batch_size
        Pairs per forward pass.
    """

    def __init__(self, name: str, *, batch_size: int = 32) -> None:
        self.name = name
        self.batch_size = batch_size

    @cached_property
    def model(self) -> Any:
        """The `sentence_transformers.CrossEncoder`, loaded on first use."""
        from sentence_transformers import CrossEncoder

        return CrossEncoder(self.name)

    def score(self, queries: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return the model's relevance scores, shape (len(queries), len(passages)); their range is its own."""
        if not queries or not passages:
            return np.zeros((len(queries), len(passages)), dtype=np.float32)
        pairs = [(query, passage.indexed_text) for query in queries for passage in passages]
        scores = self.model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False)
        return np.asarray(scores, dtype=np.float32).reshape(len(queries), len(passages))

    def __deepcopy__(self, memo: dict[int, object]) -> "CrossEncoderReranker":
        return self
