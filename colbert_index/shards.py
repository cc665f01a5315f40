"""Builds an index in shards: the corpus is dealt out, centroids are trained once, each shard is compressed by itself.

Shards that are finished lie in a folder of their own beside the index (``.NAME.shards``) until all are there. A build
that was stopped goes on with them, if the passages, the checkpoint and the settings are the same.
"""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from polyqa.base.files import write_atomically
from polyqa.models import Encoder

from .compressing import sampled, train_codec
from .corpus import CorpusSource
from .files import parts_of, read_part, read_passages
from .parts import Built, Part, Run, write_part
from .settings import fingerprint
from .spool import Spool, identity, spool
from .stages import Stages

_STATE = "state.json"
_TEXTS, _CODEC = "texts", "codec"


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
    shown: Stages,
    run: Run | None,
    encoder: Encoder | None,
) -> tuple[int, int, str]:
    """Write all shards into the folder of a part that stands for the whole index.

    Returns
    -------
    passages, tokens : int
        How many there are.
    fingerprint : str
        See `settings.fingerprint`.
    """
    home = shards_home(index.resolve())
    shutil.rmtree(home / _TEXTS, ignore_errors=True)
    try:
        dealt = spool(corpus, home / _TEXTS, shards, shown)
    except BaseException:  # what was finished earlier stays; a corpus that is refused leaves nothing
        shutil.rmtree(home / _TEXTS, ignore_errors=True)
        with suppress(OSError):
            home.rmdir()
        raise
    named = fingerprint(dealt.passages(), checkpoint_hash, part.settings, shards)
    _keep_only(home, identity(named, part.encoder))
    codec = home / _CODEC
    if not codec.is_dir():
        draft = home / f".{_CODEC}"
        shutil.rmtree(draft, ignore_errors=True)
        texts = dealt.texts(sampled(dealt.count, dealt.characters, part.settings))
        train_codec(texts, dealt.count, draft, part.location, part.settings, shown)
        draft.rename(codec)
    each = [replace(part, folder=home / file.stem, codec=codec) for file in dealt.files]
    left = [one for one in each if not one.folder.is_dir()]
    if run is None:
        _build_here(left, shards, shown, encoder)
    else:
        _build_elsewhere(left, dealt, shown, run)
    tokens = sum(read_part(one.folder / "metadata.json")["num_embeddings"] for one in each)
    for one, place in zip(each, parts_of(part.folder, shards), strict=True):
        place.parent.mkdir(exist_ok=True)
        one.folder.rename(place)
    shutil.rmtree(home)
    return dealt.count, tokens, named


def _keep_only(home: Path, wanted: str) -> None:
    """Remove what was finished of another build."""
    state = home / _STATE
    with suppress(FileNotFoundError):
        if state.read_text(encoding="utf-8") == wanted:
            return
    for path in home.iterdir():
        if path.is_dir() and path.name != _TEXTS:
            shutil.rmtree(path)
    write_atomically(state, wanted.encode())


def _build_here(left: Sequence[Part], shards: int, shown: Stages, encoder: Encoder | None) -> None:
    for part in left:
        with shown.within(f"shard {int(part.folder.name) + 1} of {shards}: "):
            _build(part, shown, encoder)


def _build_elsewhere(left: Sequence[Part], dealt: Spool, shown: Stages, run: Run) -> None:
    with shown.stage("building shards", dealt.count, "passage") as advance:
        share = dealt.count / len(dealt.files)
        advance(dealt.count - len(left) * share)
        for built in run(build_shard, left):
            advance(built.passages)


def build_shard(part: Part) -> Built:
    """Build one shard, from its file of passages; it lies in its place when it is whole."""
    return _build(part, Stages(), None)


def _build(part: Part, shown: Stages, encoder: Encoder | None) -> Built:
    passages = [
        one for one in read_passages(part.folder.parent / _TEXTS / f"{part.folder.name}.jsonl") if one is not None
    ]
    draft = part.folder.with_name(f".{part.folder.name}")
    shutil.rmtree(draft, ignore_errors=True)  # of a worker that was lost
    draft.mkdir()
    built = write_part(replace(part, folder=draft), passages, shown, encoder=encoder)
    draft.rename(part.folder)
    return built
