"""Writes one part of an index, which is all of it or a shard: vectors, passages, terms."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyqa.base.values import Passage
from polyqa.models import Encoder

from .compressing import write_vectors
from .files import VECTORS, write_texts
from .settings import IndexSettings
from .stages import Stages

_AT_ONCE = 512  # passages between two moves of a bar


@dataclass(frozen=True)
class Part:
    """What is to be written, and how.

    Attributes
    ----------
    folder
        Where to, an empty folder.
    location
        The folder of the ColBERT checkpoint.
    settings
        Of the index.
    encoder
        Name of the sentence encoder whose vectors are stored, if any.
    codec
        The folder of the trained centroids; if ``None``, the part trains its own.
    """

    folder: Path
    location: str
    settings: IndexSettings
    encoder: str | None = None
    codec: Path | None = None


@dataclass(frozen=True)
class Built:
    """How many passages and token vectors a part has."""

    passages: int
    tokens: int


Run = Callable[[Callable[[Part], Built], Sequence[Part]], Iterable[Built]]
"""Calls a function with every part, somewhere, and yields what it returns as it comes, in any order."""


def write_part(part: Part, passages: Sequence[Passage], shown: Stages, *, encoder: Encoder | None = None) -> Built:
    """Write a part.

    Parameters
    ----------
    encoder
        The part's, if it is loaded already.
    """
    texts = [passage.indexed_text for passage in passages]
    tokens = write_vectors(texts, part.folder, part.location, part.settings, shown, codec=part.codec)
    if part.encoder is not None:
        np.save(part.folder / VECTORS, _sentence_vectors(texts, encoder or Encoder(part.encoder), shown))
    with shown.stage("writing passages and terms"):
        write_texts(part.folder, passages)
    return Built(len(passages), tokens)


def _sentence_vectors(texts: Sequence[str], encoder: Encoder, shown: Stages) -> NDArray[np.float16]:
    rows = []
    with shown.stage("encoding for reranking", len(texts), "passage") as advance:
        for begin in range(0, len(texts), _AT_ONCE):
            rows.append(encoder.encode(texts[begin : begin + _AT_ONCE]).astype(np.float16))
            advance(len(rows[-1]))
    return np.concatenate(rows)
