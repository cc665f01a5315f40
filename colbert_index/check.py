"""A deep check of an index: everything that `ColBERTIndex` takes on trust."""

from pathlib import Path

from .files import IndexFaultError
from .index import ColBERTIndex
from .settings import fingerprint
from .trust import trusted_checkpoint

_PROBES = 8
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
    if handle.manifest.encoder is not None:
        handle.vectors(handle.manifest.encoder)
    passages = handle.passages
    probes = passages[:: max(1, len(passages) // _PROBES)][:_PROBES]  # spread over the corpus
    queries = [probe.indexed_text for probe in probes]
    results = handle.search_many(queries, k=1 if len(handle) <= _SMALL else 10)
    handle.bm25.search_many(queries, 1)
    # Texts are compared, not ids: which of several equal passages stands first is chance.
    hit_texts = [{hit.indexed_text for hit in hits} for hits in results]
    lost = [probe.pid for probe, texts in zip(probes, hit_texts, strict=True) if probe.indexed_text not in texts]
    if 2 * len(lost) > len(probes):
        raise IndexFaultError(f"{where} passages do not find themselves, such as {lost[0]!r}. Build it again.")
    return handle
