"""The files of an index: their names, reading them, writing those that are not colbert-ai's, and checking them.

Two things are checked before a file is loaded, as two things happen to files. A damaged one has another hash than the
manifest says. One from a stranger has the right hash, but may promise what it does not hold: numbers that point nowhere
end the process in compiled code, and a count in a JSON file may ask for more memory than there is.
"""

import errno
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from pickle import UnpicklingError
from types import MappingProxyType
from typing import Any
from zipfile import BadZipFile

from polyqa.base.errors import PolyqaError
from polyqa.base.files import file_hash
from polyqa.base.values import Passage

from .bm25 import BM25Retriever
from .settings import Manifest

MANIFEST = "polyqa.json"
CHECKSUMS = "checksums.json"
PASSAGES = "passages.jsonl"
VECTORS = "vectors.npy"
BM25 = "bm25"
SHARDS = "shards"
LARGEST = 1e6
"""What a number of a vector may be at most: sums that overflow are no numbers, which compiled code cannot sort."""
METADATA = "metadata.json"
INVERTED_FILE = "ivf.pid.pt"
_COLBERT_FILES = ("centroids.pt", "buckets.pt", "avg_residual.pt", INVERTED_FILE)
BM25_FILES = (
    *(f"{BM25}/{name}.index.json" for name in ("params", "vocab")),
    *(f"{BM25}/{name}.csc.index.npy" for name in ("data", "indices", "indptr")),
)
_UNREADABLE = (
    OSError, EOFError, LookupError, TypeError, ValueError, RuntimeError, AssertionError, UnpicklingError, BadZipFile,
)  # fmt: skip
_NO_DAMAGE = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class IndexFaultError(PolyqaError):
    """An index folder is not there, foreign, incomplete or corrupt."""


def no_index(folder: Path) -> IndexFaultError:
    """Return what a user is told who opens an index that was never built; set-up builds the shipped one."""
    from .store import SHIPPED, index_home, index_names, told_name  # imports this module

    if folder.absolute() == (index_home() / SHIPPED).absolute():
        return IndexFaultError(
            f"The index {SHIPPED} is not there yet ({folder}): run `polyqa setup` once, which makes it."
        )
    names = ", ".join(index_names()) if folder.absolute().parent == index_home().absolute() else ""
    listed = f"These are there: {names}. " if names else ""
    return IndexFaultError(
        f"There is no index at {folder}. {listed}Build one with `polyqa index build CORPUS --name {told_name(folder)}`."
    )


def is_damage(error: Exception) -> bool:
    """Tell what a damaged file makes its reader raise from a lack of permission, of open files or of memory."""
    return getattr(error, "errno", None) not in _NO_DAMAGE


@contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Turn what a damaged file makes its reader raise into an `IndexFaultError` of one line.

    What it raises where the machine lacks something, such as memory, or forbids it goes on as it is.
    """
    try:
        yield
    except _UNREADABLE as error:
        if not is_damage(error):
            raise
        if "you tried to allocate" in str(error):  # how torch says it
            raise MemoryError(f"not enough memory to read {path}") from error
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise IndexFaultError(f"{path} is corrupt or of another version ({reason}). Build the index again.") from error


def read_part(path: Path) -> Any:
    """Return what a JSON file or a tensor of an index holds; `IndexFaultError` if it cannot be read."""
    with reading(path):
        if path.suffix == ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        import torch

        return torch.load(path, weights_only=True)


def tokens_of(parts: Iterable[Path]) -> int:
    """Return how many token vectors parts of an index hold."""
    return sum(read_part(part / METADATA)["num_embeddings"] for part in parts)


def parts_of(folder: Path, shards: int) -> list[Path]:
    """Return the folders that hold the passages and vectors: that of the index itself, or those of its shards."""
    return [folder] if shards == 1 else [folder / SHARDS / f"{number:04}" for number in range(shards)]


def folders_of(folder: Path) -> list[Path]:
    """Return the folders in which files of an index lie, its own first."""
    parts = [folder, *sorted((folder / SHARDS).glob("*/"))]
    return [*parts, *(part / BM25 for part in parts if (part / BM25).is_dir())]


def link_or_copy(old: Path, new: Path) -> None:
    """Take over a file that is never written to."""
    try:
        os.link(old, new)
    except OSError:  # a file system without links
        shutil.copyfile(old, new)


def write_texts(part: Path, passages: Sequence[Passage | None]) -> None:
    """Write the passages of a part and BM25's statistics of their terms; ``None`` stands for a removed passage."""
    write_passages(part / PASSAGES, passages)
    BM25Retriever([passage for passage in passages if passage is not None]).save(part / BM25)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``polyqa.json``."""
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read ``polyqa.json``; `IndexFaultError` if there is none, or it is broken or of another format."""
    path = folder / MANIFEST
    if not path.is_file():
        raise IndexFaultError(f"{folder} is not a polyqa index: it has no {MANIFEST}.")
    with reading(path):
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))


