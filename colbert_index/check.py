"""A deep check of an index: everything that `ColBERTIndex` takes on trust."""

import json
from pathlib import Path

from .checkpoint import checkpoint_hash, resolve_checkpoint
from .files import VECTORS, IndexFaultError
from .index import ColBERTIndex
from .settings import fingerprint

_PROBES = 8


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
        raise IndexFaultError(f"{where} its passages do not match its fingerprint. Build it anew.")
    own = checkpoint_hash(resolve_checkpoint(handle.manifest.checkpoint))
    if own != handle.manifest.checkpoint_hash:
        raise IndexFaultError(
            f"The index at {handle.path} was made with other weights of {handle.manifest.checkpoint} "
            f"({handle.manifest.checkpoint_hash}, now {own}). Build it anew."
        )
    lengths = [int(n) for n in handle.searcher.ranker.doclens]
    if len(lengths) != len(handle.positions) or sum(lengths) != handle.manifest.tokens:
        raise IndexFaultError(f"{where} its vectors do not match its passages. Build it anew.")
    metadata = json.loads((handle.path / "metadata.json").read_text(encoding="utf-8"))
    if metadata["num_embeddings"] != handle.manifest.tokens:
        raise IndexFaultError(f"{where} metadata.json does not match its vectors. Build it anew.")
    encoder = handle.manifest.encoder
    if encoder is not None:
        vectors = handle.vectors(encoder) if (handle.path / VECTORS).is_file() else None
        if vectors is None or len(vectors) != len(handle.positions):
            raise IndexFaultError(f"{where} {VECTORS} does not match its passages. Build it anew.")
    step = max(1, len(handle.passages) // _PROBES)
    probes = handle.passages[::step][:_PROBES]
    found = handle.search_many([probe.indexed_text for probe in probes], k=10)
    lost = [p.pid for p, hits in zip(probes, found, strict=True) if p.pid not in {hit.pid for hit in hits}]
    if 2 * len(lost) > len(probes):
        raise IndexFaultError(f"{where} passages do not find themselves, such as {lost[0]!r}. Build it anew.")
    return handle
