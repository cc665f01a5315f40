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

ALL = SearchSettings(ncells=8, candidates=10_000, ndocs=10_000)


@pytest.fixture
def needs_a_compiler() -> None:
    try:
        compiler()
    except PolyqaError as error:
        pytest.skip(f"colbert-ai compiles its own search: {error}")


@pytest.mark.slow
@pytest.mark.timeout(900)  # four C++ extensions are compiled, a minute and more
@pytest.mark.usefixtures("needs_a_compiler")
def test_colbert_ais_searcher_opens_an_index_and_finds_the_same(
    index: ColBERTIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_colbert()
    from colbert import Searcher
    from colbert.infra import ColBERTConfig
    from colbert.modeling.colbert import ColBERT

    monkeypatch.delattr(ColBERT, "loaded_extensions")  # have it compile what polyqa does without
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"])))  # ninja
    with quiet():
        searcher = Searcher(
            str(index.folder),
            checkpoint=str(embedded_checkpoint()),
            collection=[passage.indexed_text for passage in index.passages],
            config=ColBERTConfig(ncells=ALL.ncells, centroid_score_threshold=-1.0, ndocs=40_000),
            verbose=0,
        )
    for question in ("what stops the kite from spinning", "why does printing metal hold lead", ""):
        query = searcher.encode(question).float()
        positions, _, scores = searcher.dense_search(query, len(index))
        found = index.token_vectors.search(query[0].numpy(), len(positions), ALL)
        assert len(positions) == len(index)
        assert dict(found) == pytest.approx(dict(zip(positions, scores, strict=True)), abs=1e-4)
        assert [score for _, score in found] == pytest.approx(scores, abs=1e-4)
