"""What the verifier of findings is trained on, and with: packed examples, and weights that llama.cpp reads."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from lab.training.findings import Labelled, labelled, without
from lab.training.lora import MATRICES, add_lora, last_states, packed, rate_at, write_lora
from lab.training.train_verifier import Prompts
from polyqa import load
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.lm.adapter import LeanAdapter
from polyqa.models.gguf import model_file
from polyqa.signatures import VerifyFinding

WORDS, WIDTH = 50, 64


@pytest.fixture
def model() -> Qwen2ForCausalLM:
    torch.manual_seed(1)
    sizes = {"hidden_size": WIDTH, "intermediate_size": 96, "num_hidden_layers": 2}
    config = Qwen2Config(vocab_size=WORDS, initializer_range=0.1, num_attention_heads=4, num_key_value_heads=2, **sizes)
    return Qwen2ForCausalLM(config).eval()


@torch.no_grad()
def test_packed_examples_see_the_prefix_and_not_each_other(model: Qwen2ForCausalLM) -> None:
    chance = random.Random(2)
    prefix = [chance.randrange(WORDS) for _ in range(5)]
    examples = [[chance.randrange(WORDS) for _ in range(chance.randint(1, 9))] for _ in range(12)]
    order = chance.sample(range(12), 12)
    states = torch.zeros(12, WIDTH)
    batches = list(packed(prefix, examples, order, length=20, rows=3))
    for batch in batches:
        assert batch.ids.shape[0] <= 3
        assert batch.ids.shape[1] <= 20
        states[batch.examples] = last_states(model, batch)
    assert [int(one) for batch in batches for one in batch.examples] == order
    for example, ids in enumerate(examples):
        alone = model.model(input_ids=torch.tensor([prefix + ids])).last_hidden_state[0, -1]
        assert torch.allclose(states[example], alone, atol=1e-5)
    (other,) = packed([*prefix[:-1], (prefix[-1] + 1) % WORDS], [examples[0]], [0], length=99, rows=1)
    assert not torch.allclose(states[0], last_states(model, other)[0], atol=1e-3)


def test_a_verifier_begins_as_the_model_is_and_learns(model: Qwen2ForCausalLM) -> None:
    (batch,) = packed([1, 2], [[3, 4], [5]], [0, 1], length=99, rows=1)
    before = last_states(model, batch).detach()
    added = add_lora(model, rank=4, alpha=8.0)
    assert torch.allclose(before, last_states(model, batch), atol=1e-6)
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=0.05)
    losses = []
    for _ in range(20):
        logits = last_states(model, batch) @ model.lm_head.weight.T
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([7, 8]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    for one in added.values():
        one.on = False
    assert torch.allclose(before, last_states(model, batch), atol=1e-6)


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


def test_a_finding_is_right_if_it_says_what_a_gold_answer_says() -> None:
    passage = Passage(pid="1", title="Titanic (1997 film)", text="James Cameron directed it. It came out in 1997.")
    made = labelled(load("spanwise"), "Who directed\nTitanic?", ["Cameron, James"], [passage], "here")
    assert {one.finding.rpartition(" | ")[2]: one.right for one in made}["James Cameron"]
    assert all(one.question == "Who directed Titanic?" for one in made)
    none = labelled(load("spanwise"), "Who directed Titanic?", [], [passage], "here")
    assert not any(one.right for one in none)


def test_what_is_held_out_is_not_trained_on() -> None:
    made = [Labelled("Who?", "A | B. | B", True, "x"), Labelled("Who?", "A | B. | B", False, "y")]
    made += [Labelled("When?", "A | 1. | 1", True, "x"), Labelled("How?", "A" * 1000, True, "x")]
    assert without(made, ["when"], random.Random(0)) == [made[0]]


def test_the_rate_rises_and_falls() -> None:
    assert rate_at(0, 0, 1.0) < rate_at(0.05, 30, 1.0) > rate_at(0.5, 300, 1.0) > rate_at(1, 600, 1.0) > 0


@pytest.mark.slow
def test_the_tokens_are_those_of_the_prompt() -> None:
    pytest.importorskip("xllamacpp", reason="pip install 'polyqa[local]'")
    try:
        prompts = Prompts(model_file())
    except PolyqaError as error:
        pytest.skip(str(error))
    said = {"question": "Who directed Titanic?", "finding": "Titanic | By Cameron. | Cameron"}
    text = prompts.tokenizer.decode([*prompts.prefix, *prompts.ids(**said)])
    messages = LeanAdapter().format(VerifyFinding, [], said)
    assert [part.split("<|im_end|>")[0] for part in text.split("<|im_start|>")[1:3]] == [
        f"{message['role']}\n{message['content']}" for message in messages
    ]
    assert text.endswith("<|im_start|>assistant\n")
