"""Changes an index without building it again: adds passages, removes some, gives others new metadata.

The centroids stay as they are. Additions become a chunk of their own, removals leave an empty position; then the
inverted file is rebuilt from all chunks. (colbert-ai's `IndexUpdater` writes wrong totals, so that its second update
fails.) All of it happens in a new version, see `versions`. Of an index in shards only those change that gain or lose a
passage; the others are taken over as they are.
"""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import numpy as np

from polyqa.base.errors import PolyqaError
from polyqa.base.html import shortened
from polyqa.base.values import MetadataValue, Passage
from polyqa.models import Encoder

from .compressing import Codec, write_chunk, write_inverted_file
from .corpus import CorpusSource, as_corpus, read_corpus, same_passage, warn_of_left_out
from .engine import encode_documents, load_checkpoint
from .files import (
    BM25,
    CHECKSUMS,
    INVERTED_FILE,
    MANIFEST,
    METADATA,
    PASSAGES,
    VECTORS,
    link_or_copy,
    parts_of,
    read_part,
    require_written,
    tokens_of,
    write_checksums,
    write_manifest,
    write_texts,
)
from .filters import ColumnKinds
from .index import ColBERTIndex
from .lengths import warn_of_long
from .settings import fingerprint
from .trust import trusted_checkpoint, trusted_encoder
from .versions import new_version