def missing_files(folder: Path) -> list[str]:
    """Return the names of the files that were written with an index and are not there."""
    with reading(folder / CHECKSUMS):
        return [name for name in dict(read_part(folder / CHECKSUMS)) if not (folder / name).is_file()]


def colbert_files(folder: Path) -> list[str]:
    """Return the names of colbert-ai's files; `IndexFaultError` if the folder promises other chunks than it has."""
    with reading(folder / METADATA):
        chunks = int(read_part(folder / METADATA)["num_chunks"])
        chunk_files = len(list(folder.glob("*.codes.pt")))
        if chunks != chunk_files:
            raise ValueError(f"{chunks} chunks, and files of {chunk_files}")
    parts = [
        (f"{chunk}.codes.pt", f"{chunk}.residuals.pt", f"{chunk}.metadata.json", f"doclens.{chunk}.json")
        for chunk in range(chunks)
    ]
    return [METADATA, *_COLBERT_FILES, *chain.from_iterable(parts)]


def write_passages(path: Path, passages: Sequence[Passage | None]) -> None:
    """Write the passages in the order of their positions; ``null`` marks a removed one."""
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(map(passage_line, passages))


def passage_line(passage: Passage | None) -> str:
    """Return the line of one."""
    record = passage.model_dump(exclude={"score"}) if passage else None
    return json.dumps(record, ensure_ascii=False) + "\n"


def read_passages(path: Path) -> list[Passage | None]:
    """Read what `write_passages` wrote; an `IndexFaultError` gives the number of the first line that is broken."""
    passages: list[Passage | None] = []
    with reading(path), path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            with reading(f"{path}:{number}"):
                record = json.loads(line)
                passages.append(None if record is None else Passage(**record))
    return passages


