"""Whether the files of an index are those that were written, and fit together, before anything of them is loaded.

Two things are checked, as two things happen to files. A damaged one has another hash than the manifest says. One from a
stranger has the right hash, but may promise what it does not hold: colbert-ai's C++ ends the process on numbers that
point nowhere, and a count in a JSON file may ask for more memory than there is.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .files import BM25, CHECKSUMS, IndexFaultError, folders_of, read_part, reading

_BLOCK = 1 << 20


def checksums(folder: Path) -> dict[str, str]:
    """Return the hash of every file of an index but the list of hashes, by name; what others keep beside has none."""
    found = [path for own in folders_of(folder) for path in own.iterdir() if path.is_file()]
    names = sorted(path.relative_to(folder).as_posix() for path in found if not path.name.startswith("."))
    return {name: _hash(folder / name) for name in names if name != CHECKSUMS}


def write_checksums(folder: Path) -> None:
    """Write down the hashes of all files of an index, when they are all written."""
    (folder / CHECKSUMS).write_text(json.dumps(checksums(folder), indent=1) + "\n", encoding="utf-8")


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(partial(file.read, _BLOCK), b""):
            digest.update(block)
    return digest.hexdigest()[:32]


def require_written(folder: Path, names: Iterable[str]) -> None:
    """Check that files are those that were written with the index.

    An index that was made before there were hashes has none; its files are only checked for fitting together.

    Raises
    ------
    IndexFaultError
        If one is not.
    """
    path = folder / CHECKSUMS
    if not path.is_file():
        return
    known: Mapping[str, Any] = read_part(path)
    with reading(folder):
        changed = [name for name in names if known[name] != _hash(folder / name)]
    if changed:
        raise IndexFaultError(f"{folder / changed[0]} is damaged: it is not as it was written. Build the index again.")


def require_vectors(folder: Path, parts: Sequence[Path], positions: Sequence[int], tokens: int | None) -> None:
    """Check that the files of token vectors agree with each other, with the manifest and with the passages.

    Parameters
    ----------
    folder
        Of the index.
    parts
        The folders that hold its token vectors, which must have the same centroids.
    positions
        How many passages each part holds.
    tokens
        How many token vectors they hold together; ``None`` if that is not known.

    Raises
    ------
    IndexFaultError
        If they do not.
    """
    held = [_require_part(part, own) for part, own in zip(parts, positions, strict=True)]
    if tokens not in (None, sum(held)):
        raise IndexFaultError(
            f"The index at {folder} is corrupt: its vectors do not match its passages. Build it again."
        )
    for name in ("centroids.pt", "buckets.pt"):
        if len({_hash(part / name) for part in parts}) > 1:
            raise IndexFaultError(
                f"The shards of the index at {folder} are of different builds: {name}. Build it again."
            )


def _require_part(folder: Path, positions: int) -> int:
    """Check one part; return how many token vectors it holds."""
    import torch

    where = f"The index at {folder} is corrupt:"
    lengths: list[int] = []
    with reading(folder):
        metadata, *_ = (read_part(folder / name) for name in ("metadata.json", "plan.json", "avg_residual.pt"))
        centroids, (cutoffs, weights) = read_part(folder / "centroids.pt"), read_part(folder / "buckets.pt")
        passages, cells = read_part(folder / "ivf.pid.pt")
        nbits, dim = metadata["config"]["nbits"], centroids.shape[1]
        if (len(cutoffs), len(weights)) != (2**nbits - 1, 2**nbits) or dim * nbits % 8:
            raise IndexFaultError(f"{where} its codec does not fit its settings. Build it again.")
        for chunk in range(metadata["num_chunks"]):
            names = (f"doclens.{chunk}.json", f"{chunk}.metadata.json", f"{chunk}.codes.pt", f"{chunk}.residuals.pt")
            own, described, codes, residuals = (read_part(folder / name) for name in names)
            sizes = {len(codes), len(residuals), sum(own), described["num_embeddings"]}
            within = not len(codes) or 0 <= int(codes.min()) <= int(codes.max()) < len(centroids)
            kinds = (codes.dtype, residuals.dtype, residuals.shape[1]) == (torch.int32, torch.uint8, dim * nbits // 8)
            if len(sizes) > 1 or not within or not kinds or min(own, default=0) < 0:
                raise IndexFaultError(f"{where} the files of chunk {chunk} do not match. Build it again.")
            lengths += own
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
    """Check that BM25's matrix of terms and passages is one.

    Parameters
    ----------
    scores
        Of a `bm25s.BM25`: ``data``, ``indices``, ``indptr`` and ``num_docs``.
    terms
        Numbers of its terms.

    Raises
    ------
    IndexFaultError
        If a number points nowhere.
    """
    with reading(folder / BM25):
        values, rows, starts = scores["data"], scores["indices"], scores["indptr"]
        whole = (
            len(values) == len(rows) == int(starts[-1])
            and int(starts[0]) == 0
            and bool((starts[1:] >= starts[:-1]).all())
        )
        inside = not len(rows) or 0 <= int(rows.min()) <= int(rows.max()) < passages
        known = all(0 <= term < len(starts) - 1 for term in terms)
        if not (whole and inside and known and scores["num_docs"] == passages):
            raise IndexFaultError(f"{folder / BM25} does not match its passages. Build the index again.")