def add_passages(index: ColBERTIndex, corpus: CorpusSource) -> ColBERTIndex:
    """Add the passages of a corpus to an index; to its smallest shard, if it has several.

    Passages that the index has already, with the same id, title and text, are left out with a warning; other metadata
    that they come with take the place of those there.

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
    read = as_corpus(corpus)
    passages = read_corpus(read)
    stored = index.stored
    new = [passage for passage in passages if not same_passage(stored.get(passage.pid), passage)]
    read.passages, read.repeated = len(new), read.repeated + len(passages) - len(new)
    warn_of_left_out(read, corpus)
    if taken := [passage.pid for passage in new if passage.pid in stored]:
        ids = f"The id {taken[0]!r} is" if len(taken) == 1 else f"{len(taken):,} ids, such as {taken[0]!r}, are"
        raise PolyqaError(f"{ids} already in the index {index.name}; remove what is there first.")
    metadata = {passage.pid: passage.metadata for passage in passages if passage.metadata and passage.pid in stored}
    return change_passages(index, new, metadata=metadata)


def remove_passages(index: ColBERTIndex, pids: str | int | Iterable[str | int]) -> ColBERTIndex:
    """Remove passages by their ids, or one by its id; a shard that is left without any goes.

    A handle opened before goes on serving the old content.

    Raises
    ------
    PolyqaError
        If an id is not in the index, or nothing would be left.
    """
    gone = {str(pids)} if isinstance(pids, (str, int)) else set(map(str, pids))
    if unknown := sorted(gone - index.stored.keys()):
        raise PolyqaError(f"The index {index.name} holds no passage {unknown[0]!r}; nothing was removed.")
    if len(gone) == index.manifest.passages:
        raise PolyqaError(f"That would remove every passage of the index {index.name}; delete it instead.")
    return change_passages(index, gone=gone)


def change_passages(
    index: ColBERTIndex,
    new: Sequence[Passage] = (),
    *,
    metadata: Mapping[str, Mapping[str, MetadataValue]] = MappingProxyType({}),
    gone: Set[str] = frozenset(),
) -> ColBERTIndex:
    """Change an index in one step: each takes a new version, in which texts and terms are written anew.

    A handle opened before goes on serving the old content; it is returned if there is nothing to change. If a file that
    would be taken over is damaged, the `IndexFaultError` names it, and nothing is changed.

    Parameters
    ----------
    index
        The index.
    new
        Passages to encode and to add, in place of those with their ids.
    metadata
        The new metadata of passages that stay, by their ids; for these nothing is encoded.
    gone
        The ids of passages to remove; something must be left.
    """
    if index.condition is not None:  # the new handle would find what this one leaves out
        raise PolyqaError(
            f"This handle of the index {index.name} leaves passages out ({shortened(index.condition, 80)}); open the "
            "index without a condition to change it."
        )
    removed = gone | {passage.pid for passage in new}
    before = index.positions_of_parts
    after = [[_changed(passage, removed, metadata) for passage in part] for part in before]
    if not new and after == before:
        return index
    location = trusted_checkpoint(index.manifest, index.path) if removed else ""
    smallest = min(range(len(before)), key=lambda number: len(before[number]))
    after[smallest] += new
    filled = [number for number, positions in enumerate(after) if any(positions)]
    with new_version(index.path) as work:
        index.require_unchanged()
        hashes = read_part(index.folder / CHECKSUMS)
        parts = parts_of(work, len(filled))
        taken: dict[str, Path] = {}  # where files lie in the new version, by their names in the old one
        for number, part in zip(filled, parts, strict=True):
            for path in _lasting(index.parts[number], whole=before[number] == after[number]):
                if (name := path.relative_to(index.folder).as_posix()) in hashes:
                    taken[name] = part / path.relative_to(index.parts[number])
        require_written(index.folder, taken)
        for name, place in taken.items():
            _take_over(index.folder / name, place)
        for number, part in zip(filled, parts, strict=True):
            old, positions = before[number], after[number]
            if positions != old:
                emptied = any(passage is not None and passage.pid in removed for passage in old)
                here = new if number == smallest else ()
                if emptied or here:
                    _write(index, location, positions, here, part, emptied=emptied)
                write_texts(part, positions)
        positions = [*chain.from_iterable(after[number] for number in filled)]
        manifest = index.manifest.model_copy(
            update={
                "passages": sum(passage is not None for passage in positions),
                "tokens": tokens_of(parts),
                "fingerprint": fingerprint(positions, index.manifest.checkpoint_hash, index.settings, len(parts)),
                "shards": len(parts),
                "columns": ColumnKinds(positions).columns,
            }
        )
        write_manifest(work, manifest)
        same = {name: place for name, place in taken.items() if place.samefile(index.folder / name)}
        write_checksums(work, {place.relative_to(work).as_posix(): hashes[name] for name, place in same.items()})
    return ColBERTIndex(index.path, search_settings=index.search_settings)


def _changed(
    passage: Passage | None, removed: Set[str], metadata: Mapping[str, Mapping[str, MetadataValue]]
) -> Passage | None:
    if passage is None or passage.pid in removed:
        return None
    return passage.model_copy(update={"metadata": metadata[passage.pid]}) if passage.pid in metadata else passage


def _write(
    index: ColBERTIndex,
    location: str,
    positions: Sequence[Passage | None],
    new: Sequence[Passage],
    work: Path,
    *,
    emptied: bool,
) -> None:
    """Change the vectors of a part to those of its positions: some may have been emptied, the last are new."""
    metadata = read_part(work / METADATA)
    chunks = metadata["num_chunks"]
    offset = 0
    for chunk in range(chunks if emptied else 0):
        offset += _empty_positions(work, chunk, offset, positions)
    if new:
        warn_of_long(new, location, index.settings.doc_maxlen)
        texts = [passage.indexed_text for passage in new]
        tokens, lengths = encode_documents(load_checkpoint(location, index.settings), texts)
        write_chunk(work, chunks, len(positions) - len(new), Codec.load(work).compress(tokens), lengths)
    (work / INVERTED_FILE).unlink(missing_ok=True)  # it may be the old version's, too
    write_inverted_file(work, chunks + bool(new), metadata["config"])
    if new and index.manifest.encoder is not None:
        sentences = Encoder(trusted_encoder(index.manifest, index.path)).encode(texts).astype(np.float16)
        vectors = np.concatenate([np.load(work / VECTORS, mmap_mode="r"), sentences])
        (work / VECTORS).unlink()  # it may be the old version's, too
        np.save(work / VECTORS, vectors)


def _empty_positions(work: Path, chunk: int, offset: int, positions: Sequence[Passage | None]) -> int:
    """Drop the token vectors of a chunk's removed passages; return how many positions it has."""
    import torch

    lengths_path, metadata_path = work / f"doclens.{chunk}.json", work / f"{chunk}.metadata.json"
    lengths, metadata = read_part(lengths_path), read_part(metadata_path)
    keep = torch.tensor([positions[offset + i] is not None for i in range(len(lengths))])
    tokens = keep.repeat_interleave(torch.tensor(lengths))
    for name in ("codes", "residuals"):
        path = work / f"{chunk}.{name}.pt"
        remaining = read_part(path)[tokens]
        path.unlink()  # it may be the old version's, too
        torch.save(remaining, path)
    lengths_path.write_text(json.dumps([n if k else 0 for n, k in zip(lengths, keep.tolist(), strict=True)]))
    metadata_path.write_text(json.dumps({**metadata, "num_embeddings": int(tokens.sum())}))
    return len(lengths)


def _lasting(part: Path, *, whole: bool) -> list[Path]:
    """Return the files of a part that a new version takes over.

    Unless the ``whole`` part stays as it is, its passages and their terms are left out, which are written anew.
    """
    left_out = {MANIFEST, CHECKSUMS} if whole else {MANIFEST, CHECKSUMS, PASSAGES}
    paths = [*part.iterdir(), *((part / BM25).iterdir() if whole else ())]
    return [path for path in paths if path.name not in left_out and path.name[0] != "." and path.is_file()]


def _take_over(old: Path, new: Path) -> None:
    """Take over a file, as a link unless it is one that `_write` writes to in its place."""
    new.parent.mkdir(parents=True, exist_ok=True)
    shared = old.suffix != ".json" or old.parent.name == BM25
    (link_or_copy if shared else shutil.copyfile)(old, new)
