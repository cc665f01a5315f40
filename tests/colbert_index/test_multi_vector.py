"""Checkpoints of PyLate and of sentence-transformers: built with, searched with, refused where they are not safe."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import (
    ColBERTIndex,
    IndexSettings,
    SearchSettings,
    add_passages,
    build_index,
    check_index,
    remove_passages,
)
from polyqa.colbert_index.checkpoint import checkpoint_hash, embedded_checkpoint, resolve_checkpoint
from polyqa.colbert_index.engine import encode_documents, load_checkpoint, quiet
from polyqa.colbert_index.query_encoder import load_query_encoder
from polyqa.models.compact import minilm_path

TEXTS = ["The cello is a string instrument.", "A title | It sank in 1923, in gusts; slowly."]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded checkpoint, as `MultiVectorEncoder` saves it."""
    folder = tmp_path_factory.mktemp("checkpoints") / "saved"
    with quiet():
        from sentence_transformers import MultiVectorEncoder

        MultiVectorEncoder(str(embedded_checkpoint())).save(str(folder))
    return folder


@pytest.fixture
def pylate(saved: Path, tmp_path: Path) -> Path:
    """The same, as PyLate 1 saves it: a transformer and a projection, everything else in one file."""
    folder = Path(shutil.copytree(saved, tmp_path / "pylate"))
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    dense = json.loads((folder / "1_Dense" / "config.json").read_text())
    kept = {name: dense[name] for name in ("in_features", "out_features", "bias", "activation_function")}
    (folder / "1_Dense" / "config.json").write_text(json.dumps(kept))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 511, "do_lower_case": False}))
    config = {"model_type": "ColBERT", "query_prefix": "[CLS]", "document_prefix": "[CLS]", "query_length": 32,
              "document_length": 180, "attend_to_expansion_tokens": False, "similarity_fn_name": "MaxSim"}  # fmt: skip
    (folder / "config_sentence_transformers.json").write_text(json.dumps(config))
    return folder


def test_passages_have_the_vectors_that_colbert_ai_gives_them(
    saved: Path, pylate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, lengths = encode_documents(load_checkpoint(embedded_checkpoint(), IndexSettings()), TEXTS)
    for folder in (saved, pylate):
        model = load_checkpoint(resolve_checkpoint(str(folder)), IndexSettings())
        own, own_lengths = encode_documents(model, TEXTS)
        assert own_lengths == lengths
        np.testing.assert_allclose(own.float().numpy(), theirs.float().numpy(), atol=2e-3)
    monkeypatch.setenv("POLYQA_PRECISION", "bfloat16")
    rough, _ = encode_documents(load_checkpoint(saved, IndexSettings()), TEXTS)
    assert (rough.float() * theirs.float()).sum(dim=1).min() > 0.99


def test_the_words_of_a_question_have_the_vectors_that_colbert_ai_gives_them(saved: Path) -> None:
    (theirs,) = load_query_encoder(embedded_checkpoint(), IndexSettings())(TEXTS[:1])
    (own,) = load_query_encoder(saved, IndexSettings())(TEXTS[:1])
    words = np.linalg.norm(theirs, axis=1) > 0.5  # there what pads a question has none
    assert len(own) == len(words) == 32
    assert 8 < words.sum() < 32
    np.testing.assert_allclose(own[words], theirs[words], atol=2e-3)


def test_an_index_is_built_searched_changed_and_checked(pylate: Path, passages: list[Passage], tmp_path: Path) -> None:
    settings = IndexSettings(doc_maxlen=100, query_maxlen=24)
    index = build_index(passages, tmp_path / "late", checkpoint=str(pylate), settings=settings, progress=False)
    assert len(index.query_encoder(["what stops the kite"])[0]) == 24
    assert index.search("what stops the kite from spinning in gusts", 3)[0].pid == "kite-tail"
    index = add_passages(index, [Passage(pid="cello", text=TEXTS[0])])
    assert index.search("is a cello a string instrument", 1)[0].pid == "cello"
    index = remove_passages(index, "kite-tail")
    assert len(index.search("what stops the kite", 100)) == len(index) == len(passages)
    assert check_index(index.path).fingerprint == index.fingerprint
    wide = ColBERTIndex(index.path, search_settings=SearchSettings(ncells=1_000))
    assert wide.search("is a cello a string instrument", 1)[0].pid == "cello"
    hashed = checkpoint_hash(str(pylate))
    (pylate / "1_Dense" / "config.json").write_text((pylate / "1_Dense" / "config.json").read_text() + " ")
    assert checkpoint_hash(str(pylate)) != hashed
    with pytest.raises(PolyqaError, match="other weights"):
        ColBERTIndex(index.path).search("cello")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("modules.json", [{"type": "os.system", "path": ""}], "code of its own"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense", "path": "../other"}], "outside"),
        ("modules.json", {"type": "x"}, "does not list modules"),
        ("config.json", {"auto_map": {"AutoModel": "model.py"}}, "code of its own"),
        ("config.json", 5, "holds no settings"),
        ("1_Dense/config.json", {"in_features": 384}, "cannot be loaded|out_features|cannot be read"),
    ],
)
def test_what_would_run_code_or_is_damaged_is_refused(pylate: Path, name: str, content: object, told: str) -> None:
    (pylate / name).write_text(json.dumps(content))
    with pytest.raises(PolyqaError, match=told) as refused:
        load_checkpoint(resolve_checkpoint(str(pylate)), IndexSettings())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("weights", "other"),
    [("1_Dense/model.safetensors", "1_Dense/pytorch_model.bin"), ("model.safetensors", "onnx/model.onnx")],
)
def test_weights_are_safetensors(pylate: Path, weights: str, other: str) -> None:
    (pylate / "onnx").mkdir()
    (pylate / weights).rename(pylate / other)
    with pytest.raises(PolyqaError, match=r"no weights as safetensors\. ONNX files are not read") as refused:
        resolve_checkpoint(str(pylate))
    assert "\n" not in str(refused.value)


def test_an_encoder_that_was_never_trained_for_late_interaction_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolyqaError, match="one vector, not one for each token"):
        resolve_checkpoint(str(minilm_path()))
    plain = Path(shutil.copytree(minilm_path(), tmp_path / "plain"))
    (plain / "modules.json").unlink()
    with pytest.raises(PolyqaError, match=r"lack the projection \(linear\.weight\)"):
        resolve_checkpoint(str(plain))
    assert resolve_checkpoint(str(embedded_checkpoint())) == str(embedded_checkpoint())
