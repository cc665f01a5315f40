"""Queries have the vectors that colbert-ai gives them, and asking loads neither it nor transformers."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import IndexSettings
from polyqa.colbert_index.checkpoint import embedded_checkpoint
from polyqa.colbert_index.engine import load_checkpoint
from polyqa.colbert_index.query_encoder import load_query_encoder
from polyqa.models.loading import PRECISION

QUERIES = ["Who wrote it?", "what " * 50, "Ünïcode ☕ 日本語, and [SEP] more", "x", ""]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("mask", "attended", "named", "length"),
    [
        ("[PAD]", False, "[PAD]", 32),
        ("[MASK]", False, {"__type": "AddedToken", "content": "[MASK]"}, 8),
        ("[MASK]", True, "[MASK]", 32),
    ],
)
def test_vectors_are_those_of_colbert_ai(
    precision: str,
    mask: str,
    attended: bool,
    named: object,
    length: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(PRECISION, precision)
    folder = tmp_path / "checkpoint"
    shutil.copytree(embedded_checkpoint(), folder)
    for name, told in (
        ("tokenizer_config.json", {"mask_token": named}),
        ("artifact.metadata", {"attend_to_mask_tokens": attended}),
    ):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | told))
    settings = IndexSettings(query_maxlen=length)
    theirs = load_checkpoint(folder, settings).queryFromText(QUERIES, bsize=2).float().numpy()
    encode = load_query_encoder(folder, settings)
    ours = np.stack(encode(QUERIES))
    assert ours.dtype == np.float32
    assert (np.abs(ours).sum(axis=2) == 0).any() is np.bool_(mask == "[PAD]"), "what pads a query has no vector"
    # Batches of another size are multiplied by other instructions, on some processors.
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 if precision == "float32" else 0.01)
    assert encode([]) == []


@pytest.mark.parametrize("other", ["artifact.metadata", "tokenizer.json", "capitals"])
def test_what_colbert_ai_reads_in_another_way_is_left_to_it(other: str, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    shutil.copytree(embedded_checkpoint(), folder)
    if other == "capitals":
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"do_lower_case": False}))
    else:
        if other == "tokenizer.json":  # the slow kind of tokenizer
            (folder / "vocab.txt").write_text(_vocabulary(folder), encoding="utf-8")
        (folder / other).unlink()
    settings = IndexSettings()
    found = load_query_encoder(folder, settings)(QUERIES[:1])[0]
    expected = load_checkpoint(folder, settings).queryFromText(QUERIES[:1])[0].numpy()
    np.testing.assert_array_equal(found, expected)


def _vocabulary(folder: Path) -> str:
    words = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    return "".join(f"{word}\n" for word in sorted(words, key=words.get))


@pytest.mark.parametrize("file", ["artifact.metadata", "tokenizer.json"])
def test_a_damaged_file_of_a_checkpoint_is_named(file: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(embedded_checkpoint(), tmp_path / "checkpoint"))
    (folder / file).write_text('{"half')
    with pytest.raises(PolyqaError, match=rf"checkpoint/{file} cannot be read"):
        load_query_encoder(folder, IndexSettings())


@pytest.mark.slow
def test_answering_loads_neither_colbert_ai_nor_transformers() -> None:
    asked = (
        "import sys, polyqa; polyqa.ask('When did Titanic come out?', program='diva'); "
        "print([name for name in ('colbert', 'transformers', 'torch._dynamo') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
