import os
import sys
import sysconfig
import threading
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, IndexSettings
from polyqa.colbert_index.checkpoint import EMBEDDED_CHECKPOINT, embedded_checkpoint, resolve_checkpoint
from polyqa.colbert_index.engine import encode_documents, load_checkpoint, prepare_colbert, quiet
from polyqa.colbert_index.kernel import compiler
from polyqa.colbert_index.settings import SearchSettings


def test_quiet_in_two_threads_gives_standard_output_back() -> None:
    before = sys.stdout
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with quiet():
            entered.set()
            leave.wait(10)

    def second() -> None:
        with quiet():
            pass

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert entered.wait(10)
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(10)
    assert sys.stdout is before


def test_a_passage_has_the_vectors_that_colbert_ai_gives_it_whatever_stands_beside_it() -> None:
    long = [" ".join(["one more word"] * times) for times in (1, 200, 30, 5)]
    passages = [Passage(pid="0", title="A title", text=text) for text in long]
    texts = [*(one.indexed_text for one in passages), "Word, by word; and so on: here. There!"]
    model = load_checkpoint(resolve_checkpoint(EMBEDDED_CHECKPOINT), IndexSettings(batch_size=2))
    vectors, lengths = encode_documents(model, texts)
    assert lengths[1] == 180
    for text, own in zip(texts, vectors.split(lengths), strict=True):
        theirs = model.docFromText([text], bsize=1, keep_dims="flatten")[0]
        np.testing.assert_allclose(own.float().numpy(), theirs.numpy(), atol=2e-3)
        assert torch.equal(own, encode_documents(model, [text])[0])


def test_bfloat16_gives_nearly_the_same_vectors_of_passages_and_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["Word, by word; and so on: here. There!", "A title | It sank in 1923."]
    exact = load_checkpoint(resolve_checkpoint("embedded"), IndexSettings())
    monkeypatch.setenv("POLYQA_PRECISION", "bfloat16")
    quick = load_checkpoint(resolve_checkpoint("embedded"), IndexSettings())
    assert next(quick.bert.parameters()).dtype == torch.bfloat16
    for passages in (True, False):
        one, other = (
            encode_documents(model, texts)[0].float() if passages else model.queryFromText(texts).float().flatten(0, 1)
            for model in (exact, quick)
        )
        told = one.norm(dim=1) > 0.5  # what pads a question has no vector
        assert torch.nn.functional.cosine_similarity(one[told], other[told]).min() > 0.99


# An index of ours is one of colbert-ai's: its own `Searcher` opens it and finds the same.
_EXTENSIONS = Path(__file__).parents[2] / ".work" / "torch-extensions"
_SOURCES = (
    "modeling/segmented_maxsim.cpp",
    "search/decompress_residuals.cpp",
    "search/filter_pids.cpp",
    "search/segmented_lookup.cpp",
)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have colbert-ai's four C++ extensions, once for all runs.

    They are compiled as one library: reading torch's headers is what takes a minute if each is compiled alone.
    """
    try:
        compiler()
    except PolyqaError as error:
        pytest.skip(f"colbert-ai compiles its own search: {error}")
    prepare_colbert()
    import colbert
    from colbert.modeling import colbert as modeling
    from colbert.search import index_storage, strided_tensor
    from torch.utils import cpp_extension

    for lock in _EXTENSIONS.rglob("lock"):  # of a run that was killed: torch would wait for it for ever
        lock.unlink()
    _EXTENSIONS.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("PATH", os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"])))  # ninja
    source = _EXTENSIONS / "extensions.cpp"
    text = "#include <pthread.h>\n#include <torch/extension.h>\n#include <algorithm>\n#include <numeric>\n"
    for path in (Path(colbert.__file__).parent / name for name in _SOURCES):
        text += f"#undef TORCH_EXTENSION_NAME\n#define TORCH_EXTENSION_NAME {path.stem}_cpp\n"
        text += f'namespace {path.stem}_source {{\n#include "{path}"\n}}\n'
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    first = f"{Path(_SOURCES[0]).stem}_cpp"
    with quiet():
        library = cpp_extension.load(first, [str(source)], extra_cflags=["-O1"], build_directory=str(_EXTENSIONS))

    def loaded(name: str, **options: object) -> ModuleType:
        spec = spec_from_file_location(name, library.__file__)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    for module in (modeling, index_storage, strided_tensor):
        monkeypatch.setattr(module, "load", loaded)
    monkeypatch.delattr(modeling.ColBERT, "loaded_extensions")


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
