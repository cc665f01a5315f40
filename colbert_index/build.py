"""Builds an index: encode once, train centroids, compress, write aside, put in force."""

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyqa.embedded_models import Encoder
from polyqa.signatures import Passage, PolyqaError

from .checkpoint import EMBEDDED_CHECKPOINT, checkpoint_hash, checkpoint_name, resolve_checkpoint
from .corpus import CorpusSource, read_corpus
from .engine import colbert_config, encode_documents, load_checkpoint, quiet
from .files import VECTORS, scrub_metadata, write_own_files
from .intact import write_checksums
from .settings import IndexSettings, Manifest, fingerprint
from .stages import Advance, Stages, stages
from .store import index_path
from .trust import trust
from .versions import is_half_made, is_index, new_version

if TYPE_CHECKING:
    from .index import ColBERTIndex

_AT_ONCE = 512  # passages between two moves of a bar
_CHUNK = 25_000  # passages per chunk, as in colbert-ai: 600 MB of vectors
_POINTS_PER_CENTROID = 64  # more vectors move the centroids little and cost minutes of k-means


def build_index(
    corpus: CorpusSource,
    index: str | Path,
    *,
    checkpoint: str = EMBEDDED_CHECKPOINT,
    settings: IndexSettings | None = None,
    encoder: Encoder | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> "ColBERTIndex":
    """Build a ColBERTv2 index of a corpus.

    The index is written into a temporary folder beside its place and becomes the version in force when it is complete
    (see `versions`): a build that is killed leaves nothing half-made, and the next one starts clean.

    Parameters
    ----------
    corpus
        Anything that `read_corpus` reads.
    index
        A name (the folder is made in `store.index_home`) or a path.
    checkpoint
        ``polyqa-minilm-colbert`` or ``embedded``, a path, or a hub name such as ``colbert-ir/colbertv2.0``.
    settings
        How to build; the default is ColBERTv2's 2 bits.
    encoder
        If given, its vectors of the passages are stored too, so that rerankers need not encode them.
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

    settings = settings or IndexSettings()
    target = index_path(index)
    if target.exists() and not is_half_made(target):
        if not overwrite:
            raise PolyqaError(f"{target} exists; remove it, choose another name, or overwrite it (--overwrite).")
        if not is_index(target):
            raise PolyqaError(f"{target} is not a polyqa index; it is left alone. Choose another name.")
    passages = read_corpus(corpus)
    location = resolve_checkpoint(checkpoint)
    with new_version(target) as work, stages(progress) as shown:
        tokens = _build_colbert(passages, work, location, settings, shown)
        if encoder is not None:
            np.save(work / VECTORS, _sentence_vectors(passages, encoder, shown))
        hashed = checkpoint_hash(location)
        manifest = Manifest(
            passages=len(passages),
            tokens=tokens,
            checkpoint=checkpoint_name(checkpoint),
            checkpoint_hash=hashed,
            settings=settings,
            fingerprint=fingerprint(passages, hashed, settings),
            encoder=encoder.name if encoder else None,
            colbert_ai=version("colbert-ai"),
        )
        with shown.stage("writing passages, terms and checksums"):
            write_own_files(work, passages, manifest)
            write_checksums(work)
    trust(manifest)  # whoever builds names them himself
    return ColBERTIndex(target)


def _sentence_vectors(passages: Sequence[Passage], encoder: Encoder, shown: Stages) -> NDArray[np.float16]:
    texts = [passage.indexed_text for passage in passages]
    parts = []
    with shown.stage("encoding for reranking", len(texts), "passage") as advance:
        for begin in range(0, len(texts), _AT_ONCE):
            parts.append(encoder.encode(texts[begin : begin + _AT_ONCE]).astype(np.float16))
            advance(len(parts[-1]))
    return np.concatenate(parts)


def _build_colbert(
    passages: Sequence[Passage], work: Path, location: str, settings: IndexSettings, shown: Stages
) -> int:
    """Write colbert-ai's files for the passages into ``work``; return the number of token vectors.

    This is `CollectionIndexer.run` with three differences: a corpus of one chunk is encoded once and
    not twice, the centroids never outnumber the vectors, and every random choice is seeded.
    """
    import torch

    with shown.stage("loading the checkpoint"):
        model = load_checkpoint(location, settings)
    texts = [passage.indexed_text for passage in passages]
    chunks = [texts[begin : begin + _CHUNK] for begin in range(0, len(texts), _CHUNK)]
    sampled = _sample(texts, settings) if len(chunks) > 1 else []
    # A corpus of one chunk is encoded once: its vectors serve as the sample, too.
    first_texts = sampled or texts
    with shown.stage("encoding a sample" if sampled else "encoding", len(first_texts), "passage") as advance:
        first, first_lengths = encode_documents(model, first_texts, advance)
    with quiet(), torch.inference_mode():
        indexer = make_indexer(work, location, settings, passages, len(chunks), len(first) / len(first_lengths))
        indexer._save_plan()
        _save_codec(indexer, first, settings, shown)
        with ExitStack() as running:
            encoded = running.enter_context(shown.stage("encoding", len(texts), "passage")) if sampled else None
            compressed = running.enter_context(shown.stage("compressing", len(texts), "passage"))
            if sampled:
                del first
            running.enter_context(indexer.saver.thread())
            for number, chunk in enumerate(chunks):
                vectors, lengths = encode_documents(model, chunk, encoded) if sampled else (first, first_lengths)
                with _counting_vectors(indexer.saver.codec, len(chunk) / max(1, len(vectors)), compressed):
                    indexer.saver.save_chunk(number, number * _CHUNK, vectors, lengths)
        with shown.stage("writing the inverted file"):
            indexer.finalize()
    scrub_metadata(work)
    return int(indexer.num_embeddings)


@contextmanager
def _counting_vectors(codec: Any, worth: float, advance: Advance) -> Iterator[None]:
    """Have colbert-ai's codec tell of every batch of vectors that it compresses; each is ``worth`` so much."""

    def binarize(residuals: Any) -> Any:
        packed = type(codec).binarize(codec, residuals)
        advance(worth * len(residuals))
        return packed

    codec.binarize = binarize
    try:
        yield
    finally:
        del codec.binarize


def _sample(texts: Sequence[str], settings: IndexSettings) -> list[str]:
    """Draw as many passages as colbert-ai does for training the centroids: 16 · √(120 · n)."""
    count = min(len(texts), 1 + int(16 * (120 * len(texts)) ** 0.5))
    return random.Random(settings.seed).sample(texts, count)


def make_indexer(
    work: Path,
    checkpoint: str,
    settings: IndexSettings,
    passages: Sequence[Passage | None],
    chunks: int,
    average_length: float,
) -> Any:
    """Return colbert-ai's `CollectionIndexer` for saving chunks into ``work`` and finalizing, without its start-up."""
    from colbert.indexing.collection_indexer import CollectionIndexer
    from colbert.indexing.index_saver import IndexSaver

    # Not its constructor, which would load the checkpoint again; `setup` and `train` are ours.
    indexer = object.__new__(CollectionIndexer)
    indexer.verbose = 0
    indexer.config = config = colbert_config(
        checkpoint, settings, root=str(work.parent), index_root=str(work.parent), index_name=work.name
    )
    indexer.rank, indexer.nranks, indexer.use_gpu = 0, 1, False
    indexer.collection = passages
    indexer.saver = IndexSaver(config)
    indexer.num_chunks = chunks
    indexer.avg_doclen_est = average_length
    indexer.num_embeddings_est = average_length * len(passages)
    wanted = 2 ** int(np.log2(16 * np.sqrt(indexer.num_embeddings_est)))
    # faiss refuses more centroids than vectors, which colbert-ai asks for below 270 vectors.
    indexer.num_partitions = max(1, min(wanted, int(indexer.num_embeddings_est) // 2))
    return indexer


def _save_codec(indexer: Any, vectors: Any, settings: IndexSettings, shown: Stages) -> None:
    """Train the centroids and the residual buckets, seeded, and save them."""
    import torch
    from colbert.indexing.codecs.residual import ResidualCodec

    generator = torch.Generator().manual_seed(settings.seed)
    sample = vectors[torch.randperm(len(vectors), generator=generator)[: _POINTS_PER_CENTROID * indexer.num_partitions]]
    held_out = sample[: max(1, min(len(sample) // 20, 50_000))]
    with shown.stage("finding centroids", settings.kmeans_iterations, "round") as advance:
        centroids = _centroids(sample.float().numpy(), indexer.num_partitions, settings, advance)
    with shown.stage("measuring residuals"):
        cutoffs, weights, average = indexer._compute_avg_residual(centroids, held_out.float())
    indexer.saver.save_codec(
        ResidualCodec(
            config=indexer.config,
            centroids=centroids,
            avg_residual=average,
            bucket_cutoffs=cutoffs,
            bucket_weights=weights,
        )
    )


def _centroids(sample: Any, count: int, settings: IndexSettings, advance: Advance) -> Any:
    """Return the centroids of k-means; one round after the other gives the same as all at once."""
    import faiss
    import torch

    found: Any = None
    for _ in range(settings.kmeans_iterations):
        kmeans = faiss.Kmeans(
            sample.shape[1],
            count,
            niter=1,
            seed=settings.seed + 1,
            verbose=False,
            min_points_per_centroid=1,
            max_points_per_centroid=_POINTS_PER_CENTROID,
        )
        kmeans.train(sample, init_centroids=found)
        found = np.array(kmeans.centroids)
        advance(1)
    return torch.nn.functional.normalize(torch.from_numpy(found), dim=-1).float()
