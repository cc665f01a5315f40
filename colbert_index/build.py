"""Builds an index: encode once, train centroids, compress, write aside, put in force."""

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from polyqa.base.errors import PolyqaError
from polyqa.models import Encoder

from .checkpoint import EMBEDDED_CHECKPOINT, checkpoint_hash, checkpoint_name, model_name, resolve_checkpoint
from .corpus import CorpusSource, read_corpus
from .files import parts_of, tokens_of, write_checksums, write_manifest
from .filters import ColumnKinds
from .lengths import warn_of_long
from .settings import MOST_SHARDS, IndexSettings, Manifest, fingerprint
from .shards import Part, Run, build_shards, forget_shards, write_part
from .stages import stage, stages
from .store import index_path
from .trust import trust
from .versions import is_half_made, is_index, new_version

if TYPE_CHECKING:
    from .index import ColBERTIndex


def build_index(
    corpus: CorpusSource,
    index: str | Path,
    *,
    checkpoint: str = EMBEDDED_CHECKPOINT,
    settings: IndexSettings | None = None,
    encoder: Encoder | None = None,
    shards: int = 1,
    run: Run | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> "ColBERTIndex":
    """Build a ColBERTv2 index of a corpus.

    A warning tells if passages are longer than what is indexed of them; `polyqa.documents.split_passages` splits them.

    The index is written into a temporary folder beside its place and becomes the version in force when it is complete
    (see `versions`): a build that is killed leaves nothing half-made. The next one starts clean; one in shards goes on
    with those that were finished, if nothing else has changed.

    Parameters
    ----------
    corpus
        Anything that `read_corpus` reads. In shards, it is read once and never held in memory as a whole.
    index
        A name (the folder is made in `store.index_home`) or a path.
    checkpoint
        ``polyqa-minilm-colbert`` or ``embedded``, a path, or a hub name such as ``colbert-ir/colbertv2.0`` or
        ``lightonai/LateOn``: a checkpoint of Stanford's ColBERT, of PyLate, or of `MultiVectorEncoder`.
    settings
        How to build; the default is ColBERTv2's 2 bits.
    encoder
        If given, its vectors of the passages are stored too, so that rerankers need not encode them.
    shards
        In how many parts the corpus is encoded and compressed, each in a folder of its own, with centroids that are
        trained once. The index is searched as one; passages are added to one shard, and removed from those that hold
        them.
    run
        Where the shards are built, one after the other in this process if not given; on a Ray cluster by the workers
        of `polyqa.cluster.on_ray`, whose machines must see the index's folder under the same path.
    overwrite
        Replace an index that is there. Who has it open goes on searching what he opened, and what is made from it,
        such as a database of questions, stays.
    progress
        Show on standard error what the build is at, with a bar for every stage.

    Returns
    -------
    ColBERTIndex
        The new index, opened.

    Raises
    ------
    PolyqaError
        If the corpus is faulty, the place is taken, or the checkpoint is not there.
    """
    from .index import ColBERTIndex

    if not 1 <= shards <= MOST_SHARDS:
        raise PolyqaError(f"An index has 1 to {MOST_SHARDS:,} shards, not {shards:,}.")
    settings = settings or IndexSettings()
    target = index_path(index)
    _require_free(target, overwrite=overwrite)
    passages = read_corpus(corpus) if shards == 1 else None
    location = resolve_checkpoint(checkpoint)
    weights_hash = checkpoint_hash(location)
    if passages is not None:
        warn_of_long(passages, location, settings.doc_maxlen)
    with new_version(target) as work, stages(progress):
        _require_free(target, overwrite=overwrite)  # another build may have ended since
        part = Part(work, location, settings, model_name(encoder.name) if encoder else None)
        if passages is not None:
            forget_shards(target.resolve())
            write_part(part, passages, encoder)
            count, content_hash = len(passages), fingerprint(passages, weights_hash, settings)
            columns = ColumnKinds(passages).columns
        else:
            count, content_hash, columns = build_shards(corpus, target, part, shards, weights_hash, run, encoder)
        manifest = Manifest(
            passages=count,
            tokens=tokens_of(parts_of(work, shards)),
            checkpoint=checkpoint_name(checkpoint),
            checkpoint_hash=weights_hash,
            settings=settings,
            fingerprint=content_hash,
            encoder=part.encoder,
            colbert_ai=version("colbert-ai"),
            shards=shards,
            columns=columns,
        )
        with stage("writing checksums"):
            write_manifest(work, manifest)
            write_checksums(work)
    trust(manifest)  # whoever builds names them himself
    return ColBERTIndex(target)


def _require_free(target: Path, *, overwrite: bool) -> None:
    """Raise `PolyqaError` if a place is taken: by something else, or by an index that is not to be overwritten."""
    if not target.exists() or is_half_made(target):
        return
    if not is_index(target):
        raise PolyqaError(f"{target} is not a polyqa index; it is left alone. Choose another name, or move it away.")
    if not overwrite:
        raise PolyqaError(
            f"{target} exists; remove it, choose another name, or overwrite it (--overwrite; overwrite=True)."
        )
