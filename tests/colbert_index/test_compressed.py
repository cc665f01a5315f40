import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, IndexSettings, SearchSettings, build_index, check_index
from polyqa.colbert_index.compressed import CompressedVectors, Rows, weights_of_bytes

ALL = SearchSettings(ncells=1_000_000, candidates=1_000_000, ndocs=1_000_000)


def unpacked(vectors: CompressedVectors) -> list[NDArray[np.float32]]:
    """The token vectors of each passage, as the index stores them, made whole by its definition."""
    residuals = vectors._weights[vectors.residuals].reshape(len(vectors.codes), vectors.dim)
    whole = vectors.centroids[vectors.codes] + residuals
    whole /= np.linalg.norm(whole, axis=1, keepdims=True)
    return np.split(whole, vectors.offsets[1:-1])


def maxsim(query: NDArray[np.float32], passage: NDArray[np.float32]) -> float:
    return float(np.maximum((query @ passage.T).max(axis=1), 0).sum()) if len(passage) else 0.0


def unit(rng: np.random.Generator, tokens: int, dim: int) -> NDArray[np.float32]:
    drawn = rng.normal(size=(tokens, dim)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.fixture(scope="module", params=[1, 2, 4])
def vectors(
    request: pytest.FixtureRequest, passages: list[Passage], tmp_path_factory: pytest.TempPathFactory
) -> object:
    """The token vectors of an index of forty passages, at 1, 2 and 4 bits per dimension."""
    path = tmp_path_factory.mktemp("bits") / "index"
    index = build_index(passages, path, settings=IndexSettings(nbits=request.param), progress=False)
    assert check_index(path).settings == index.settings
    assert index.search("what stops the kite from spinning", k=1)[0].pid == "kite-tail"
    assert index.token_vectors.residuals.shape == (index.manifest.tokens, 128 * request.param // 8)
    return index.token_vectors


@settings(deadline=None, max_examples=25)
@given(tokens=st.integers(1, 70), seed=st.integers(0, 10_000))
def test_scores_are_those_of_the_definition(vectors: CompressedVectors, tokens: int, seed: int) -> None:
    query = unit(np.random.default_rng(seed), tokens, vectors.dim)
    found = vectors.search(query, 10, ALL)
    expected = [maxsim(query, passage) for passage in unpacked(vectors)]
    assert [score for _, score in found] == pytest.approx(sorted(expected, reverse=True)[:10], abs=1e-3)
    assert dict(found) == pytest.approx({position: expected[position] for position, _ in found}, abs=1e-3)


def test_fewer_documents_are_scored_the_same(vectors: CompressedVectors) -> None:
    query = unpacked(vectors)[7][:32]
    thorough = dict(vectors.search(query, 40, ALL))
    for ndocs in (1, 5, 20):
        found = vectors.search(query, ndocs, SearchSettings(candidates=30, ndocs=ndocs))
        assert len(found) == ndocs
        assert found[0][0] == 7
        assert dict(found) == pytest.approx({position: thorough[position] for position, _ in found}, abs=1e-5)


def test_passages_of_equal_score_come_in_their_order(tmp_path: Path) -> None:
    twins = [Passage(pid=str(number), title="", text="Marmots whistle when an eagle is near.") for number in range(30)]
    index = build_index(twins, tmp_path / "twins", progress=False)
    assert [passage.pid for passage in index.search("who whistles?", 5)] == ["0", "1", "2", "3", "4"]


def test_threads_do_not_share_what_a_search_writes(vectors: CompressedVectors) -> None:
    queries = [unit(np.random.default_rng(seed), 32, vectors.dim) for seed in range(4)]
    expected = [vectors.search(query, 10, ALL) for query in queries]
    wrong: list[int] = []

    def again(number: int) -> None:
        for _ in range(20):
            if vectors.search(queries[number], 10, ALL) != expected[number]:
                wrong.append(number)

    threads = [threading.Thread(target=again, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_query_of_other_dimensions_is_refused(vectors: CompressedVectors) -> None:
    with pytest.raises(ValueError, match=r"expected token vectors of 128 dimensions, got an array of shape \(32, 64\)"):
        vectors.search(np.zeros((32, 64), np.float32), 1, ALL)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e38])
def test_a_query_of_what_is_no_number_is_refused(vectors: CompressedVectors, number: float) -> None:
    with pytest.raises(PolyqaError, match="makes no vectors of this question"):
        vectors.search(np.full((32, 128), number, np.float32), 1, ALL)


@pytest.mark.parametrize("nbits", [1, 2, 4])
def test_bytes_are_read_as_colbert_ai_writes_them(index: ColBERTIndex, nbits: int) -> None:
    import torch
    from colbert.indexing.codecs.residual import ResidualCodec
    from colbert.infra import ColBERTConfig

    cutoffs, weights = torch.linspace(-1, 1, 2**nbits + 1)[1:-1], torch.linspace(-1, 1, 2**nbits)
    config = ColBERTConfig(dim=128, nbits=nbits)
    codec = ResidualCodec(config, torch.zeros(1, 128), 0.0, cutoffs, weights)
    residuals = torch.rand(50, 128) * 2 - 1
    read = weights_of_bytes(weights.numpy(), nbits)[codec.binarize(residuals).numpy()].reshape(50, 128)
    np.testing.assert_allclose(read, weights[torch.bucketize(residuals, cutoffs)].numpy())


@pytest.mark.parametrize("wrong", [{"ncells": 0}, {"candidates": 0}, {"ndocs": 0}])
def test_a_search_takes_at_least_one_of_everything(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        SearchSettings(**wrong)


def test_how_many_are_scored_exactly_follows_k() -> None:
    follows = SearchSettings()
    passes = [follows.passes(k) for k in (1, 5, 100, 1000)]
    assert passes == sorted(passes)
    assert all(candidates >= exact >= k for k in (1, 5, 10_000) for candidates, exact in [follows.passes(k)])
    assert SearchSettings(ndocs=64, candidates=500).passes(5) == (500, 64)
    assert SearchSettings(ndocs=64, candidates=50).passes(100) == (100, 100)


def test_rows_are_those_of_the_arrays_in_a_row() -> None:
    whole = np.arange(15, dtype=np.float16).reshape(-1, 3)
    np.testing.assert_array_equal(Rows(np.split(whole, [0, 2, 3])), whole)  # the first is empty


_SEARCH_WITH_TOO_LITTLE_MEMORY = """
import resource
import numpy as np
from polyqa.colbert_index import SearchSettings
from polyqa.colbert_index.compressed import CompressedVectors

count = 4_500_000
vectors = object.__new__(CompressedVectors)
vectors.nbits, vectors.centroids, vectors._weights = 2, np.ones((1, 4), np.float32), np.zeros((256, 4), np.float32)
vectors.codes, vectors.residuals = np.zeros(count, np.int32), np.zeros((count, 1), np.uint8)
vectors._members, vectors._first_members = np.arange(count, dtype=np.int32), np.array([0, count])
vectors.offsets = np.arange(count + 1)

def search():
    return vectors.search(np.full((1, 4), 0.5, np.float32), 3, SearchSettings(ndocs=3, candidates=3))

before = search()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
unlimited = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 22), unlimited[1]))
try:
    search()
except MemoryError:
    resource.setrlimit(resource.RLIMIT_AS, unlimited)
    print([position for position, _ in before], before == search())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited in Linux's way")
def test_a_search_after_one_without_memory_passes_over_nothing() -> None:
    command = [sys.executable, "-c", _SEARCH_WITH_TOO_LITTLE_MEMORY]
    assert subprocess.check_output(command, text=True) == "[0, 1, 2] True\n"
