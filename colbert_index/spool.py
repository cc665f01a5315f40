"""Deals a corpus out to files, one for each shard, while it is read: it is never in memory as a whole."""

import hashlib
import json
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage

from .corpus import CorpusSource, iter_corpus
from .files import passage_line, read_passages
from .stages import Stages

_MOVE = 1_000  # passages between two moves of the bar


@dataclass(frozen=True)
class Spool:
    """The files of the shards, to which the passages of the corpus are dealt in turn.

    Attributes
    ----------
    count, characters
        How many the corpus has; the latter of all indexed texts together.
    """

    files: tuple[Path, ...]
    count: int
    characters: int

    def passages(self) -> Iterator[Passage]:
        """Yield all passages, one shard after the other; one shard is in memory at a time."""
        return (one for file in self.files for one in read_passages(file) if one is not None)

    def texts(self, numbers: Sequence[int]) -> list[str]:
        """Return the indexed texts of some passages, by their numbers in the corpus; in the order of the shards."""
        found: list[str] = []
        for shard, file in enumerate(self.files):
            own = {number // len(self.files) for number in numbers if number % len(self.files) == shard}
            held = read_passages(file) if own else []
            found += [one.indexed_text for line, one in enumerate(held) if line in own and one is not None]
        return found


def spool(corpus: CorpusSource, folder: Path, shards: int, shown: Stages) -> Spool:
    """Read a corpus, check it, and deal it out.

    Raises
    ------
    PolyqaError
        If the corpus is faulty (see `read_corpus`), or has fewer passages than there are shards.
    """
    folder.mkdir(parents=True)
    files = tuple(folder / f"{number:04}.jsonl" for number in range(shards))
    ids, count, characters = array("Q"), 0, 0
    with ExitStack() as opened, shown.stage("reading the corpus") as advance:
        streams = [opened.enter_context(file.open("w", encoding="utf-8")) for file in files]
        for _, passage in iter_corpus(corpus):
            streams[count % shards].write(passage_line(passage))
            ids.append(_hash(passage.pid))
            count += 1
            characters += len(passage.indexed_text)
            if count % _MOVE == 0:
                advance(_MOVE)
    if count < shards:
        raise PolyqaError(f"{count} passages make no {shards} shards; leave out --shards, or ask for fewer.")
    dealt = Spool(files, count, characters)
    _require_unique(dealt, np.frombuffer(ids, dtype=np.uint64))
    return dealt


def _hash(pid: str) -> int:
    return int.from_bytes(hashlib.blake2b(pid.encode(), digest_size=8).digest())


def _require_unique(dealt: Spool, ids: "np.ndarray[tuple[int], np.dtype[np.uint64]]") -> None:
    ordered = np.sort(ids)
    twice = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    seen: set[str] = set()
    for pid in (passage.pid for passage in dealt.passages()) if twice else ():
        if _hash(pid) in twice:
            if pid in seen:
                raise PolyqaError(f"The id {pid!r} stands twice in the corpus; ids must be unique.")
            seen.add(pid)


def identity(named: str, encoder: str | None) -> str:
    """Return what tells the shards of one build from those of another."""
    return json.dumps({"fingerprint": named, "encoder": encoder})
