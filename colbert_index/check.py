"""A deep check of an index: everything that `ColBERTIndex` takes on trust."""

from pathlib import Path

import numpy as np

from polyqa.base.values import Passage
from polyqa.models import Encoder

from .files import VECTORS, IndexFaultError
from .index import ColBERTIndex
from .settings import fingerprint
from .trust import trusted_checkpoint, trusted_encoder

_PROBES = 8
_SAME_VECTOR = 0.99
_SMALL = 100  # in a small corpus the first ten hold any passage by chance


def check_index(index: str | Path) -> ColBERTIndex:
    """Check that an index is whole, unchanged and searchable.

    The files are there and agree with each other, the passages give the manifest's fingerprint, the
    checkpoint is the one the index was made with, and a sample of passages finds itself.

    Returns
    -------
    ColBERTIndex
        The opened index.

    Raises
    ------
    IndexFaultError
        With the first fault found.
    """
    handle = ColBERTIndex(index)
    where = f"The index at {handle.path} is corrupt:"
    manifest = handle.manifest
    if fingerprint(handle.positions, manifest.checkpoint_hash, handle.settings, manifest.shards) != handle.fingerprint:
        raise IndexFaultError(f"{where} its passages do not match its fingerprint. Build it again.")
    trusted_checkpoint(handle.manifest, handle.path)
    handle.token_vectors  # noqa: B018  checks its files before it loads them
    probes = _probes(handle)
    if handle.manifest.encoder is not None:
        _check_sentence_vectors(handle, probes)
    queries = [probe.indexed_text for probe in probes]
    results = handle.search_many(queries, k=1 if len(handle) <= _SMALL else 10)
    handle.bm25.search_many(queries, 1)
    # Texts are compared, not ids: which of several equal passages stands first is chance.
    hit_texts = [{hit.indexed_text for hit in hits} for hits in results]
    lost = [probe.pid for probe, texts in zip(probes, hit_texts, strict=True) if probe.indexed_text not in texts]
    if 2 * len(lost) > len(probes):
        raise IndexFaultError(f"{where} passages do not find themselves, such as {lost[0]!r}. Build it again.")
    return handle


def _probes(handle: ColBERTIndex) -> list[Passage]:
    """Return a few passages, spread over the corpus."""
    step = max(1, len(handle.passages) // _PROBES)
    return handle.passages[::step][:_PROBES]


def _check_sentence_vectors(handle: ColBERTIndex, probes: list[Passage]) -> None:
    """Check that a sample of the stored sentence vectors is what the encoder gives."""
    name = trusted_encoder(handle.manifest, handle.path)
    stored = handle.vectors(name)
    fresh = Encoder(name).encode([probe.indexed_text for probe in probes])
    positions = [at for probe in probes if (at := handle.position(probe)) is not None]
    stored_vectors = None if stored is None else np.stack([stored[at] for at in positions], dtype=np.float32)
    if stored_vectors is None or stored_vectors.shape != fresh.shape:
        raise IndexFaultError(f"{handle.folder / VECTORS} is not of the encoder {name}. Build the index again.")
    if not np.all((stored_vectors * fresh).sum(axis=1) > _SAME_VECTOR):
        raise IndexFaultError(f"{handle.folder / VECTORS} does not match its passages. Build the index again.")
