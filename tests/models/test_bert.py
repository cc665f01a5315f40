"""Every number is that of transformers, to the last bit."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertForQuestionAnswering,
)

from lab.training.weights import load_model
from polyqa.models import Reader
from polyqa.models.bert import Bert, is_bert, read_config
from polyqa.models.compact import minilm_path, reader_path
from polyqa.models.reader import Windows, load_span_network

TEXTS = [
    ("When was it launched?", "The SS Marrow was launched on 4 May 1911 by Orla Venn. " * 20),
    ("  Ünïcode ☕?", "Ｆｕｌｌ width, 日本語 and\ta\u200bzero [SEP] 1,000.50 e\u0301"),
    ("what " * 300, "The red kite flew over the barn. " * 60),
    ("Who?", "One."),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("texts", "tokens", "padded", "typed"), [(1, 32, 0, True), (7, 32, 9, False), (5, 160, 40, True)]
)
def test_states_are_those_of_transformers(
    dtype: torch.dtype, texts: int, tokens: int, padded: int, typed: bool
) -> None:
    theirs = BertModel.from_pretrained(minilm_path(), dtype=dtype).eval()
    ours = Bert(read_config(minilm_path()), load_file(minilm_path() / "model.safetensors"), dtype=dtype)
    chance = torch.Generator().manual_seed(3)
    ids = torch.randint(1_000, 20_000, (texts, tokens), generator=chance)
    lengths = torch.arange(texts) * padded // texts
    mask = (torch.arange(tokens) < (tokens - lengths).unsqueeze(1)).long()
    types = (torch.arange(tokens) > tokens // 3).long().expand(texts, tokens) if typed else None
    with torch.inference_mode():
        expected = theirs(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        found = ours(ids, mask, types).last_hidden_state
    assert torch.equal(found[mask.bool()], expected[mask.bool()])


def test_making_one_draws_no_random_number() -> None:
    before = torch.get_rng_state()
    Bert(read_config(minilm_path()), load_file(minilm_path() / "model.safetensors"), dtype=torch.float32)
    assert torch.equal(torch.get_rng_state(), before)


def test_what_is_computed_otherwise_is_no_bert(tmp_path: Path) -> None:
    BertConfig().save_pretrained(tmp_path)
    assert is_bert(read_config(tmp_path))
    others = {"model_type": "roberta", "hidden_act": "relu", "position_embedding_type": "relative_key"}
    for name, value in {**others, "is_decoder": True}.items():
        config = read_config(tmp_path)
        setattr(config, name, value)
        assert not is_bert(config), name


@pytest.mark.parametrize(("max_length", "stride"), [(384, 128), (64, 24)])
def test_windows_and_logits_of_the_shipped_reader_are_those_of_transformers(max_length: int, stride: int) -> None:
    tokenizer = AutoTokenizer.from_pretrained(reader_path())
    model = load_model(AutoModelForQuestionAnswering, str(reader_path()), dtype=torch.float32).eval()
    ours = load_span_network(str(reader_path()), torch.float32)
    windows = Windows(ours.tokenizer, max_length=max_length, stride=stride)
    for (question, context), own in zip(TEXTS, windows.encode(TEXTS), strict=True):
        kept = own[0].sequence_ids.count(0)  # a question that leaves no room is cut, on which their tokenizer panics
        first = tokenizer(question.strip(), add_special_tokens=False, return_offsets_mapping=True)
        asked = question.strip()[: first["offset_mapping"][kept - 1][1]]
        theirs = tokenizer(
            [asked],
            [context],
            truncation="only_second",
            max_length=max_length,
            stride=stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        assert len(own) == len(theirs["input_ids"])
        for number, window in enumerate(own):
            assert window.ids == theirs["input_ids"][number]
            assert window.type_ids == theirs["token_type_ids"][number]
            assert window.offsets == theirs["offset_mapping"][number]
            assert window.sequence_ids == theirs.sequence_ids(number)
            ids, types = torch.tensor([window.ids]), torch.tensor([window.type_ids])
            with torch.inference_mode():
                found = ours.logits(ids, torch.ones_like(ids), types)
                expected = model(input_ids=ids, token_type_ids=types)
            assert torch.equal(found[0], expected.start_logits)
            assert torch.equal(found[1], expected.end_logits)


def test_a_reader_in_the_form_of_transformers_reads_what_the_compact_one_reads(tmp_path: Path) -> None:
    model = load_model(AutoModelForQuestionAnswering, str(reader_path()), dtype=torch.float32)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(reader_path()).save_pretrained(tmp_path)
    shipped, other = Reader(), Reader(str(tmp_path))
    assert other.null_threshold == shipped.null_threshold > 0
    assert other.read(TEXTS, keep=3) == shipped.read(TEXTS, keep=3)


def test_a_reader_that_knows_no_types_of_tokens_reads(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = DistilBertConfig(dim=24, n_heads=2, n_layers=1, hidden_dim=32)
    model = DistilBertForQuestionAnswering(config)
    model.save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(reader_path(), model_input_names=["input_ids", "attention_mask"])
    tokenizer.save_pretrained(tmp_path)
    network = load_span_network(str(tmp_path), torch.float32)
    ids = torch.tensor([tokenizer("Who?", "One.")["input_ids"]])
    with torch.inference_mode():
        found = network.logits(ids, torch.ones_like(ids), torch.zeros_like(ids))
        expected = model.eval()(input_ids=ids)
    assert torch.equal(found[0], expected.start_logits)
    assert network.null_threshold == 0
    assert Reader(str(tmp_path)).read(TEXTS[:1])[0].spans
