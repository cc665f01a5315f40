"""Encodes passages, trains centroids and compresses: what colbert-ai's `CollectionIndexer.run` does, and its files.

There are four differences: an index in one part has no passage encoded twice, for the sample and for itself, the
centroids never outnumber the vectors, every random choice is seeded, and faiss finds the nearest centroids.

For these colbert-ai multiplies matrices and looks for the largest number of each column, which takes three times as
long as faiss and finds the same. Both grow with the number of centroids, which grows with the corpus: from 2¹⁵
centroids on (some 40,000 passages) looking in groups takes less than half the time that faiss takes for all.
"""

import json
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .engine import described, encode_documents, load_checkpoint
from .files import INVERTED_FILE, METADATA, link_or_copy, read_part
from .settings import IndexSettings
from .stages import Advance, stage

if TYPE_CHECKING:
    from torch import Tensor

_CHUNK = 25_000  # passages per chunk, as in colbert-ai: 600 MB of vectors
_COMPRESSED = 1 << 18  # vectors between two moves of a bar
_POINTS_PER_CENTROID = 64  # more vectors move the centroids little and cost minutes of k-means
_CHARACTERS = 4.5  # of a token, about, in English
_MARGIN = 1.1  # as that is not known exactly
_EXACT = 1 << 14  # up to so many centroids each is looked at
_EXACT_IN_KMEANS = 1 << 12  # there a vector that is counted with the second nearest moves a centroid little
_QUANTILES_OF = 1 << 24  # numbers: torch sorts no more for them
_GROUPS = 32  # that are searched for a vector
_GROUPS_IN_KMEANS = 8
_CODEC = ("centroids.pt", "buckets.pt", "avg_residual.pt")


@dataclass(frozen=True)
class Codec:
    """What token vectors are compressed with.

    The ``cutoffs`` part the buckets of what a dimension has beside the nearest centroid, the ``weights`` are what each
    of them stands for. Only colbert-ai reads the ``average`` of the same.
    """

    centroids: "Tensor"
    cutoffs: "Tensor"
    weights: "Tensor"
    average: "Tensor"

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        centroids, (cutoffs, weights), average = (read_part(folder / name) for name in _CODEC)
        return cls(centroids.float(), cutoffs, weights, average)

    def save(self, folder: Path) -> None:
        """Write colbert-ai's three files."""
        import torch

        parts = (self.centroids.half(), (self.cutoffs, self.weights), self.average)
        for name, part in zip(_CODEC, parts, strict=True):
            torch.save(part, folder / name)

    @cached_property
    def _finder(self) -> Any:
        return finder_of(self.centroids)

    def compress(self, vectors: "Tensor", advance: Advance = lambda done: None) -> tuple["Tensor", "Tensor"]:
        """Return the numbers of the vectors' centroids, and their buckets in bits, each with its lowest first."""
        import torch

        nbits = len(self.cutoffs).bit_length()
        codes, residuals = [], []
        for batch in vectors.split(_COMPRESSED):
            codes.append(nearest(self._finder, batch).int())
            buckets = torch.bucketize(batch - self.centroids[codes[-1]], self.cutoffs).to(torch.uint8)
            bits = (buckets.unsqueeze(-1) >> torch.arange(nbits, dtype=torch.uint8)) & 1
            residuals.append(torch.from_numpy(np.packbits(bits.flatten(1).numpy(), axis=1)))
            advance(len(batch))
        return torch.cat(codes), torch.cat(residuals)


def train_codec(texts: Sequence[str], passages: int, folder: Path, location: str, settings: IndexSettings) -> None:
    """Write the codec for an index of so many passages in all of its shards.

    It is trained on the texts of some (see `sampled`). The folder is made; `write_vectors` takes the codec from it.
    """
    folder.mkdir(parents=True)
    with stage("loading the checkpoint"):
        model = load_checkpoint(location, settings)
    with stage("encoding a sample", len(texts), "passage") as advance:
        vectors, lengths = encode_documents(model, texts, advance)
    _trained(vectors, len(vectors) / len(lengths) * passages, settings).save(folder)


def write_vectors(
    texts: Sequence[str],
    work: Path,
    location: str,
    settings: IndexSettings,
    *,
    codec: Path | None = None,
) -> None:
    """Write colbert-ai's files for the texts of passages into ``work``.

    The codec is that of a folder of `train_codec`; if not given, one is trained on these texts.
    """
    with stage("loading the checkpoint"):
        model = load_checkpoint(location, settings)
    chunks = [texts[begin : begin + _CHUNK] for begin in range(0, len(texts), _CHUNK)]
    # The sample's vectors are kept for the index; those of a corpus of one chunk are all of them.
    once = len(chunks) == 1
    sample: Sequence[int] = range(len(texts)) if once else []
    if not once and codec is None:
        sample = sampled(len(texts), sum(map(len, texts)), settings)
    first: Any = None
    sample_vectors: dict[int, Any] = {}
    if sample:
        with stage("encoding" if once else "encoding a sample", len(sample), "passage") as advance:
            first, lengths = encode_documents(model, [texts[number] for number in sample], advance)
        sample_vectors = {} if once else dict(zip(sample, first.split(lengths), strict=True))
    if codec is None:
        _trained(first, len(first) / len(lengths) * len(texts), settings).save(work)
    else:
        for name in _CODEC:
            link_or_copy(codec / name, work / name)
    trained = Codec.load(work)
    with ExitStack() as running:
        encoded = None if once else running.enter_context(stage("encoding", len(texts), "passage"))
        compressed = running.enter_context(stage("compressing", len(texts), "passage"))
        for number, chunk in enumerate(chunks):
            begin = number * _CHUNK
            vectors, lengths = (
                (first, lengths) if encoded is None else _encoded(model, chunk, begin, sample_vectors, encoded)
            )
            worth = len(chunk) / max(1, len(vectors))
            parts = trained.compress(vectors, lambda done, worth=worth: compressed(worth * done))  # type: ignore[misc]
            write_chunk(work, number, begin, parts, lengths)
    with stage("writing the inverted file"):
        write_inverted_file(work, len(chunks), described(location, settings))


