"""The network of a span reader: where answers begin and end, for the shipped one and for those of Hugging Face."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from .bert import Bert, is_bert, read_config
from .compact import COMPACT_FILE, encoder_weights, load_model, read_compact
from .loading import without_progress_bars


@dataclass(frozen=True)
class SpanNetwork:
    """What reads, and how its texts become numbers.

    Attributes
    ----------
    tokenizer
        That of the model; pairs of texts get its special tokens.
    padding
        What stands behind the tokens of a text that is shorter than others.
    null_threshold
        See `reader.SpanReader`.
    logits
        Returns the start and the end logits, each of shape (texts, tokens), float32, for ids, mask and token types of
        the same shape.
    """

    tokenizer: Tokenizer
    padding: int
    null_threshold: float
    logits: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def load_span_network(location: str, dtype: torch.dtype) -> SpanNetwork:
    """Load a reader from a folder, compact or not (see `compact`), or by its hub name.

    A compact BERT is computed by `bert.Bert`, every other model by `transformers`.
    """
    folder = Path(location)
    if (folder / COMPACT_FILE).is_file() and is_bert(config := read_config(folder)):
        weights = encoder_weights() | read_compact(folder / COMPACT_FILE)
        return SpanNetwork(
            Tokenizer.from_file(str(folder / "tokenizer.json")),
            config.pad_token_id,
            float(getattr(config, "null_threshold", 0.0)),
            _bert_logits(Bert(config, weights, prefix="bert.", dtype=dtype), weights, dtype),
        )
    return _from_transformers(location, dtype)


def _bert_logits(bert: Bert, weights: dict[str, Any], dtype: torch.dtype) -> Any:
    head = [weights[f"qa_outputs.{kind}"].to(dtype) for kind in ("weight", "bias")]

    def logits(ids: Tensor, mask: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        states = bert(ids, mask, types).last_hidden_state
        starts, ends = functional.linear(states, *head).float().unbind(dim=-1)
        return starts, ends

    return logits


def _from_transformers(location: str, dtype: torch.dtype) -> SpanNetwork:
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    with without_progress_bars():
        tokenizer = AutoTokenizer.from_pretrained(location)
    model = load_model(AutoModelForQuestionAnswering, location, dtype=dtype).eval()
    typed = "token_type_ids" in tokenizer.model_input_names

    def logits(ids: Tensor, mask: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        more = {"token_type_ids": types.to(model.device)} if typed else {}
        found = model(input_ids=ids.to(model.device), attention_mask=mask.to(model.device), **more)
        return found.start_logits.float().cpu(), found.end_logits.float().cpu()

    return SpanNetwork(
        Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()),
        tokenizer.pad_token_id,
        float(getattr(model.config, "null_threshold", 0.0)),
        logits,
    )
