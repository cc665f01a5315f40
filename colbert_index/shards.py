"""Writes the parts of an index: all of it at once, or shard by shard with centroids that are trained once.

A corpus that is built in shards is dealt out to files while it is read, and never in memory as a whole. Shards that are
finished lie in a folder of their own beside the index (``.NAME.shards``) until all are there. A build that was stopped
goes on with them, if the passages, the checkpoint and the settings are the same.
"""

import hashlib
import json
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyqa.base.errors import PolyqaError
from polyqa.base.files import require_no_links, write_atomically
from polyqa.base.values import Passage
from polyqa.models import Encoder

from .compressing import sampled, train_codec, write_vectors
from .corpus import Corpus, CorpusSource, as_corpus, repeated_id, same_passage, warn_of_left_out
from .files import VECTORS, parts_of, passage_line, read_part, read_passages, write_texts
from .filters import ColumnKinds, Kind
from .settings import IndexSettings, fingerprint
from .stages import Stages

_AT_ONCE = 512  # passages between two moves of a bar
_READ_AT_ONCE = 1_000  # the same while the corpus is read
_STATE = "state.json"
_TEXTS, _CODEC = "texts", "codec"


@dataclass(frozen=True)
class Part:
    """What is to be written, and how.

    Attributes
    ----------
    folder
        Where to, an empty folder.
    location
        The folder of the ColBERT checkpoint.
    settings
        Of the index.
    encoder
        Name of the sentence encoder whose vectors are stored, if any.
    codec
        The folder of the trained centroids; if ``None``, the part trains its own.
    """

    folder: Path
    location: str
    settings: IndexSettings
    encoder: str | None = None
    codec: Path | None = None


@dataclass(frozen=True)
class Built:
    """How many passages and token vectors a part has."""

    passages: int
    tokens: int


Run = Callable[[Sequence[Part]], Iterable[Built]]
"""Has every part built somewhere by `build_shard`; yields what that returns as it comes, in any order."""


def write_part(part: Part, passages: Sequence[Passage], bars: Stages, *, encoder: Encoder | None = None) -> Built:
    """Write vectors, passages and terms of a part; ``encoder`` is the part's, if it is loaded already."""
    texts = [passage.indexed_text for passage in passages]
    tokens = write_vectors(texts, part.folder, part.location, part.settings, bars, codec=part.codec)
    if part.encoder is not None:
        np.save(part.folder / VECTORS, _sentence_vectors(texts, encoder or Encoder(part.encoder), bars))
    with bars.stage("writing passages and terms"):
        write_texts(part.folder, passages)
    return Built(len(passages), tokens)


def _sentence_vectors(texts: Sequence[str], encoder: Encoder, bars: Stages) -> NDArray[np.float16]:
    rows = []
    with bars.stage("encoding for reranking", len(texts), "passage") as advance:
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
    bars: Stages,
    run: Run | None,
    encoder: Encoder | None,
    watch: Callable[[Iterable[Passage]], Iterable[Passage]],
) -> tuple[int, int, str, dict[str, Kind]]:
    """Write all shards into the folder of a part that stands for the whole index; ``watch`` sees the passages pass.

    Returns
    -------
    passages, tokens : int
        How many there are.
    fingerprint : str
        See `settings.fingerprint`.
    columns : dict
        See `settings.Manifest`.
    """
    home = shards_home(index.resolve())
    require_no_links(home)
    shutil.rmtree(home / _TEXTS, ignore_errors=True)
    try:
        spooled = spool(corpus, home / _TEXTS, shards, bars)
    except BaseException:  # what was finished earlier stays; a corpus that is refused leaves nothing
        shutil.rmtree(home / _TEXTS, ignore_errors=True)
        with suppress(OSError):
            home.rmdir()
        raise
    content_hash = fingerprint(watch(spooled.passages()), checkpoint_hash, part.settings, shards)
    _keep_only(home, json.dumps({"fingerprint": content_hash, "encoder": part.encoder}))
    codec = home / _CODEC
    if not codec.is_dir():
        draft = home / f".{_CODEC}"
        shutil.rmtree(draft, ignore_errors=True)
        texts = spooled.texts(sampled(spooled.count, spooled.characters, part.settings))
        train_codec(texts, spooled.count, draft, part.location, part.settings, bars)
        draft.rename(codec)
    parts = [replace(part, folder=home / file.stem, codec=codec) for file in spooled.files]
    left = [shard for shard in parts if not shard.folder.is_dir()]
    if run is None:
        for shard in left:
            with bars.within(f"shard {int(shard.folder.name) + 1} of {shards}: "):
                build_shard(shard, bars, encoder)
    else:
        with bars.stage("building shards", spooled.count, "passage") as advance:
            advance(spooled.count * (1 - len(left) / shards))
            for built in run(left):
                advance(built.passages)
    tokens = sum(read_part(shard.folder / "metadata.json")["num_embeddings"] for shard in parts)
    for shard, place in zip(parts, parts_of(part.folder, shards), strict=True):
        place.parent.mkdir(exist_ok=True)
        shard.folder.rename(place)
    shutil.rmtree(home)
    return spooled.count, tokens, content_hash, spooled.columns