def checksums(folder: Path, known: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Return the hash of every file of an index but the list of hashes, by name; hidden files have none.

    Files whose hash is known are not read.
    """
    paths = [path for part in folders_of(folder) for path in part.iterdir() if path.is_file()]
    names = sorted(path.relative_to(folder).as_posix() for path in paths if not path.name.startswith("."))
    return {name: known.get(name) or file_hash(folder / name) for name in names if name != CHECKSUMS}


def write_checksums(folder: Path, known: Mapping[str, str] = MappingProxyType({})) -> None:
    """Write down the hashes of all files of an index, when they are all written; see `checksums`."""
    (folder / CHECKSUMS).write_text(json.dumps(checksums(folder, known), indent=1) + "\n", encoding="utf-8")


def require_written(folder: Path, names: Iterable[str]) -> None:
    """Raise `IndexFaultError` unless files are those that were written with the index."""
    checksums: Mapping[str, Any] = read_part(folder / CHECKSUMS)
    with reading(folder):
        changed = [name for name in names if checksums[name] != file_hash(folder / name)]
    if changed:
        raise IndexFaultError(f"{folder / changed[0]} is damaged: it is not as it was written. Build the index again.")


def require_vectors(folder: Path, parts: Sequence[Path], positions: Sequence[int], tokens: int) -> None:
    """Raise `IndexFaultError` unless the files of token vectors agree with each other, the manifest and the passages.

    ``positions`` says how many passages each part holds, ``tokens`` how many token vectors they hold together; the
    parts must have the same centroids.
    """
    token_counts = [_require_part(part, count) for part, count in zip(parts, positions, strict=True)]
    if tokens != sum(token_counts):
        raise IndexFaultError(
            f"The index at {folder} is corrupt: its vectors do not match its passages. Build it again."
        )
    for name in ("centroids.pt", "buckets.pt"):
        if len({file_hash(part / name) for part in parts}) > 1:
            raise IndexFaultError(
                f"The shards of the index at {folder} are of different builds: {name}. Build it again."
            )


def _require_part(folder: Path, positions: int) -> int:
    """Check one part; return how many token vectors it holds."""
    import torch

    where = f"The index at {folder} is corrupt:"
    lengths: list[int] = []
    with reading(folder):
        metadata, _ = read_part(folder / METADATA), read_part(folder / "avg_residual.pt")
        centroids, (cutoffs, weights) = read_part(folder / "centroids.pt"), read_part(folder / "buckets.pt")
        passages, cells = read_part(folder / INVERTED_FILE)
        nbits, dim = metadata["config"]["nbits"], centroids.shape[1]
        if (len(cutoffs), len(weights)) != (2**nbits - 1, 2**nbits) or dim * nbits % 8:
            raise IndexFaultError(f"{where} its codec does not fit its settings. Build it again.")
        if not all(float(part.abs().max()) <= LARGEST for part in (centroids, weights)):
            raise IndexFaultError(f"{where} its codec holds no numbers, or huge ones. Build it again.")
        for chunk in range(metadata["num_chunks"]):
            names = (f"doclens.{chunk}.json", f"{chunk}.metadata.json", f"{chunk}.codes.pt", f"{chunk}.residuals.pt")
            doclens, described, codes, residuals = (read_part(folder / name) for name in names)
            sizes = {len(codes), len(residuals), sum(doclens), described["num_embeddings"]}
            within = not len(codes) or 0 <= int(codes.min()) <= int(codes.max()) < len(centroids)
            kinds = (codes.dtype, residuals.dtype, residuals.shape[1]) == (torch.int32, torch.uint8, dim * nbits // 8)
            if len(sizes) > 1 or not within or not kinds or min(doclens, default=0) < 0:
                raise IndexFaultError(f"{where} the files of chunk {chunk} do not match. Build it again.")
            lengths += doclens
        # colbert-ai pads the list of passages.
        if len(cells) != len(centroids) or int(cells.min()) < 0 or int(cells.sum()) > len(passages):
            raise IndexFaultError(f"{where} its inverted file does not match its centroids. Build it again.")
        if len(passages) and not 0 <= int(passages.min()) <= int(passages.max()) < positions:
            raise IndexFaultError(f"{where} its inverted file names passages that it does not hold. Build it again.")
        total = metadata["num_embeddings"]
    if len(lengths) != positions or sum(lengths) != total:
        raise IndexFaultError(f"{where} its vectors do not match its passages. Build it again.")
    return int(total)


def require_terms(folder: Path, scores: Mapping[str, Any], terms: Iterable[int], passages: int) -> None:
    """Raise `IndexFaultError` if a number in BM25's matrix of terms and passages, or of a term, points nowhere."""
    with reading(folder / BM25):
        values, rows, starts = scores["data"], scores["indices"], scores["indptr"]
        ascending = int(starts[0]) == 0 and bool((starts[1:] >= starts[:-1]).all())
        consistent = ascending and len(values) == len(rows) == int(starts[-1])
        inside = not len(rows) or 0 <= int(rows.min()) <= int(rows.max()) < passages
        terms_inside = all(0 <= term < len(starts) - 1 for term in terms)
        if not (consistent and inside and terms_inside and scores["num_docs"] == passages):
            raise IndexFaultError(f"{folder / BM25} does not match its passages. Build the index again.")
