"""Which centroid is nearest to a token vector: exactly by faiss, or among the centroids of the nearest groups.

colbert-ai multiplies matrices for it and looks for the largest number of each column, which takes three times as long
as faiss and finds the same. Both grow with the number of centroids, which grows with the corpus: from 2¹⁵ centroids on
(some 40,000 passages) looking in groups takes less than half the time that faiss takes for all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EXACT = 1 << 14
"""Up to so many centroids each is looked at."""
_EXACT_IN_KMEANS = 1 << 12
"""The same for k-means, where a vector that is counted with the second nearest moves a centroid little."""
_GROUPS = 32  # that are searched for a vector
_GROUPS_IN_KMEANS = 8


@contextmanager
def quick_codes() -> Iterator[None]:
    """Have colbert-ai's codec find centroids by faiss while the block runs, in one thread at a time: see `quiet`."""
    import torch
    from colbert.indexing.codecs.residual import ResidualCodec

    def codes(codec: Any, vectors: Any, out_device: Any) -> Any:
        if "finder" not in codec.__dict__:
            codec.finder = centroid_finder(codec.centroids.float().cpu().numpy())
        return torch.from_numpy(nearest_centroids(codec.finder, vectors.float().cpu().numpy())).to(out_device)

    theirs, ResidualCodec.compress_into_codes = ResidualCodec.compress_into_codes, codes
    try:
        yield
    finally:
        ResidualCodec.compress_into_codes = theirs


def centroid_finder(centroids: NDArray[np.float32]) -> Any:
    """Return a faiss index of centroids, for `nearest_centroids`.

    Parameters
    ----------
    centroids
        Of length 1, shape (centroids, dim).
    """
    import faiss

    count, dim = centroids.shape
    if count <= _EXACT:
        index = faiss.IndexFlatIP(dim)
        index.add(centroids)
        return index
    index = grouped(count, dim, faiss.METRIC_INNER_PRODUCT, _GROUPS)
    index.train(centroids)
    index.add(centroids)
    return index


def nearest_centroids(finder: Any, vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the number of each vector's centroid, shape (len(vectors),).

    Beyond 2¹⁴ centroids, one or two vectors in a hundred get one that is a little farther away than the nearest.
    """
    found: NDArray[np.int64] = finder.search(vectors, 1)[1][:, 0]
    return found


def kmeans_index(count: int, dim: int) -> Any:
    """Return the faiss index in which k-means looks for the nearest of so many centroids."""
    import faiss

    return (
        faiss.IndexFlatL2(dim) if count <= _EXACT_IN_KMEANS else grouped(count, dim, faiss.METRIC_L2, _GROUPS_IN_KMEANS)
    )


def grouped(count: int, dim: int, metric: int, searched: int) -> Any:
    """Return a faiss index that puts so many centroids into groups, of which the nearest are searched.

    There are twice as many groups as the root of the number.
    """
    import faiss

    groups = 2 * int(np.sqrt(count))
    index = faiss.IndexIVFFlat(faiss.IndexFlat(dim, metric), dim, groups, metric)
    index.cp.min_points_per_centroid = 1
    index.nprobe = searched
    return index