def _keep_only(home: Path, build: str) -> None:
    """Remove the finished shards of any other build."""
    state = home / _STATE
    with suppress(FileNotFoundError):
        if state.read_text(encoding="utf-8") == build:
            return
    for path in home.iterdir():
        if path.is_dir() and path.name != _TEXTS:
            shutil.rmtree(path)
    write_atomically(state, build.encode())


def build_shard(part: Part, bars: Stages = Stages(), encoder: Encoder | None = None) -> Built:
    """Build one shard, from its file of passages; it lies in its place when it is whole."""
    passages = _read(part.folder.parent / _TEXTS / f"{part.folder.name}.jsonl")
    draft = part.folder.with_name(f".{part.folder.name}")
    shutil.rmtree(draft, ignore_errors=True)  # of a worker that was lost
    draft.mkdir()
    built = write_part(replace(part, folder=draft), passages, bars, encoder=encoder)
    draft.rename(part.folder)
    return built


def shard_builder() -> Callable[[Part], Built]:
    """Return `build_shard`; called in every worker of a cluster."""
    return build_shard


@dataclass(frozen=True)
class Spool:
    """The files of the shards, to which the passages of the corpus are dealt in turn.

    Attributes
    ----------
    count, characters
        How many the corpus has; the latter of all indexed texts together.
    columns
        See `settings.Manifest`.
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


def spool(corpus: CorpusSource, folder: Path, shards: int, bars: Stages) -> Spool:
    """Read a corpus, check it, and deal it out.

    Raises
    ------
    PolyqaError
        If the corpus is faulty (see `read_corpus`), or has fewer passages than there are shards.
    """
    folder.mkdir(parents=True)
    files = tuple(folder / f"{number:04}.jsonl" for number in range(shards))
    hashes, kinds, count, characters = array("Q"), ColumnKinds(), 0, 0
    read = as_corpus(corpus)
    with ExitStack() as opened, bars.stage("reading the corpus") as advance:
        streams = [opened.enter_context(file.open("w", encoding="utf-8")) for file in files]
        for passage in read:
            streams[count % shards].write(passage_line(passage))
            hashes.append(_hash(passage.pid))
            kinds.add(passage)
            count += 1
            characters += len(passage.indexed_text)
            if count % _READ_AT_ONCE == 0:
                advance(_READ_AT_ONCE)
    if count < shards:
        raise PolyqaError(f"{count} passages make no {shards} shards; leave out --shards, or ask for fewer.")
    spooled = Spool(files, count, characters, kinds.columns)
    ordered = np.sort(np.frombuffer(hashes, dtype=np.uint64))
    spooled = _without_repeated(spooled, set(ordered[1:][ordered[1:] == ordered[:-1]].tolist()), read)
    warn_of_left_out(read, corpus)
    return spooled


def _hash(pid: str) -> int:
    return int.from_bytes(hashlib.blake2b(pid.encode(), digest_size=8).digest())


def _without_repeated(spooled: Spool, twice: set[int], corpus: Corpus) -> Spool:
    """Leave out passages that repeat others; the files are read again only if two ids have the same hash, of ``twice``.

    Raises
    ------
    PolyqaError
        If two passages differ and have the same id.
    """
    shards = len(spooled.files)
    found: dict[str, list[tuple[int, Passage]]] = {}
    for shard, file in enumerate(spooled.files if twice else ()):
        for line, passage in enumerate(_read(file)):
            if _hash(passage.pid) in twice:
                found.setdefault(passage.pid, []).append((line * shards + shard, passage))
    repeated: set[int] = set()
    for same in found.values():
        (first, earlier), *others = sorted(same, key=lambda one: one[0])
        for number, passage in others:
            if not same_passage(earlier, passage):
                raise repeated_id(passage.pid, _place(corpus, first), _place(corpus, number))
            repeated.add(number)
    for shard, file in enumerate(spooled.files if repeated else ()):
        kept = [one for line, one in enumerate(_read(file)) if line * shards + shard not in repeated]
        file.write_text("".join(map(passage_line, kept)), encoding="utf-8")
    corpus.repeated, corpus.passages = len(repeated), corpus.passages - len(repeated)
    lost = sum(len(one.indexed_text) for same in found.values() for number, one in same if number in repeated)
    return replace(spooled, count=spooled.count - len(repeated), characters=spooled.characters - lost)


def _place(corpus: Corpus, number: int) -> str:
    """Return where a passage stands; of what cannot be read again its number."""
    if isinstance(corpus.source, Path):
        return next(islice(corpus.placed(), number, None))[0]
    return f"passage {number + 1}"