def write_chunk(
    folder: Path, number: int, offset: int, compressed: tuple["Tensor", "Tensor"], lengths: Sequence[int]
) -> None:
    """Write colbert-ai's files of the passages from a position on: their compressed vectors, and how many each has."""
    import torch

    codes, residuals = compressed
    torch.save(codes, folder / f"{number}.codes.pt")
    torch.save(residuals, folder / f"{number}.residuals.pt")
    about = {"passage_offset": offset, "num_passages": len(lengths), "num_embeddings": len(codes)}
    (folder / f"{number}.metadata.json").write_text(json.dumps(about))
    (folder / f"doclens.{number}.json").write_text(json.dumps(lengths))


def write_inverted_file(folder: Path, chunks: int, about: Mapping[str, Any]) -> None:
    """Write which passages each centroid occurs in, over all chunks, and colbert-ai's description of the whole."""
    import torch

    lengths = [length for chunk in range(chunks) for length in read_part(folder / f"doclens.{chunk}.json")]
    codes = torch.cat([read_part(folder / f"{chunk}.codes.pt") for chunk in range(chunks)])
    passages = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths))
    pairs = torch.unique(codes.long() * len(lengths) + passages)
    centroids = len(read_part(folder / _CODEC[0]))
    sizes = torch.bincount(pairs // len(lengths), minlength=centroids)
    torch.save(((pairs % len(lengths)).int(), sizes), folder / INVERTED_FILE)
    counts = {"num_chunks": chunks, "num_partitions": centroids, "num_embeddings": len(codes)}
    description = {"config": dict(about), **counts, "avg_doclen": len(codes) / len(lengths)}
    (folder / METADATA).write_text(json.dumps(description, indent=2) + "\n")


def _encoded(
    model: Any, texts: Sequence[str], begin: int, sample_vectors: Mapping[int, Any], advance: Advance
) -> tuple[Any, list[int]]:
    """Return what `encode_documents` does for texts from number ``begin`` on, of which some have their vectors."""
    import torch

    numbers = range(begin, begin + len(texts))
    missing = [number for number in numbers if number not in sample_vectors]
    advance(len(texts) - len(missing))
    fresh: dict[int, Any] = {}
    if missing:
        vectors, lengths = encode_documents(model, [texts[number - begin] for number in missing], advance)
        fresh = dict(zip(missing, vectors.split(lengths), strict=True))
    parts = [sample_vectors[number] if number in sample_vectors else fresh[number] for number in numbers]
    return torch.cat(parts), [len(part) for part in parts]


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
    count = 2 ** int(np.log2(16 * np.sqrt(vectors)))
    # faiss refuses more centroids than vectors, which colbert-ai asks for below 270 vectors.
    return int(max(1, min(count, int(vectors) // 2)))


def _trained(vectors: "Tensor", expected: float, settings: IndexSettings) -> Codec:
    """Train the centroids for an index of so many token vectors, and the buckets, on some of them; seeded."""
    import torch

    count = _centroids_for(expected)
    generator = torch.Generator().manual_seed(settings.seed)
    sample = vectors[torch.randperm(len(vectors), generator=generator)[: _POINTS_PER_CENTROID * count]].float()
    most = min(50_000, _QUANTILES_OF // sample.shape[1] - 1)
    held_out = sample[: max(1, min(len(sample) // 20, most))]
    with stage("finding centroids", settings.kmeans_iterations, "round") as advance:
        centroids = _centroids(sample.numpy(), count, settings, advance)
    with stage("measuring residuals"):
        residuals = held_out - centroids[nearest(finder_of(centroids), held_out)]
        levels = torch.arange(2**settings.nbits) / 2**settings.nbits
        cutoffs = residuals.quantile(levels[1:])
        weights = residuals.quantile(levels + 0.5 / 2**settings.nbits)
    return Codec(centroids, cutoffs, weights, residuals.abs().mean(dim=0).mean())


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


def finder_of(centroids: "Tensor") -> Any:
    """Return a faiss index of the centroids."""
    finder = centroid_index(*centroids.shape)
    finder.train(centroids.numpy())
    finder.add(centroids.numpy())
    return finder


def nearest(finder: Any, vectors: "Tensor") -> "Tensor":
    """Return the number of the centroid nearest to each vector."""
    import torch

    return torch.from_numpy(finder.search(vectors.float().numpy(), 1)[1][:, 0])


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
