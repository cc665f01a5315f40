"""Consolidation: HDBSCAN over cosine distance, with single clusters and medoids."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.models import Encoder
from polyqa.programs.consolidation import consolidate


def around(centre: int, spread: float, count: int, seed: int, dimensions: int = 32) -> np.ndarray:
    """Unit vectors about the axis ``centre``."""
    random = np.random.default_rng(seed)
    vectors = np.eye(dimensions)[centre] + spread * random.normal(size=(count, dimensions)) / np.sqrt(dimensions)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_two_groups_and_a_stray_reading() -> None:
    groups = [around(0, 0.3, 3, 1), around(5, 0.3, 3, 2)]
    vectors = np.vstack([*groups, -around(0, 0.0, 1, 3) / np.sqrt(2) - around(5, 0.0, 1, 3) / np.sqrt(2)])
    found = consolidate(vectors)
    assert [sorted(cluster) for cluster in found.clusters] == [[0, 1, 2], [3, 4, 5]]
    assert found.outliers == (6,)


def test_wordings_of_one_reading_come_back_as_one_equal_ones_with_the_first_as_medoid() -> None:
    assert [len(c) for c in consolidate(around(0, 0.15, 10, 4)).clusters] == [10]
    found = consolidate(np.repeat(np.eye(4)[:2], 3, axis=0))
    assert [cluster[0] for cluster in found.clusters] == [0, 3]


@pytest.mark.parametrize("count", [0, 1, 6])
def test_when_all_are_outliers_all_are_kept(count: int) -> None:
    found = consolidate(np.eye(6)[:count])
    assert found.clusters == tuple((index,) for index in range(count))
    assert found.outliers == ()


def test_the_medoid_is_the_member_nearest_to_all_others() -> None:
    angles = np.deg2rad([0, 4, 10, 90, 94])
    found = consolidate(np.column_stack([np.cos(angles), np.sin(angles)]))
    assert found.clusters[0][0] == 1


def test_wordings_of_real_readings_meet(encoder: Encoder) -> None:
    texts = [
        "When did the 1953 film Titanic come out? April 1953",
        "When did the musical Titanic open on Broadway? 23 April 1997",
        "When was the 1953 Titanic film released? 11 April 1953",
        "When did the Broadway musical Titanic come out? 1997",
    ]
    assert sorted(sorted(cluster) for cluster in consolidate(encoder.encode(texts)).clusters) == [[0, 2], [1, 3]]


@given(st.integers(0, 25), st.integers(1, 6), st.floats(0.0, 1.5), st.integers(0, 999))
def test_every_reading_is_in_one_cluster_or_an_outlier(count: int, groups: int, spread: float, seed: int) -> None:
    vectors = np.vstack([around(n % groups, spread, 1, seed + n, 8) for n in range(count)] or [np.empty((0, 8))])
    found = consolidate(vectors)
    assert sorted([i for cluster in found.clusters for i in cluster] + list(found.outliers)) == list(range(count))
    assert bool(found.clusters) == bool(count)
    for cluster in found.clusters:
        members = list(cluster)
        sums = (vectors[members] @ vectors[members].T).sum(axis=1)
        assert sums[0] == pytest.approx(sums.max(), abs=1e-8)
