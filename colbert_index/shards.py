"""Writes the parts of an index: all of it at once, or shard by shard with centroids that are trained once.

A corpus that is built in shards is dealt out to files while it is read, and never in memory as a whole. Shards that are
finished lie in a folder of their own beside the index (``.NAME.shards``) until all are there. A build that was stopped
goes on with them, if the passages, the checkpoint and the settings are the same.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyqa.base.errors import PolyqaError
from polyqa.base.files import require_no_links, sync_all, sync_folder, write_atomically
from polyqa.base.values import Passage
from polyqa.models import Encoder

from .compressing import sampled, train_codec, write_vectors
from .corpus import CorpusSource, as_corpus, warn_of_left_out
from .files import VECTORS, parts_of, passage_line, read_passages, write_texts
from .filters import ColumnKinds, Kind
from .lengths import warn_of_long
from .settings import IndexSettings, fingerprint
from .stages import stage

_AT_ONCE = 512  # passages between two moves of a bar
_READ_AT_ONCE = 1_000  # the same while the corpus is read
_WRITTEN_AT_ONCE = 1 << 24  # characters, to the files of all shards
_STATE = "state.json"
_TEXTS, _CODEC = "texts", "codec"


@dataclass(frozen=True)
class Part:
    """What is to be written into an empty folder: with the ColBERT checkpoint at a location, and the index's settings.

    If there is a name of a sentence encoder, its vectors are stored, too. If there is no folder of a ``codec``, the
    part trains centroids of its own.
    """

    folder: Path
    location: str
    settings: IndexSettings
    encoder: str | None = None
    codec: Path | None = None


Run = Callable[[Sequence[Part]], Iterable[int]]
"""Has every part built somewhere by `build_shard`; yields what that returns as it comes, in any order."""


def write_part(part: Part, passages: Sequence[Passage], encoder: Encoder | None) -> None:
    """Write vectors, passages and terms of a part; ``encoder`` is the part's, if it is loaded already."""
    texts = [passage.indexed_text for passage in passages]
    write_vectors(texts, part.folder, part.location, part.settings, codec=part.codec)
    if part.encoder is not None:
        np.save(part.folder / VECTORS, _sentence_vectors(texts, encoder or Encoder(part.encoder)))
    with stage("writing passages and terms"):
        write_texts(part.folder, passages)


def _sentence_vectors(texts: Sequence[str], encoder: Encoder) -> NDArray[np.float16]:
    rows = []
    with stage("encoding for reranking", len(texts), "passage") as advance:
        for begin in range(0, len(texts), _AT_ONCE):
            rows.append(encoder.encode(texts[begin : begin + _AT_ONCE]).astype(np.float16))
            advance(len(rows[-1]))
    return np.concatenate(rows)


def shards_home(index: Path) -> Path:
    """Return where the finished shards of an index lie while others are built."""
    return index.parent / f".{index.name}.shards"


def forget_shards(index: Path) -> None:
    """Remove what a build that was stopped has left."""
    shutil.rmtree(shards_home(index), ignore_errors=True)


def build_shards(
    corpus: CorpusSource,
    index: Path,
    part: Part,
    shards: int,
    checkpoint_hash: str,
    run: Run | None,
    encoder: Encoder | None,
) -> tuple[int, str, dict[str, Kind]]:
    """Write all shards into the folder of a part that stands for the whole index.

    Return how many passages there are, their fingerprint and the columns of their metadata, see `settings.Manifest`.
    """
    home = shards_home(index.resolve())
    require_no_links(home)
    shutil.rmtree(home / _TEXTS, ignore_errors=True)
    try:
        spooled = spool(corpus, home / _TEXTS, shards)
    except BaseException:  # what was finished earlier stays; a corpus that is refused leaves nothing
        shutil.rmtree(home / _TEXTS, ignore_errors=True)
        with suppress(OSError):
            home.rmdir()
        raise
    content_hash = fingerprint(spooled.passages(), checkpoint_hash, part.settings, shards)
    warn_of_long(spooled.passages(), part.location, part.settings.doc_maxlen)
    _keep_only(home, json.dumps({"fingerprint": content_hash, "encoder": part.encoder}))
    codec = home / _CODEC
    if not codec.is_dir():
        draft = home / f".{_CODEC}"
        shutil.rmtree(draft, ignore_errors=True)
        texts = spooled.texts(sampled(spooled.count, spooled.characters, part.settings))
        train_codec(texts, spooled.count, draft, part.location, part.settings)
        _put(draft, codec)
    parts = [replace(part, folder=home / file.stem, codec=codec) for file in spooled.files]
    unbuilt = [shard for shard in parts if not shard.folder.is_dir()]
    with stage("building shards", spooled.count, "passage") as advance:
        advance(spooled.count * (1 - len(unbuilt) / shards))
        for passages in run(unbuilt) if run else (build_shard(shard, encoder) for shard in unbuilt):
            advance(passages)
    for shard, place in zip(parts, parts_of(part.folder, shards), strict=True):
        place.parent.mkdir(exist_ok=True)
        shard.folder.rename(place)
    shutil.rmtree(home)
    return spooled.count, content_hash, spooled.columns


