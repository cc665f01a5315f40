"""The files of an index: their names, reading them, writing those that are not colbert-ai's."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import BadZipFile

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage

from .bm25 import BM25Retriever
from .settings import Manifest

MANIFEST = "polyqa.json"
CHECKSUMS = "checksums.json"
PASSAGES = "passages.jsonl"
VECTORS = "vectors.npy"
BM25 = "bm25"
SHARDS = "shards"
_METADATA = "metadata.json"
_COLBERT_FILES = ("centroids.pt", "buckets.pt", "avg_residual.pt", "ivf.pid.pt", "plan.json")
_CHUNK_FILE = re.compile(r"\d+\.(codes\.pt|residuals\.pt|metadata\.json)|doclens\.\d+\.json")
BM25_FILES = tuple(
    f"{BM25}/{name}"
    for name in (
        "params.index.json",
        "vocab.index.json",
        "data.csc.index.npy",
        "indices.csc.index.npy",
        "indptr.csc.index.npy",
    )
)
_UNREADABLE = (
    OSError, EOFError, LookupError, TypeError, ValueError, RuntimeError, AssertionError, UnpicklingError, BadZipFile,
    MemoryError,
)  # fmt: skip


class IndexFaultError(PolyqaError):
    """An index folder is not there, foreign, incomplete or corrupt."""


def no_index(folder: Path) -> IndexFaultError:
    """Return what a user is told who opens an index that was never built; set-up builds the shipped one."""
    from .store import SHIPPED, index_home  # imports this module

    if folder.absolute() == (index_home() / SHIPPED).absolute():
        return IndexFaultError(
            f"The index {SHIPPED} is not there yet ({folder}): run `polyqa setup` once, which makes it."
        )
    return IndexFaultError(
        f"There is no index at {folder}. Build one with `polyqa index build CORPUS --name {folder.name}`."
    )


@contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Turn what a damaged file makes its reader raise into an `IndexFaultError` of one line."""
    try:
        yield
    except _UNREADABLE as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise IndexFaultError(f"{path} is corrupt or of another version ({reason}). Build the index again.") from error


def read_part(path: Path) -> Any:
    """Return what a JSON file or a tensor of an index holds.

    Raises
    ------
    IndexFaultError
        If it cannot be read.
    """
    with reading(path):
        if path.suffix == ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        import torch

        return torch.load(path, weights_only=True)


def parts_of(folder: Path, shards: int) -> list[Path]:
    """Return the folders that hold the passages and vectors: that of the index itself, or those of its shards."""
    return [folder] if shards == 1 else [folder / SHARDS / f"{number:04}" for number in range(shards)]


def folders_of(folder: Path) -> list[Path]:
    """Return the folders in which files of an index lie, its own first."""
    parts = [folder, *sorted((folder / SHARDS).glob("*/"))]
    return [*parts, *(part / BM25 for part in parts if (part / BM25).is_dir())]


def write_texts(part: Path, passages: Sequence[Passage | None]) -> None:
    """Write the passages of a part and BM25's statistics of their terms; ``None`` stands for a removed passage."""
    write_passages(part / PASSAGES, passages)
    BM25Retriever([passage for passage in passages if passage is not None]).save(part / BM25)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``polyqa.json``."""
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read ``polyqa.json``.

    Raises
    ------
    IndexFaultError
        If the folder is missing, is not a polyqa index, or its manifest is broken or newer.
    """
    if not folder.is_dir():
        raise no_index(folder)
    path = folder / MANIFEST
    if not path.is_file():
        raise IndexFaultError(f"{folder} is not a polyqa index: it has no {MANIFEST}.")
    with reading(path):
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))


def missing_files(folder: Path, shards: int = 1) -> list[str]:
    """Return the names of the files that a complete index has and this folder lacks."""
    missing: list[str] = []
    for part in parts_of(folder, shards):
        metadata = part / _METADATA
        names = [*colbert_files(part), PASSAGES, *BM25_FILES] if metadata.is_file() else [_METADATA]
        lacking = [name for name in names if not (part / name).is_file()]
        missing += [(part / name).relative_to(folder).as_posix() for name in lacking]
    return missing


def own_files(folder: Path) -> list[Path]:
    """Return the files of an index that are there, but those of BM25, and nothing that others keep beside them."""
    names = {MANIFEST, CHECKSUMS, PASSAGES, VECTORS, _METADATA, *_COLBERT_FILES}
    return [path for path in folder.iterdir() if path.name in names or _CHUNK_FILE.fullmatch(path.name)]


def colbert_files(folder: Path) -> list[str]:
    """Return the names of the files that colbert-ai reads.

    Raises
    ------
    IndexFaultError
        If the folder promises more chunks than it has files.
    """
    with reading(folder / _METADATA):
        chunks = int(read_part(folder / _METADATA)["num_chunks"])
        held = len(list(folder.glob("*.codes.pt")))
        if not 0 <= chunks <= held + 1:  # one may be missing, and is told by its name
            raise ValueError(f"{chunks} chunks, and files of {held}")
    parts = [
        (f"{chunk}.codes.pt", f"{chunk}.residuals.pt", f"{chunk}.metadata.json", f"doclens.{chunk}.json")
        for chunk in range(chunks)
    ]
    return [_METADATA, *_COLBERT_FILES, *chain.from_iterable(parts)]


def write_passages(path: Path, passages: Sequence[Passage | None]) -> None:
    """Write the passages in the order of their positions; ``null`` marks a removed one."""
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(map(passage_line, passages))


def passage_line(passage: Passage | None) -> str:
    """Return the line of one."""
    record = passage.model_dump(exclude={"score"}) if passage else None
    return json.dumps(record, ensure_ascii=False) + "\n"


def read_passages(path: Path) -> list[Passage | None]:
    """Read what `write_passages` wrote.

    Raises
    ------
    IndexFaultError
        With the number of the first line that is broken.
    """
    passages: list[Passage | None] = []
    with reading(path), path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            with reading(f"{path}:{number}"):
                record = json.loads(line)
                passages.append(None if record is None else Passage(**record))
    return passages


def scrub_metadata(folder: Path) -> None:
    """Drop the host name, user, command and absolute paths that colbert-ai writes down."""
    for name in ("metadata.json", "plan.json"):
        path = folder / name
        data = json.loads(path.read_text(encoding="utf-8"))
        kept = {"dim", "nbits", "doc_maxlen", "query_maxlen", "query_token_id", "doc_token_id", "similarity"}
        data["config"] = {key: value for key, value in data["config"].items() if key in kept}
        path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
