"""Weights that are trained beside a model's own, and read by llama.cpp."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from lab.training.lora import MATRICES, add_lora, fit, rate_at, read_lora, write_lora

WORDS, WIDTH = 50, 64


@pytest.fixture
def model() -> Qwen2ForCausalLM:
    torch.manual_seed(1)
    sizes = {"hidden_size": WIDTH, "intermediate_size": 96, "num_hidden_layers": 2}
    config = Qwen2Config(vocab_size=WORDS, initializer_range=0.1, num_attention_heads=4, num_key_value_heads=2, **sizes)
    return Qwen2ForCausalLM(config).eval()


def test_the_model_begins_as_it_is(model: Qwen2ForCausalLM) -> None:
    ids = torch.tensor([[1, 2, 3], [4, 2, 5]])
    before = model(input_ids=ids).logits.detach()
    add_lora(model, rank=4, alpha=8.0)
    assert torch.allclose(before, model(input_ids=ids).logits, atol=1e-6)


def test_the_weights_are_written_as_llama_cpp_reads_them(tmp_path: Path, model: Qwen2ForCausalLM) -> None:
    from gguf import GGUFReader, dequantize

    added = add_lora(model, rank=4, alpha=8.0)
    write_lora(added, 8.0, tmp_path / "lora.gguf", "made here")
    reader = GGUFReader(tmp_path / "lora.gguf")
    told = {name: field.contents() for name, field in reader.fields.items()}
    assert (told["general.type"], told["adapter.type"], told["adapter.lora.alpha"]) == ("adapter", "lora", 8.0)
    tensors = {one.name: one for one in reader.tensors}
    assert len(tensors) == 2 * 2 * len(MATRICES)
    first = tensors["blk.1.attn_k.weight.lora_a"]
    wanted = added["blk.1.attn_k.weight"].a.detach().numpy()
    assert np.abs(dequantize(first.data, first.tensor_type) - wanted).max() < np.abs(wanted).max() / 100
    assert tensors["blk.1.attn_k.weight.lora_b"].shape.tolist() == [4, 32]


def test_training_goes_on_from_weights_that_were_written(tmp_path: Path, model: Qwen2ForCausalLM) -> None:
    ids = torch.tensor([[1, 2, 3], [4, 2, 5]])
    added = add_lora(model, rank=4, alpha=8.0)
    with torch.no_grad():
        for lora in added.values():
            lora.b.uniform_(-0.1, 0.1)
    write_lora(added, 8.0, tmp_path / "lora.gguf", "made here")
    wanted = model(input_ids=ids).logits.detach()
    with torch.no_grad():
        for lora in added.values():
            lora.a.zero_()
            lora.b.zero_()
    assert not torch.allclose(model(input_ids=ids).logits, wanted, atol=0.02)
    read_lora(added, tmp_path / "lora.gguf")
    assert torch.allclose(model(input_ids=ids).logits, wanted, atol=0.02)


def test_weights_go_half_the_way_to_those_of_a_file(tmp_path: Path, model: Qwen2ForCausalLM) -> None:
    added = add_lora(model, rank=4, alpha=8.0)
    first = {name: lora.a.detach().clone() for name, lora in added.items()}
    write_lora(added, 8.0, tmp_path / "lora.gguf", "made here")
    with torch.no_grad():
        for lora in added.values():
            lora.a.add_(1.0)
    read_lora(added, tmp_path / "lora.gguf", share=0.5)
    assert all(torch.allclose(lora.a, first[name] + 0.5, atol=0.02) for name, lora in added.items())


def test_it_ends_when_its_time_is_over(tmp_path: Path, model: Qwen2ForCausalLM) -> None:
    weight = next(model.parameters())
    fit(model, ((weight.sum(), 1) for _ in range(50)), 50, tmp_path / "log.jsonl", 1e-3, minutes=1e-9)
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 1


def test_a_step_without_a_number_changes_nothing_and_is_not_logged(tmp_path: Path, model: Qwen2ForCausalLM) -> None:
    weight = next(model.parameters())
    before, losses = weight.detach().clone(), ((weight.sum() * factor, 1) for factor in (float("nan"), 1.0))
    fit(model, losses, 2, tmp_path / "log.jsonl", 1e-3)
    (row,) = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert row["step"] == 2
    assert torch.isfinite(weight).all()
    assert not torch.equal(weight, before)


def test_the_rate_rises_and_falls() -> None:
    assert rate_at(0, 0, 1.0) < rate_at(0.05, 30, 1.0) > rate_at(0.5, 300, 1.0) > rate_at(1, 600, 1.0) > 0
