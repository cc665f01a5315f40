import json
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertConfig, BertForQuestionAnswering

from lab.training.mix_readers import main
from polyqa.models.compact import COMPACT_FILE, minilm_path, read_compact


def reader(seed: int) -> BertForQuestionAnswering:
    torch.manual_seed(seed)
    return BertForQuestionAnswering.from_pretrained(minilm_path(), config=BertConfig.from_pretrained(minilm_path()))


def test_the_mean_lies_between_and_the_words_are_the_encoders(tmp_path: Path) -> None:
    models = reader(1), reader(2)
    for model, name in zip(models, ("one", "other"), strict=True):
        torch.nn.init.normal_(model.bert.embeddings.word_embeddings.weight)
        model.save_pretrained(tmp_path / name)
        AutoTokenizer.from_pretrained(minilm_path()).save_pretrained(tmp_path / name)
    main(str(tmp_path / "one"), str(tmp_path / "other"), tmp_path / "out", 0.25)
    found = BertForQuestionAnswering.from_pretrained(tmp_path / "out" / "model", dtype=torch.float32).state_dict()
    one, other = (model.state_dict() for model in models)
    expected = 0.25 * one["qa_outputs.weight"] + 0.75 * other["qa_outputs.weight"]
    assert torch.allclose(found["qa_outputs.weight"], expected, atol=1e-3)
    assert "bert.embeddings.word_embeddings.weight" not in read_compact(tmp_path / "out" / "shipped" / COMPACT_FILE)
    assert json.loads((tmp_path / "out" / "report.json").read_text())["settings"]["share"] == 0.25
    own = reader(3).state_dict()["bert.embeddings.word_embeddings.weight"]
    assert torch.allclose(found["bert.embeddings.word_embeddings.weight"], own, atol=1e-3)
