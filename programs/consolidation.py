"""VERDICT's consolidation of feedback (section 4.2): similar readings become one, outliers go."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_MEMBERS = 2  # readings that make a cluster at least
_NEAR = 0.1  # cosine distance below which two readings are equal


class Clusters(NamedTuple):
    """A partition of readings, by position: clusters, each with its medoid first, and what no cluster holds.

    Clusters are in the order of their first member, and so are the other members of each.
    """

    clusters: tuple[tuple[int, ...], ...]
    outliers: tuple[int, ...]


def consolidate(vectors: NDArray[np.floating]) -> Clusters:
    """Cluster readings with HDBSCAN over cosine distance, and find each cluster's medoid.

    The medoid is the member with the greatest sum of cosine similarities to its cluster (algorithm 1,
    line 11). HDBSCAN as the released code runs it splits what lies together into no single cluster: ten
    wordings of one reading come back as ten. Here readings nearer than 0.1 count as equal, and where
    HDBSCAN finds no cluster the groups of near readings are the clusters. If there is none either, each
    reading is a cluster of its own: noise can be told from signal only beside a signal.

    Parameters
    ----------
    vectors
        One unit vector per reading, shape (readings, dimensions); the likeliest reading first.
    """
    total = len(vectors)
    similarity = np.asarray(vectors, dtype=np.float64) @ np.asarray(vectors, dtype=np.float64).T
    distance = np.clip(1.0 - (similarity + similarity.T) / 2, 0.0, 2.0)
    np.fill_diagonal(distance, 0.0)
    labels = _dense(np.where(distance < _NEAR, 0.0, distance))
    if (labels < 0).all():
        labels = _groups(distance < _NEAR)
    if (labels < 0).all():
        return Clusters(tuple((index,) for index in range(total)), ())
    clusters = []
    for label in dict.fromkeys(int(label) for label in labels if label >= 0):
        inside = np.flatnonzero(labels == label)
        sums = similarity[np.ix_(inside, inside)].sum(axis=1)
        medoid = int(inside[int(np.argmax(np.round(sums, 9)))])  # rounded: equal members keep their order
        clusters.append((medoid, *(int(index) for index in inside if index != medoid)))
    return Clusters(tuple(sorted(clusters, key=min)), tuple(int(index) for index in np.flatnonzero(labels < 0)))


def _dense(distance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return HDBSCAN's labels, -1 for outliers."""
    if len(distance) <= _MEMBERS:  # one cluster at most, and HDBSCAN forms no single one
        return np.full(len(distance), -1)
    from sklearn.cluster import HDBSCAN

    clusterer = HDBSCAN(min_cluster_size=_MEMBERS, min_samples=_MEMBERS, metric="precomputed", copy=True)
    return np.asarray(clusterer.fit_predict(distance))


def _groups(near: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the connected groups of two readings or more, -1 for the rest."""
    from scipy.sparse.csgraph import connected_components

    if not len(near):
        return np.full(0, -1)
    _, labels = connected_components(near, directed=False)
    sizes = np.bincount(labels)
    return np.where(sizes[labels] >= _MEMBERS, labels, -1)
