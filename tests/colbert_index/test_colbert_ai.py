"""An index of ours is one of colbert-ai's: its own `Searcher` opens it and finds the same."""

import os
import sysconfig
from pathlib import Path

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex
from polyqa.colbert_index.checkpoint import embedded_checkpoint
from polyqa.colbert_index.engine import prepare_colbert, quiet
from polyqa.colbert_index.kernel import compiler
from polyqa.colbert_index.settings import SearchSettings

_EXTENSIONS = Path(__file__).parents[2] / ".work" / "torch-extensions"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have colbert-ai compile its four C++ extensions, a minute and more, once for all runs."""
    try:
        compiler()
    except PolyqaError as error:
        pytest.skip(f"colbert-ai compiles its own search: {error}")
    prepare_colbert()
    from colbert.modeling.colbert import ColBERT

    for lock in _EXTENSIONS.rglob("lock"):  # of a run that was killed: torch would wait for it for ever
        lock.unlink()
    _EXTENSIONS.mkdir(parents=True, exist_ok=True)
    monkeypatch.delattr(ColBERT, "loaded_extensions")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(_EXTENSIONS))
    monkeypatch.setenv("PATH", os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"])))  # ninja


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("compiled")
def test_colbert_ais_searcher_opens_an_index_and_finds_the_same(index: ColBERTIndex) -> None:
    from colbert import Searcher
    from colbert.infra import ColBERTConfig

    cells = len(index.token_vectors.centroids)  # all: which of equally near ones are probed is each search's own choice
    settings = SearchSettings(ncells=cells, candidates=10_000, ndocs=10_000)
    with quiet():
        searcher = Searcher(
            str(index.folder),
            checkpoint=str(embedded_checkpoint()),
            collection=[passage.indexed_text for passage in index.passages],
            config=ColBERTConfig(ncells=cells, centroid_score_threshold=-1.0, ndocs=40_000),
            verbose=0,
        )
    for question in ("what stops the kite from spinning", "why does printing metal hold lead", ""):
        query = searcher.encode(question).float()
        positions, _, scores = searcher.dense_search(query, len(index))
        found = index.token_vectors.search(query[0].numpy(), len(index), settings)
        assert len(positions) == len(index)
        assert dict(found) == pytest.approx(dict(zip(positions, scores, strict=True)), abs=1e-4)
        assert [score for _, score in found] == pytest.approx(scores, abs=1e-4)
