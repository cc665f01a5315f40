"""The layout of an index folder, and reading and writing its own files."""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

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


class IndexFaultError(PolyqaError):
    """An index folder is not there, foreign, incomplete or corrupt."""


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
        raise IndexFaultError(
            f"There is no index at {folder}. Build one with `polyqa index build CORPUS --name {folder.name}`."
        )
    path = folder / MANIFEST
    if not path.is_file():
        raise IndexFaultError(f"{folder} is not a polyqa index: it has no {MANIFEST}.")
    try:
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise IndexFaultError(f"{path} is corrupt or of another version ({reason}). Build the index anew.") from error


def missing_files(folder: Path) -> list[str]:
    """Return the names of the files that a complete index has and this folder lacks."""
    metadata = folder / "metadata.json"
    if not metadata.is_file():
        return [metadata.name]
    try:
        chunks = int(json.loads(metadata.read_text(encoding="utf-8"))["num_chunks"])
    except (ValueError, KeyError, TypeError) as error:
        raise IndexFaultError(f"{metadata} is corrupt ({error!r}). Build the index anew.") from error
    names = [*_COLBERT_FILES, PASSAGES, *(f"{BM25}/{name}" for name in _BM25_FILES)]
    for chunk in range(chunks):
        names += [
            f"{chunk}.codes.pt",
            f"{chunk}.residuals.pt",
            f"{chunk}.metadata.json",
            f"doclens.{chunk}.json",
        ]
    return [name for name in names if not (folder / name).is_file()]


def write_passages(path: Path, passages: Iterable[Passage | None]) -> None:
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
    try:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                passages.append(None if record is None else Passage(**record))
    except (OSError, ValueError, TypeError) as error:
        raise IndexFaultError(
            f"{path}:{len(passages) + 1}: corrupt ({' '.join(str(error).split())[:120]}). Build the index anew."
        ) from error
    return passages


def write_bm25(folder: Path, passages: Iterable[Passage | None]) -> None:
    """Write the term statistics of the passages that are not removed."""
    BM25Retriever([passage for passage in passages if passage is not None]).save(folder / BM25)


def scrub_metadata(folder: Path) -> None:
    """Drop the host name, user, command and absolute paths that colbert-ai writes down."""
    for name in ("metadata.json", "plan.json"):
        path = folder / name
        data = json.loads(path.read_text(encoding="utf-8"))
        kept = {"dim", "nbits", "doc_maxlen", "query_maxlen", "query_token_id", "doc_token_id", "similarity"}
        data["config"] = {key: value for key, value in data["config"].items() if key in kept}
        path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
