from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForQuestionAnswering, BertConfig, BertForQuestionAnswering

from lab.training.weights import compact, load_model, write_compact
from polyqa.models.compact import COMPACT_FILE, minilm_path, read_compact, restore

ROWS = st.lists(st.lists(st.floats(-1000, 1000, width=32), min_size=3, max_size=3), min_size=1, max_size=6)


@given(ROWS)
def test_no_weight_moves_by_more_than_half_a_step(rows: list[list[float]]) -> None:
    weight = torch.tensor(rows)
    small = compact({"w": weight})
    assert small["w"].dtype == torch.int8
    step = small["w.scale"].float()
    # The scale is itself rounded, downwards by up to one part in 2048: the largest weights are cut by so much.
    allowed = step / 2 + weight.abs() / 2000 + 127 * 2**-24
    assert bool(((restore(small)["w"] - weight).abs() <= allowed).all())


def test_a_row_of_zeros_and_vectors_stay_as_they_are() -> None:
    weights = {"w": torch.zeros(2, 3), "bias": torch.tensor([0.5, -2.0])}
    again = restore(compact(weights))
    assert again.keys() == weights.keys()
    assert all(torch.equal(again[name], weights[name]) for name in weights)


def test_what_was_rounded_once_stays(tmp_path: Path) -> None:
    once = restore(compact({"w": torch.randn(5, 7, generator=torch.Generator().manual_seed(0))}))
    write_compact(once, tmp_path / "deep" / "w.safetensors")
    assert torch.allclose(read_compact(tmp_path / "deep" / "w.safetensors")["w"], once["w"], atol=1e-7)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["w.safetensors"]


def test_a_model_is_loaded_from_either_form(tmp_path: Path) -> None:
    config = BertConfig(vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    torch.manual_seed(0)
    model = BertForQuestionAnswering(config).eval()
    model.save_pretrained(tmp_path / "whole")
    model.config.save_pretrained(tmp_path / "small")
    write_compact(model.state_dict(), tmp_path / "small" / COMPACT_FILE)
    ids = torch.tensor([[1, 5, 7]])
    whole, small = (
        load_model(AutoModelForQuestionAnswering, str(tmp_path / name), dtype=torch.float32).eval()
        for name in ("whole", "small")
    )
    assert type(small) is BertForQuestionAnswering
    expected = whole(ids).start_logits
    assert torch.equal(expected, model(ids).start_logits)
    assert not torch.equal(small(ids).start_logits, expected)
    assert small(ids).start_logits.tolist()[0] == pytest.approx(expected.tolist()[0], abs=5e-3)
    assert load_model(AutoModelForQuestionAnswering, str(tmp_path / "small"), dtype=torch.bfloat16).dtype == (
        torch.bfloat16
    )


def test_what_the_encoder_holds_is_not_shipped_again(tmp_path: Path) -> None:
    config = BertConfig.from_pretrained(minilm_path())
    config.architectures = ["BertForQuestionAnswering"]
    torch.manual_seed(0)
    model = BertForQuestionAnswering.from_pretrained(minilm_path(), config=config).eval()
    config.save_pretrained(tmp_path)
    changed = model.bert.encoder.layer[5].output.dense.weight
    torch.nn.init.normal_(changed, std=0.1)
    write_compact(model.half().state_dict(), tmp_path / COMPACT_FILE)
    assert set(read_compact(tmp_path / COMPACT_FILE)) == {
        "bert.encoder.layer.5.output.dense.weight",
        "qa_outputs.weight",
        "qa_outputs.bias",
    }
    again = load_model(AutoModelForQuestionAnswering, str(tmp_path), dtype=torch.float32)
    for (name, one), (other_name, other) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert name == other_name
        assert torch.allclose(one.float(), other, atol=4e-3)
