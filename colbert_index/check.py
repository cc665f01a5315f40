"""A deep check of an index: everything that `ColBERTIndex` takes on trust."""

from pathlib import Path

import numpy as np

from polyqa.embedded_models import Encoder
from polyqa.signatures import Passage

from .checkpoint import checkpoint_hash, resolve_checkpoint
from .files import VECTORS, IndexFaultError, read_part, reading
from .index import ColBERTIndex
from .settings import fingerprint

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
    if fingerprint(handle.positions, handle.manifest.checkpoint_hash, handle.settings) != handle.fingerprint:
        raise IndexFaultError(f"{where} its passages do not match its fingerprint. Build it again.")
    own = checkpoint_hash(resolve_checkpoint(handle.manifest.checkpoint))
    if own != handle.manifest.checkpoint_hash:
        raise IndexFaultError(
            f"The index at {handle.path} was made with other weights of {handle.manifest.checkpoint} "
            f"({handle.manifest.checkpoint_hash}, now {own}). Build it again."
        )
    # Before anything is searched: colbert-ai's C++ aborts the process on codes that do not fit.
    _check_vectors(handle)
    if handle.manifest.encoder is not None:
        _check_sentence_vectors(handle)
    probes = _probes(handle)
    queries = [probe.indexed_text for probe in probes]
    found = handle.search_many(queries, k=1 if len(handle) <= _SMALL else 10)
    handle.bm25.search_many(queries, 1)
    lost = [p.pid for p, hits in zip(probes, found, strict=True) if p.pid not in {hit.pid for hit in hits}]
    if 2 * len(lost) > len(probes):
        raise IndexFaultError(f"{where} passages do not find themselves, such as {lost[0]!r}. Build it again.")
    return handle


def _probes(handle: ColBERTIndex) -> list[Passage]:
    """Return a few passages, spread over the corpus."""
    step = max(1, len(handle.passages) // _PROBES)
    return handle.passages[::step][:_PROBES]


def _check_vectors(handle: ColBERTIndex) -> None:
    """Check that the files of token vectors agree with each other and with the passages."""
    where = f"The index at {handle.path} is corrupt:"
    lengths: list[int] = []
    with reading(handle.path):
        read_part(handle.path / "plan.json")
        metadata = read_part(handle.path / "metadata.json")
        centroids = len(read_part(handle.path / "centroids.pt"))
        for chunk in range(metadata["num_chunks"]):
            names = (f"doclens.{chunk}.json", f"{chunk}.metadata.json", f"{chunk}.codes.pt", f"{chunk}.residuals.pt")
            own, described, codes, residuals = (read_part(handle.path / name) for name in names)
            sizes = {len(codes), len(residuals), sum(own), described["num_embeddings"]}
            if len(sizes) > 1 or (len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < centroids):
                raise IndexFaultError(f"{where} the files of chunk {chunk} do not match. Build it again.")
            lengths += own
        total = metadata["num_embeddings"]
    if len(lengths) != len(handle.positions) or not sum(lengths) == total == handle.manifest.tokens:
        raise IndexFaultError(f"{where} its vectors do not match its passages. Build it again.")


def _check_sentence_vectors(handle: ColBERTIndex) -> None:
    """Check that a sample of the stored sentence vectors is what the encoder gives."""
    name = str(handle.manifest.encoder)
    stored = handle.vectors(name)
    probes = _probes(handle)
    rows = [at for probe in probes if (at := handle.position(probe)) is not None]
    fresh = Encoder(name).encode([probe.indexed_text for probe in probes])
    if stored is None or stored.shape[1] != fresh.shape[1]:
        raise IndexFaultError(f"{handle.path / VECTORS} is not of the encoder {name}. Build the index again.")
    cosines = (np.asarray(stored[rows], dtype=np.float32) * fresh).sum(axis=1)
    if not np.all(cosines > _SAME_VECTOR):
        raise IndexFaultError(f"{handle.path / VECTORS} does not match its passages. Build the index again.")
