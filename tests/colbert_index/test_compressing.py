"""Vectors are compressed quickly, and as colbert-ai does it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from colbert.indexing.codecs.residual import ResidualCodec
from numpy.typing import NDArray

from polyqa.colbert_index import ColBERTIndex, IndexSettings
from polyqa.colbert_index import compressing as module
from polyqa.colbert_index.compressing import Codec, centroid_index, write_chunk, write_inverted_file
from polyqa.colbert_index.engine import quiet
from polyqa.colbert_index.files import read_part


def directions(count: int, seed: int, dim: int = 128) -> NDArray[np.float32]:
    """Return vectors of length 1 around fewer others, as token vectors are."""
    draw = np.random.default_rng(seed)
    topics = np.random.default_rng(0).normal(size=(200, dim))
    found = topics[draw.integers(0, len(topics), count)] + 2 * draw.normal(size=(count, dim))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def test_codes_and_residuals_are_those_of_colbert_ai(index: ColBERTIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = torch.from_numpy(directions(3_000, 1)).half()
    with quiet():
        theirs = ResidualCodec.load(str(index.folder)).compress(vectors)
    monkeypatch.setattr(module, "_COMPRESSED", 1_000)
    done: list[float] = []
    codes, residuals = Codec.load(index.folder).compress(vectors, done.append)
    assert torch.equal(codes, theirs.codes)
    assert torch.equal(residuals, theirs.residuals)
    assert done == [1_000] * 3


def test_the_inverted_file_names_the_passages_of_each_centroid_once(tmp_path: Path) -> None:
    torch.save(torch.zeros(4, 8), tmp_path / "centroids.pt")
    for number, (codes, lengths) in enumerate([([2, 0, 2, 2], [1, 0, 3]), ([1, 2], [2])]):
        residuals = torch.zeros(len(codes), 2, dtype=torch.uint8)
        write_chunk(tmp_path, number, 0, (torch.tensor(codes, dtype=torch.int32), residuals), lengths)
    write_inverted_file(tmp_path, 2, {})
    passages, sizes = read_part(tmp_path / "ivf.pid.pt")
    assert (passages.tolist(), sizes.tolist()) == ([2, 3, 0, 2, 3], [1, 1, 3, 0])


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


def test_residuals_are_measured_on_no_more_numbers_than_torch_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 25,000 vectors of 768 dimensions, say."""
    sizes: list[int] = []
    quantile = torch.Tensor.quantile

    def noted(numbers: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
        sizes.append(numbers.numel())
        return quantile(numbers, levels)

    monkeypatch.setattr(module, "_QUANTILES_OF", 400)
    monkeypatch.setattr(torch.Tensor, "quantile", noted)
    module._trained(torch.from_numpy(directions(2_000, 1, dim=8)), 2_000, IndexSettings())
    assert sizes == [392, 392]
