"""How an index is built and searched, and what is written down about it."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from polyqa.signatures import Passage

_TEXT = "Passage.indexed_text 1"  # raise the number when that text changes: old indexes then count as other ones


@dataclass(frozen=True)
class IndexSettings:
    """What shapes the index; part of its fingerprint.

    Attributes
    ----------
    nbits
        Bits per dimension of the residuals, 1, 2 or 4 (ColBERTv2 uses 2).
    doc_maxlen, query_maxlen
        Longest passage and query in tokens; the rest is cut off.
    kmeans_iterations
        Iterations for the centroids.
    batch_size
        Passages per forward pass; does not change the result beyond rounding.
    seed
        For the sample that the centroids are trained on.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    nbits: Literal[1, 2, 4] = 2
    doc_maxlen: int = 180
    query_maxlen: int = 32
    kmeans_iterations: int = 4
    batch_size: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        if self.nbits not in (1, 2, 4):
            raise ValueError(f"nbits must be 1, 2 or 4, got {self.nbits}")
        if not 8 <= self.doc_maxlen <= 512 or not 8 <= self.query_maxlen <= 512:
            raise ValueError("doc_maxlen and query_maxlen must lie in [8, 512]")
        if self.kmeans_iterations < 1 or self.batch_size < 1:
            raise ValueError("kmeans_iterations and batch_size must be at least 1")


@dataclass(frozen=True)
class SearchSettings:
    """How thoroughly an index is searched (PLAID's three knobs).

    colbert-ai's defaults trade recall for speed on millions of passages (1 cell, threshold 0.5 for
    k ≤ 10). On the corpora that one machine holds the thorough setting costs milliseconds.

    Attributes
    ----------
    ncells
        Centroids that each query token probes.
    centroid_score_threshold
        Passage tokens whose centroid scores less are skipped in the first pass, in [-1, 1].
    ndocs
        Candidates that reach the second pass; at least 4 × k are taken.
    """

    ncells: int = 8
    centroid_score_threshold: float = 0.3
    ndocs: int = 4096


class Manifest(BaseModel):
    """What ``polyqa.json`` of an index says.

    Attributes
    ----------
    format
        Version of the folder's layout.
    passages, tokens
        How many passages (removed ones not counted) and token vectors it holds.
    checkpoint, checkpoint_hash
        Name or path of the ColBERT checkpoint, and a hash of its weights.
    settings
        The `IndexSettings`.
    fingerprint
        Hash of the passages in order, the checkpoint's hash and the settings.
    encoder
        Name of the sentence encoder whose passage vectors lie beside, or ``None``.
    """

    model_config = ConfigDict(frozen=True)

    format: Literal[1] = 1
    passages: int
    tokens: int
    checkpoint: str
    checkpoint_hash: str
    settings: IndexSettings
    fingerprint: str
    encoder: str | None = None
    colbert_ai: str


def fingerprint(passages: Iterable[Passage | None], checkpoint_hash: str, settings: IndexSettings) -> str:
    """Return the hash that names the content of an index: 16 hexadecimal digits.

    ``None`` stands for a removed passage: removing and adding is not the same index as building again,
    because the centroids differ.
    """
    digest = hashlib.sha256(f"{_TEXT} {checkpoint_hash}".encode())
    digest.update(json.dumps(asdict(settings), sort_keys=True).encode())
    for passage in passages:
        fields = [passage.pid, passage.title, passage.text] if passage else None
        digest.update(json.dumps(fields, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()[:16]
