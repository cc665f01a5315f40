"""Centroids are found quickly, and are those that colbert-ai finds."""

import errno
from pathlib import Path

import numpy as np
import pytest
import torch
from colbert.indexing.codecs.residual import ResidualCodec
from numpy.typing import NDArray

from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, build_index
from polyqa.colbert_index import compressing as module
from polyqa.colbert_index.compressing import centroid_index, quick_codes


def directions(count: int, seed: int, dim: int = 128) -> NDArray[np.float32]:
    """Return vectors of length 1 around fewer others, as token vectors are."""
    draw = np.random.default_rng(seed)
    topics = np.random.default_rng(0).normal(size=(200, dim))
    found = topics[draw.integers(0, len(topics), count)] + 2 * draw.normal(size=(count, dim))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def test_codes_are_those_of_colbert_ai(index: ColBERTIndex) -> None:
    codec = ResidualCodec.load(str(index.parts[0]))
    vectors = torch.from_numpy(directions(3_000, 1)).half()
    theirs = codec.compress_into_codes(vectors, out_device="cpu")
    with quick_codes():
        ours = codec.compress_into_codes(vectors, out_device="cpu")
    assert ours.dtype == theirs.dtype
    assert torch.equal(ours, theirs)
    assert "quick" not in ResidualCodec.compress_into_codes.__qualname__


def test_of_many_centroids_nearly_always_the_nearest_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    centroids, vectors = directions(9_000, 2), directions(2_000, 3)

    def nearest(kind: str) -> NDArray[np.int64]:
        finder = centroid_index(*centroids.shape)
        assert type(finder).__name__ == kind
        finder.train(centroids)
        finder.add(centroids)
        return finder.search(vectors, 1)[1][:, 0]

    exact = nearest("IndexFlatIP")
    np.testing.assert_array_equal(exact, (vectors @ centroids.T).argmax(axis=1))
    monkeypatch.setattr(module, "_EXACT", 8_000)
    found = nearest("IndexIVFFlat")
    assert 0.8 < (found == exact).mean() < 1
    lost = ((centroids[exact] - centroids[found]) * vectors).sum(axis=1)
    assert 0 < lost.mean() < 0.01


@pytest.mark.parametrize(("count", "kind"), [(4_096, "IndexFlatL2"), (4_097, "IndexIVFFlat")])
def test_kmeans_looks_at_all_of_few_centroids(count: int, kind: str) -> None:
    assert type(centroid_index(count, 16, kmeans=True)).__name__ == kind


def test_kmeans_in_groups_finds_centroids_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    from polyqa.colbert_index.compressing import _centroids
    from polyqa.colbert_index.settings import IndexSettings

    sample, held_out = directions(20_000, 4), directions(2_000, 5)
    near = []
    for exact in (1 << 12, 1 << 4):
        monkeypatch.setattr(module, "_EXACT_IN_KMEANS", exact)
        centroids = _centroids(sample, 1_000, IndexSettings(), lambda _: None).numpy()
        assert centroids.shape == (1_000, 128)
        near.append((held_out @ centroids.T).max(axis=1).mean())
    assert near[1] == pytest.approx(near[0], abs=0.005)


def test_what_stops_the_thread_that_writes_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from colbert.indexing.index_saver import IndexSaver

    def full(*chunk: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexSaver, "_write_chunk_to_disk", full)
    monkeypatch.setattr(module, "_CHUNK", 2)  # so many that their queue would fill, and nobody empty it
    passages = [Passage(pid=f"{number}", text=f"Owl {number} hunts at night.") for number in range(14)]
    with pytest.raises(OSError, match="No space left"):
        build_index(passages, tmp_path / "owls", progress=False)