def _keep_only(home: Path, build: str) -> None:
    """Remove the finished shards of any other build."""
    state = home / _STATE
    with suppress(FileNotFoundError):
        if state.read_bytes() == build.encode():
            return
    for path in home.iterdir():
        if path.is_dir() and path.name != _TEXTS:
            shutil.rmtree(path)
    write_atomically(state, build.encode())


def build_shard(part: Part, encoder: Encoder | None = None) -> int:
    """Build one shard, from its file of passages, and return how many these are; it lies in its place when whole."""
    passages = _read(part.folder.parent / _TEXTS / f"{part.folder.name}.jsonl")
    draft = part.folder.with_name(f".{part.folder.name}")
    shutil.rmtree(draft, ignore_errors=True)  # of a worker that was lost
    draft.mkdir()
    write_part(replace(part, folder=draft), passages, encoder)
    _put(draft, part.folder)
    return len(passages)


def _put(draft: Path, place: Path) -> None:
    """Put a folder in its place, where it is taken for whole: after a power cut, too."""
    sync_all(draft)
    draft.rename(place)
    sync_folder(place.parent)


@dataclass(frozen=True)
class Spool:
    """The files of the shards, to which the passages of the corpus are dealt in turn.

    The characters are those of all indexed texts together; for the columns see `settings.Manifest`.
    """

    files: tuple[Path, ...]
    count: int
    characters: int
    columns: dict[str, Kind]

    def passages(self) -> Iterator[Passage]:
        """Yield all passages, one shard after the other; one shard is in memory at a time."""
        return (passage for file in self.files for passage in _read(file))

    def texts(self, numbers: Sequence[int]) -> list[str]:
        """Return the indexed texts of some passages, by their numbers in the corpus; in the order of the shards."""
        texts: list[str] = []
        for shard, file in enumerate(self.files):
            lines = {number // len(self.files) for number in numbers if number % len(self.files) == shard}
            passages = _read(file) if lines else []
            texts += [passage.indexed_text for line, passage in enumerate(passages) if line in lines]
        return texts


def _read(file: Path) -> list[Passage]:
    return [passage for passage in read_passages(file) if passage is not None]


def spool(corpus: CorpusSource, folder: Path, shards: int) -> Spool:
    """Read a corpus, check it (see `read_corpus`), and deal it out; there must be a passage for each shard."""
    folder.mkdir(parents=True)
    files = tuple(folder / f"{number:04}.jsonl" for number in range(shards))
    kinds, count, characters = ColumnKinds(), 0, 0
    read, ids = as_corpus(corpus), folder / "ids.sqlite"
    waiting: list[list[str]] = [[] for _ in files]

    def write() -> None:
        for file, lines in zip(files, waiting, strict=True):  # there may be more shards than files that may be open
            with file.open("a", encoding="utf-8") as stream:
                stream.writelines(lines)
            lines.clear()

    with stage("reading the corpus") as advance:
        size = 0
        for passage in read.distinct(ids):
            waiting[count % shards].append(line := passage_line(passage))
            kinds.add(passage)
            count += 1
            characters += len(passage.indexed_text)
            size += len(line)
            if size > _WRITTEN_AT_ONCE:
                write()
                size = 0
            if count % _READ_AT_ONCE == 0:
                advance(_READ_AT_ONCE)
        write()
    ids.unlink()
    if count < shards:
        raise PolyqaError(f"{count} passages make no {shards} shards; leave out --shards, or ask for fewer.")
    warn_of_left_out(read, corpus)
    return Spool(files, count, characters, kinds.columns)
