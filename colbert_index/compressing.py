"""Encodes passages, trains centroids and compresses: what colbert-ai's `CollectionIndexer.run` does, and its files.

There are four differences: an index in one part has no passage encoded twice, for the sample and for itself, the
centroids never outnumber the vectors, every random choice is seeded, and faiss finds the nearest centroids.

For these colbert-ai multiplies matrices and looks for the largest number of each column, which takes three times as
long as faiss and finds the same. Both grow with the number of centroids, which grows with the corpus: from 2¹⁵
centroids on (some 40,000 passages) looking in groups takes less than half the time that faiss takes for all.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .engine import colbert_config, encode_documents, load_checkpoint, quiet
from .files import link_or_copy, read_part, scrub_metadata
from .settings import IndexSettings
from .stages import Advance, Stages

_CHUNK = 25_000  # passages per chunk, as in colbert-ai: 600 MB of vectors
_COMPRESSED = 1 << 18  # vectors between two moves of a bar
_POINTS_PER_CENTROID = 64  # more vectors move the centroids little and cost minutes of k-means
_CHARACTERS = 4.5  # of a token, about, in English
_MARGIN = 1.1  # as that is not known exactly
_EXACT = 1 << 14  # up to so many centroids each is looked at
_EXACT_IN_KMEANS = 1 << 12  # there a vector that is counted with the second nearest moves a centroid little
_GROUPS = 32  # that are searched for a vector
_GROUPS_IN_KMEANS = 8
_CODEC = ("centroids.pt", "buckets.pt", "avg_residual.pt")


def train_codec(
    texts: Sequence[str], passages: int, folder: Path, location: str, settings: IndexSettings, bars: Stages
) -> None:
    """Write the centroids and residual buckets for an index of so many passages in all of its shards.

    They are trained on the texts of some (see `sampled`). The folder is made; `write_vectors` takes the codec from it.
    """
    import torch

    folder.mkdir(parents=True)
    with bars.stage("loading the checkpoint"):
        model = load_checkpoint(location, settings)
    with bars.stage("encoding a sample", len(texts), "passage") as advance:
        vectors, lengths = encode_documents(model, texts, advance)
    with quiet(), quick_codes(), torch.inference_mode():
        indexer = make_indexer(folder, location, settings, passages, 1, len(vectors) / len(lengths))
        _save_codec(indexer, vectors, settings, bars)


def write_vectors(
    texts: Sequence[str],
    work: Path,
    location: str,
    settings: IndexSettings,
    bars: Stages,
    *,
    codec: Path | None = None,
) -> None:
    """Write colbert-ai's files for the texts of passages into ``work``.

    The codec is that of a folder of `train_codec`; if not given, centroids are trained on these texts.
    """
    import torch

    with bars.stage("loading the checkpoint"):
        model = load_checkpoint(location, settings)
    chunks = [texts[begin : begin + _CHUNK] for begin in range(0, len(texts), _CHUNK)]
    # The sample's vectors are kept for the index; those of a corpus of one chunk are all of them.
    once = len(chunks) == 1
    sample: Sequence[int] = range(len(texts)) if once else []
    if not once and codec is None:
        sample = sampled(len(texts), sum(map(len, texts)), settings)
    first: Any = None
    known: dict[int, Any] = {}
    average = 1.0
    if sample:
        with bars.stage("encoding" if once else "encoding a sample", len(sample), "passage") as advance:
            first, lengths = encode_documents(model, [texts[number] for number in sample], advance)
        known = {} if once else dict(zip(sample, first.split(lengths), strict=True))
        average = len(first) / len(lengths)
    with quiet(), quick_codes(), torch.inference_mode():
        indexer = make_indexer(work, location, settings, len(texts), len(chunks), average)
        if codec is not None:
            for name in _CODEC:
                link_or_copy(codec / name, work / name)
            indexer.num_partitions = len(read_part(work / "centroids.pt"))
        indexer._save_plan()
        if codec is None:
            _save_codec(indexer, first, settings, bars)
        with ExitStack() as running:
            encoded = None if once else running.enter_context(bars.stage("encoding", len(texts), "passage"))
            compressed = running.enter_context(bars.stage("compressing", len(texts), "passage"))
            # Not in its `thread`, which a full disk ends unseen: chunks would fill the queue and wait for ever.
            trained = indexer.saver.load_codec()
            for number, chunk in enumerate(chunks):
                vectors, lengths = (
                    (first, lengths) if encoded is None else _encoded(model, chunk, number * _CHUNK, known, encoded)
                )
                packed = _compressed(trained, vectors, len(chunk) / max(1, len(vectors)), compressed)
                indexer.saver._write_chunk_to_disk(number, number * _CHUNK, packed, lengths)
        with bars.stage("writing the inverted file"):
            indexer.finalize()
    scrub_metadata(work)


def _encoded(
    model: Any, texts: Sequence[str], begin: int, known: Mapping[int, Any], advance: Advance
) -> tuple[Any, list[int]]:
    """Return what `encode_documents` does for texts from number ``begin`` on, of which some have their vectors."""
    import torch

    numbers = range(begin, begin + len(texts))
    left = [number for number in numbers if number not in known]
    advance(len(texts) - len(left))
    fresh: dict[int, Any] = {}
    if left:
        vectors, lengths = encode_documents(model, [texts[number - begin] for number in left], advance)
        fresh = dict(zip(left, vectors.split(lengths), strict=True))
    parts = [known[number] if number in known else fresh[number] for number in numbers]
    return torch.cat(parts), [len(part) for part in parts]


def _compressed(codec: Any, vectors: Any, worth: float, advance: Advance) -> Any:
    """Return vectors as colbert-ai's codec compresses them; each is ``worth`` so much of the bar."""
    import torch

    batches = []
    for batch in vectors.split(_COMPRESSED):
        batches.append(codec.compress(batch))
        advance(worth * len(batch))
    codes, residuals = zip(*((batch.codes, batch.residuals) for batch in batches), strict=True)
    return codec.Embeddings(torch.cat(codes), torch.cat(residuals))


