"""How an index is built and searched, and what is written down about it."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt
from pydantic.dataclasses import dataclass

from polyqa.base.values import Passage

from .filters import Kind

MOST_SHARDS = 10_000
_TEXT = "Passage.indexed_text 1"  # raise the number when that text changes: old indexes then count as other ones


_Length = Annotated[int, Field(ge=8, le=512)]  # of a text, in tokens


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
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

    nbits: Literal[1, 2, 4] = 2
    doc_maxlen: _Length = 180
    query_maxlen: _Length = 32
    kmeans_iterations: PositiveInt = 4
    batch_size: PositiveInt = 32
    seed: int = 0


@dataclass(frozen=True)
class SearchSettings:
    """How thoroughly an index is searched.

    A search has three passes. All passages that stand in one of the probed cells are scored by their cells alone; the
    best of these by the centroids of all their tokens (PLAID's centroid interaction); the best of those exactly. Each
    pass is dearer per passage than the one before, and takes fewer.

    Attributes
    ----------
    ncells
        Centroids whose cells each query token probes, at least 1. More find passages that fewer never meet.
    ndocs
        Passages that reach the third pass, in which their token vectors are read; at least ``k``. If not given, four
        times ``k``, and 128 at least.
    candidates
        Passages that reach the second pass; at least as many as reach the third. If not given, eight times as many.

    What they cost and find is measured in ``docs/reference/scale.md``.
    """

    ncells: PositiveInt = 8
    ndocs: PositiveInt | None = None
    candidates: PositiveInt | None = None

    def passes(self, k: int) -> tuple[int, int]:
        """Return how many passages reach the second and the third pass when ``k`` are asked for.

        >>> SearchSettings().passes(5), SearchSettings().passes(100)
        ((1024, 128), (3200, 400))
        """
        exact = max(k, max(128, 4 * k) if self.ndocs is None else self.ndocs)
        return max(exact, 8 * exact if self.candidates is None else self.candidates), exact


class Manifest(BaseModel, frozen=True):
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
        Hash of the passages in order with their metadata, the checkpoint's hash and the settings.
    encoder
        Name of the sentence encoder whose passage vectors lie beside, or ``None``.
    shards
        How many parts of the corpus lie in folders of their own, with the same centroids; 1 if there are none.
    columns
        The names of the passages' metadata, each with the kind of its values: what a search can be filtered by.
    """

    format: Literal[1] = 1
    passages: int
    tokens: int
    checkpoint: str
    checkpoint_hash: str
    settings: IndexSettings
    fingerprint: str
    encoder: str | None = None
    colbert_ai: str
    shards: int = Field(1, ge=1, le=MOST_SHARDS)
    columns: dict[str, Kind] = Field(default_factory=dict, exclude_if=lambda columns: not columns)


def fingerprint(
    passages: Iterable[Passage | None], checkpoint_hash: str, settings: IndexSettings, shards: int = 1
) -> str:
    """Return the hash that names the content of an index: 16 hexadecimal digits.

    The passages of an index in shards come one shard after the other.

    ``None`` stands for a removed passage: removing and adding is not the same index as building again,
    because the centroids differ.
    """
    digest = hashlib.sha256(f"{_TEXT} {checkpoint_hash}".encode())
    digest.update(json.dumps(asdict(settings), sort_keys=True).encode())
    if shards > 1:
        digest.update(f"{shards} shards".encode())
    for passage in passages:
        # Without metadata the hash is that of an index of the time before metadata.
        metadata = [dict(passage.metadata)] if passage and passage.metadata else []
        fields = [passage.pid, passage.title, passage.text, *metadata] if passage else None
        digest.update(json.dumps(fields, ensure_ascii=False, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()[:16]
