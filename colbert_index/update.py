"""Adds passages to an index and removes them, without building it again.

The centroids stay as they are. Additions become a chunk of their own, removals leave an empty
position; then the inverted file is rebuilt from all chunks by colbert-ai's own `finalize`. (Its
`IndexUpdater` writes wrong totals, so that its second update fails.) All of it happens in a new
version, see `versions`.
"""

import json
import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np

from polyqa.embedded_models import Encoder
from polyqa.signatures import Passage, PolyqaError

from .build import make_indexer
from .corpus import CorpusSource, read_corpus
from .engine import encode_documents, load_checkpoint, quiet
from .files import CHECKSUMS, MANIFEST, PASSAGES, VECTORS, own_files, read_part, scrub_metadata, write_own_files
from .index import ColBERTIndex
from .intact import write_checksums
from .settings import fingerprint
from .trust import trusted_checkpoint, trusted_encoder
from .versions import new_version

_INVERTED_FILE = "ivf.pid.pt"


def add_passages(index: ColBERTIndex, corpus: CorpusSource) -> ColBERTIndex:
    """Add the passages of a corpus to an index.

    Parameters
    ----------
    index
        The index; a handle opened before goes on serving the old content until it is opened again.
    corpus
        Anything that `read_corpus` reads.

    Returns
    -------
    ColBERTIndex
        A new handle.

    Raises
    ------
    PolyqaError
        If the corpus is faulty or an id is already in the index.
    """
    new = read_corpus(corpus)
    known = {passage.pid for passage in index.passages}
    if taken := [passage.pid for passage in new if passage.pid in known]:
        raise PolyqaError(f"{_ids(taken)} already in the index {index.name}; remove what is there first.")
    location = trusted_checkpoint(index.manifest, index.path)
    model = load_checkpoint(location, index.settings)
    vectors, lengths = encode_documents(model, [passage.indexed_text for passage in new])
    positions = [*index.positions, *new]

    def change(work: Path) -> None:
        chunks = read_part(work / "metadata.json")["num_chunks"]
        with quiet():
            indexer = _indexer(index, work, location, positions, chunks + 1)
            with indexer.saver.thread():
                indexer.saver.save_chunk(chunks, len(index.positions), vectors, lengths)
            indexer.finalize()
        if (stored := index.vectors(index.manifest.encoder or "")) is not None:
            own = Encoder(trusted_encoder(index.manifest, index.path)).encode([passage.indexed_text for passage in new])
            (work / VECTORS).unlink()  # it may be the old version's, too
            np.save(work / VECTORS, np.concatenate([stored, own.astype(np.float16)]))

    return _rewrite(index, positions, change)


def remove_passages(index: ColBERTIndex, pids: Collection[str]) -> ColBERTIndex:
    """Remove passages by their ids; see `add_passages` for handles opened before.

    Raises
    ------
    PolyqaError
        If an id is not in the index, or nothing would be left.
    """
    gone = set(pids)
    if unknown := sorted(gone - {passage.pid for passage in index.passages}):
        raise PolyqaError(f"The index {index.name} holds no passage {unknown[0]!r}; nothing was removed.")
    if len(gone) == len(index):
        raise PolyqaError(f"That would remove every passage of the index {index.name}; delete it instead.")
    location = trusted_checkpoint(index.manifest, index.path)
    positions = [None if passage is None or passage.pid in gone else passage for passage in index.positions]

    def change(work: Path) -> None:
        chunks = read_part(work / "metadata.json")["num_chunks"]
        offset = 0
        for chunk in range(chunks):
            offset += _empty_positions(work, chunk, offset, positions)
        with quiet():
            _indexer(index, work, location, positions, chunks).finalize()

    return _rewrite(index, positions, change)


def _empty_positions(work: Path, chunk: int, offset: int, positions: list[Passage | None]) -> int:
    """Drop the token vectors of a chunk's removed passages; return how many positions it has."""
    import torch

    lengths_path, metadata_path = work / f"doclens.{chunk}.json", work / f"{chunk}.metadata.json"
    lengths, metadata = read_part(lengths_path), read_part(metadata_path)
    keep = torch.tensor([positions[offset + i] is not None for i in range(len(lengths))])
    tokens = keep.repeat_interleave(torch.tensor(lengths))
    for name in ("codes", "residuals"):
        path = work / f"{chunk}.{name}.pt"
        kept = read_part(path)[tokens]
        path.unlink()  # it may be the old version's, too
        torch.save(kept, path)
    lengths_path.write_text(json.dumps([n if k else 0 for n, k in zip(lengths, keep.tolist(), strict=True)]))
    metadata_path.write_text(json.dumps({**metadata, "num_embeddings": int(tokens.sum())}))
    return len(lengths)


def _indexer(index: ColBERTIndex, work: Path, location: str, positions: list[Passage | None], chunks: int) -> Any:
    average = index.manifest.tokens / max(1, len(index.positions))
    indexer = make_indexer(work, location, index.settings, positions, chunks, average)
    indexer.num_partitions = len(read_part(work / "centroids.pt"))
    return indexer


def _copy(old: Path, new: Path) -> None:
    """Take over what is not written again: as links where files are as large as the corpus, and never written to."""
    for path in own_files(old):
        if path.name in (MANIFEST, CHECKSUMS, PASSAGES):
            continue
        if path.suffix in (".pt", ".npy") and path.name != _INVERTED_FILE:
            try:
                os.link(path, new / path.name)
                continue
            except OSError:  # a file system without links
                pass
        shutil.copyfile(path, new / path.name)


def _rewrite(index: ColBERTIndex, positions: list[Passage | None], change: Callable[[Path], None]) -> ColBERTIndex:
    with new_version(index.path) as work:
        index.require_unchanged()
        _copy(index.folder, work)
        change(work)
        scrub_metadata(work)
        tokens = read_part(work / "metadata.json")["num_embeddings"]
        manifest = index.manifest.model_copy(
            update={
                "passages": sum(passage is not None for passage in positions),
                "tokens": tokens,
                "fingerprint": fingerprint(positions, index.manifest.checkpoint_hash, index.settings),
            }
        )
        write_own_files(work, positions, manifest)
        write_checksums(work)
    return ColBERTIndex(index.path, search_settings=index.search_settings)


def _ids(taken: list[str]) -> str:
    return f"The id {taken[0]!r} is" if len(taken) == 1 else f"{len(taken):,} ids, such as {taken[0]!r}, are"