def sampled(passages: int, characters: int, settings: IndexSettings) -> list[int]:
    """Draw passages for training the centroids; return their numbers.

    They are as many as colbert-ai draws, 16 · √(120 · n), or as hold the token vectors that k-means takes: of a large
    corpus these are fewer. Its characters are those of all indexed texts together.
    """
    tokens = max(1.0, min(settings.doc_maxlen, characters / passages / _CHARACTERS))  # of a passage
    enough = int(_MARGIN * _POINTS_PER_CENTROID * _centroids_for(tokens * passages) / tokens)
    count = min(passages, 1 + int(16 * (120 * passages) ** 0.5), 1 + enough)
    return random.Random(settings.seed).sample(range(passages), count)


def _centroids_for(vectors: float) -> int:
    """Return how many centroids colbert-ai has for so many token vectors: a power of 2 near to 16 · √n."""
    wanted = 2 ** int(np.log2(16 * np.sqrt(vectors)))
    # faiss refuses more centroids than vectors, which colbert-ai asks for below 270 vectors.
    return int(max(1, min(wanted, int(vectors) // 2)))


def make_indexer(
    work: Path, checkpoint: str, settings: IndexSettings, passages: int, chunks: int, average_length: float
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
    indexer.collection = range(passages)  # of which it wants nothing but the length
    indexer.rank, indexer.nranks, indexer.use_gpu = 0, 1, False
    indexer.saver = IndexSaver(config)
    indexer.num_chunks = chunks
    indexer.avg_doclen_est = average_length
    indexer.num_embeddings_est = average_length * passages
    indexer.num_partitions = _centroids_for(indexer.num_embeddings_est)
    return indexer


def _save_codec(indexer: Any, vectors: Any, settings: IndexSettings, bars: Stages) -> None:
    """Train the centroids and the residual buckets, seeded, and save them."""
    import torch
    from colbert.indexing.codecs.residual import ResidualCodec

    generator = torch.Generator().manual_seed(settings.seed)
    sample = vectors[torch.randperm(len(vectors), generator=generator)[: _POINTS_PER_CENTROID * indexer.num_partitions]]
    held_out = sample[: max(1, min(len(sample) // 20, 50_000))]
    with bars.stage("finding centroids", settings.kmeans_iterations, "round") as advance:
        centroids = _centroids(sample.float().numpy(), indexer.num_partitions, settings, advance)
    with bars.stage("measuring residuals"):
        cutoffs, weights, average = indexer._compute_avg_residual(centroids, held_out.float())
    codec = ResidualCodec(
        config=indexer.config,
        centroids=centroids,
        avg_residual=average,
        bucket_cutoffs=cutoffs,
        bucket_weights=weights,
    )
    indexer.saver.save_codec(codec)


def _centroids(sample: Any, count: int, settings: IndexSettings, advance: Advance) -> Any:
    """Return the centroids of k-means; one round after the other gives the same as all at once."""
    import faiss
    import torch

    centroids: Any = None
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
        kmeans.index = centroid_index(count, sample.shape[1], kmeans=True)
        kmeans.train(sample, init_centroids=centroids)
        centroids = np.array(kmeans.centroids)
        advance(1)
    return torch.nn.functional.normalize(torch.from_numpy(centroids), dim=-1).float()


@contextmanager
def quick_codes() -> Iterator[None]:
    """Have colbert-ai's codec find centroids by faiss while the block runs, in one thread at a time: see `quiet`."""
    import torch
    from colbert.indexing.codecs.residual import ResidualCodec

    def codes(codec: Any, vectors: Any, out_device: Any) -> Any:
        if "finder" not in codec.__dict__:
            centroids = codec.centroids.float().cpu().numpy()
            codec.finder = centroid_index(*centroids.shape)
            codec.finder.train(centroids)
            codec.finder.add(centroids)
        _, nearest = codec.finder.search(vectors.float().cpu().numpy(), 1)
        return torch.from_numpy(nearest[:, 0]).to(out_device)

    theirs, ResidualCodec.compress_into_codes = ResidualCodec.compress_into_codes, codes
    try:
        yield
    finally:
        ResidualCodec.compress_into_codes = theirs


def centroid_index(count: int, dim: int, *, kmeans: bool = False) -> Any:
    """Return a faiss index, empty, that finds the nearest of so many centroids.

    Of many centroids it looks at those of the nearest groups only, of which there are twice as many as the root of the
    number: beyond 2¹⁴ centroids, one or two vectors in a hundred get one that is a little farther away.
    """
    import faiss

    if count <= (_EXACT_IN_KMEANS if kmeans else _EXACT):
        return faiss.IndexFlatL2(dim) if kmeans else faiss.IndexFlatIP(dim)
    metric = faiss.METRIC_L2 if kmeans else faiss.METRIC_INNER_PRODUCT
    index = faiss.IndexIVFFlat(faiss.IndexFlat(dim, metric), dim, 2 * int(np.sqrt(count)), metric)
    index.cp.min_points_per_centroid = 1
    index.nprobe = _GROUPS_IN_KMEANS if kmeans else _GROUPS
    return index
