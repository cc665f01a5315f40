"""Builds an index: encode once, train centroids, compress, write aside, rename."""

import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyqa.embedded_models import Encoder
from polyqa.signatures import Passage, PolyqaError

from .checkpoint import EMBEDDED_CHECKPOINT, checkpoint_hash, checkpoint_name, resolve_checkpoint
from .corpus import CorpusSource, read_corpus
from .engine import colbert_config, encode_documents, load_checkpoint, quiet
from .files import MANIFEST, VECTORS, replacing, scrub_metadata, write_own_files
from .settings import IndexSettings, Manifest, fingerprint
from .store import index_path

if TYPE_CHECKING:
    from .index import ColBERTIndex

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

    The index is written into a temporary folder beside its place and renamed when it is complete:
    a build that is killed leaves nothing half-made, and the next one starts clean.

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
        Replace an index that is there. What others keep in its folder (folders and hidden files, such as a
        database of questions made from it) stays.
    progress
        Show a progress bar on standard error.

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
    if target.exists() and not overwrite:
        raise PolyqaError(f"{target} exists; remove it, choose another name, or overwrite it (--overwrite).")
    if target.exists() and not (target / MANIFEST).is_file():
        raise PolyqaError(f"{target} is not a polyqa index; it is left alone. Choose another name.")
    passages = read_corpus(corpus)
    location = resolve_checkpoint(checkpoint)
    with replacing(target) as work:
        tokens = _build_colbert(passages, work, location, settings, progress)
        if encoder is not None:
            vectors = encoder.encode([passage.indexed_text for passage in passages])
            np.save(work / VECTORS, vectors.astype(np.float16))
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
        write_own_files(work, passages, manifest)
        _carry_over(target, work)
    return ColBERTIndex(target)


def _carry_over(old: Path, new: Path) -> None:
    """Copy what is not the index's own: made from it at a price, and still good if the corpus is the same."""
    for entry in old.iterdir() if old.is_dir() else ():
        if (new / entry.name).exists():
            continue
        if entry.is_dir():
            shutil.copytree(entry, new / entry.name, symlinks=True)
        elif entry.name.startswith(".") and entry.suffix != ".lock":
            shutil.copy2(entry, new / entry.name)


def _build_colbert(
    passages: Sequence[Passage], work: Path, location: str, settings: IndexSettings, progress: bool
) -> int:
    """Write colbert-ai's files for the passages into ``work``; return the number of token vectors.

    This is `CollectionIndexer.run` with three differences: a corpus of one chunk is encoded once and
    not twice, the centroids never outnumber the vectors, and every random choice is seeded.
    """
    import torch

    model = load_checkpoint(location, settings)
    texts = [passage.indexed_text for passage in passages]
    chunks = [texts[begin : begin + _CHUNK] for begin in range(0, len(texts), _CHUNK)]
    sampled = _sample(texts, settings) if len(chunks) > 1 else []
    with _bar(len(texts) + len(sampled), progress) as advance:
        # A corpus of one chunk is encoded once: its vectors serve as the sample, too.
        first, first_lengths = encode_documents(model, sampled or texts, advance)
        with quiet(), torch.inference_mode():
            indexer = make_indexer(work, location, settings, passages, len(chunks), len(first) / len(first_lengths))
            indexer._save_plan()
            _save_codec(indexer, first, settings)
            if sampled:
                del first
            with indexer.saver.thread():
                for number, chunk in enumerate(chunks):
                    vectors, lengths = encode_documents(model, chunk, advance) if sampled else (first, first_lengths)
                    indexer.saver.save_chunk(number, number * _CHUNK, vectors, lengths)
            indexer.finalize()
    scrub_metadata(work)
    return int(indexer.num_embeddings)


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


def _save_codec(indexer: Any, vectors: Any, settings: IndexSettings) -> None:
    """Train the centroids and the residual buckets, seeded, and save them."""
    import torch
    from colbert.indexing.codecs.residual import ResidualCodec

    generator = torch.Generator().manual_seed(settings.seed)
    sample = vectors[torch.randperm(len(vectors), generator=generator)[: _POINTS_PER_CENTROID * indexer.num_partitions]]
    held_out = sample[: max(1, min(len(sample) // 20, 50_000))]
    centroids = _centroids(sample.float().numpy(), indexer.num_partitions, settings)
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


def _centroids(sample: Any, count: int, settings: IndexSettings) -> Any:
    import faiss
    import torch

    kmeans = faiss.Kmeans(
        sample.shape[1],
        count,
        niter=settings.kmeans_iterations,
        seed=settings.seed + 1,
        verbose=False,
        min_points_per_centroid=1,
        max_points_per_centroid=_POINTS_PER_CENTROID,
    )
    kmeans.train(sample)
    return torch.nn.functional.normalize(torch.from_numpy(kmeans.centroids), dim=-1).float()


@contextmanager
def _bar(total: int, show: bool) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("encoding passages"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), disable=not show) as bar:
        task = bar.add_task("encoding", total=total)
        yield lambda done: bar.advance(task, done)
