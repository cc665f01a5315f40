"""The layout of an index folder, reading and writing its own files, and replacing a folder as a whole."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from filelock import FileLock, Timeout

from polyqa.signatures import Passage, PolyqaError

from .bm25 import BM25Retriever
from .settings import Manifest

MANIFEST = "polyqa.json"
PASSAGES = "passages.jsonl"
VECTORS = "vectors.npy"
BM25 = "bm25"
_COLBERT_FILES = ("centroids.pt", "buckets.pt", "avg_residual.pt", "ivf.pid.pt", "plan.json")
_BM25_FILES = (
    "params.index.json",
    "vocab.index.json",
    "data.csc.index.npy",
    "indices.csc.index.npy",
    "indptr.csc.index.npy",
)
_UNREADABLE = (
    OSError, EOFError, LookupError, TypeError, ValueError, RuntimeError, AssertionError, UnpicklingError,
)  # fmt: skip


class IndexFaultError(PolyqaError):
    """An index folder is not there, foreign, incomplete or corrupt."""


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


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``target`` when the block ends without error.

    Only one process at a time writes to ``target``. Leftovers of killed processes are removed.
    """
    target = target.resolve()  # a link to a folder: the folder is replaced
    target.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(target.parent / f".{target.name}.lock")
    try:
        lock.acquire(timeout=1)
    except Timeout as error:
        raise PolyqaError(f"{target} is being written by another process; wait until it is done.") from error
    try:
        for leftover in target.parent.glob(f".{target.name}.building-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        old = target.parent / f".{target.name}.replaced"
        if old.exists() and not target.exists():
            old.rename(target)  # killed between the two renames below
        shutil.rmtree(old, ignore_errors=True)
        work = target.parent / f".{target.name}.building-{os.getpid()}"
        work.mkdir()
        try:
            yield work
            if target.exists():
                target.rename(old)
            work.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    finally:
        lock.release()


def write_own_files(folder: Path, passages: Sequence[Passage | None], manifest: Manifest) -> None:
    """Write passages, BM25's term statistics and manifest; ``None`` stands for a removed passage."""
    write_passages(folder / PASSAGES, passages)
    BM25Retriever([passage for passage in passages if passage is not None]).save(folder / BM25)
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read ``polyqa.json``.

    Raises
    ------
    IndexFaultError
        If the folder is missing, is not a polyqa index, or its manifest is broken or newer.
    """
    if not folder.is_dir():
        raise IndexFaultError(
            f"There is no index at {folder}. Build one with `polyqa index build CORPUS --name {folder.name}`."
        )
    path = folder / MANIFEST
    if not path.is_file():
        raise IndexFaultError(f"{folder} is not a polyqa index: it has no {MANIFEST}.")
    with reading(path):
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))


def missing_files(folder: Path) -> list[str]:
    """Return the names of the files that a complete index has and this folder lacks."""
    metadata = folder / "metadata.json"
    if not metadata.is_file():
        return [metadata.name]
    with reading(metadata):
        chunks = int(read_part(metadata)["num_chunks"])
    names = [*_COLBERT_FILES, PASSAGES, *(f"{BM25}/{name}" for name in _BM25_FILES)]
    for chunk in range(chunks):
        names += [
            f"{chunk}.codes.pt",
            f"{chunk}.residuals.pt",
            f"{chunk}.metadata.json",
            f"doclens.{chunk}.json",
        ]
    return [name for name in names if not (folder / name).is_file()]


def write_passages(path: Path, passages: Sequence[Passage | None]) -> None:
    """Write the passages in the order of their positions; ``null`` marks a removed one."""
    with path.open("w", encoding="utf-8") as stream:
        for passage in passages:
            record = passage.model_dump(exclude={"score"}) if passage else None
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


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
