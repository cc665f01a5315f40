"""BERT's forward pass for inference, with nothing but PyTorch.

The models that come with this package need no more of transformers, whose import takes longer than answering a
question, and whose modules do twice as many operations for the same numbers: between any two of them Python's lock
changes hands, so that threads which answer questions wait for each other. A test holds this against transformers' own.

Source: Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"; the
activation is the exact GELU, as in the published weights.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional


class Hidden(NamedTuple):
    """The states behind the last layer, shape (texts, tokens, size); named as transformers names them."""

    last_hidden_state: Tensor


def read_config(folder: Path) -> SimpleNamespace:
    """Return a model's ``config.json``, each of its entries an attribute."""
    return SimpleNamespace(**json.loads((folder / "config.json").read_text(encoding="utf-8")))


def is_bert(config: SimpleNamespace) -> bool:
    """Return whether `Bert` computes the layers of a model with this configuration."""
    entries = vars(config)
    return (
        entries.get("model_type") == "bert"
        and entries.get("hidden_act") == "gelu"
        and entries.get("position_embedding_type", "absolute") == "absolute"
        and not entries.get("is_decoder")
    )


class Bert:
    """The embeddings and layers of a BERT, without a head and without dropout.

    Parameters
    ----------
    config
        See `read_config`.
    weights
        Named as transformers names them.
    prefix
        What stands before the name of each of its weights; others are passed over.
    dtype
        What is computed in.
    """

    def __init__(
        self, config: SimpleNamespace, weights: Mapping[str, Tensor], *, prefix: str = "", dtype: torch.dtype
    ) -> None:
        bare = {name.removeprefix(prefix): weight for name, weight in weights.items() if name.startswith(prefix)}
        self.config = config
        self.embeddings = _Embeddings(config, bare, dtype)
        self._layers = [_Layer(config, bare, number, dtype) for number in range(config.num_hidden_layers)]

    def __call__(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Hidden:
        """Compute the states of texts, each argument of shape (texts, tokens).

        Parameters
        ----------
        input_ids
            Numbers of word pieces.
        attention_mask
            1 where a text has a token, 0 where it is padded; without it nothing is padded.
        token_type_ids
            0 for the first part of a text, 1 for the second; without it there is one part.
        """
        states = self.embeddings(input_ids, token_type_ids)
        # Attention without a mask takes a quicker way.
        padded = attention_mask is not None and not bool(attention_mask.all())
        mask = attention_mask[:, None, None, :].bool() if attention_mask is not None and padded else None
        for layer in self._layers:
            states = layer(states, mask)
        return Hidden(states)


# None of these are modules: PyTorch would draw their weights first, or load its compiler to leave them empty.
class _Embeddings:
    def __init__(self, config: SimpleNamespace, weights: Mapping[str, Tensor], dtype: torch.dtype) -> None:
        self.word_embeddings, self.position_embeddings, self.token_type_embeddings = (
            nn.Embedding.from_pretrained(weights[f"embeddings.{kind}_embeddings.weight"].to(dtype))
            for kind in ("word", "position", "token_type")
        )
        self._norm = _projection(weights, ["embeddings.LayerNorm"], dtype)
        self._epsilon = config.layer_norm_eps

    def __call__(self, ids: Tensor, types: Tensor | None) -> Tensor:
        kinds = self.token_type_embeddings.weight[0] if types is None else self.token_type_embeddings(types)
        states = self.word_embeddings(ids) + kinds + self.position_embeddings.weight[: ids.shape[1]]
        return functional.layer_norm(states, states.shape[-1:], *self._norm, self._epsilon)


def _projection(weights: Mapping[str, Tensor], names: Sequence[str], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return weight and bias; several projections of the same states become one."""
    weight, bias = (torch.cat([weights[f"{name}.{kind}"] for name in names]).to(dtype) for kind in ("weight", "bias"))
    return weight, bias


class _Layer:
    def __init__(self, config: SimpleNamespace, weights: Mapping[str, Tensor], number: int, dtype: torch.dtype) -> None:
        def load(*names: str) -> tuple[Tensor, Tensor]:
            return _projection(weights, [f"encoder.layer.{number}.{name}" for name in names], dtype)

        self._heads, self._epsilon = config.num_attention_heads, config.layer_norm_eps
        self._attend = load(*(f"attention.self.{part}" for part in ("query", "key", "value")))
        self._out, self._after_attention = load("attention.output.dense"), load("attention.output.LayerNorm")
        self._up, self._down = load("intermediate.dense"), load("output.dense")
        self._after_inner = load("output.LayerNorm")

    def __call__(self, states: Tensor, mask: Tensor | None) -> Tensor:
        texts, tokens, size = states.shape
        split = functional.linear(states, *self._attend).view(texts, tokens, 3, self._heads, size // self._heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = functional.linear(attended.transpose(1, 2).reshape(texts, tokens, size), *self._out)
        states = functional.layer_norm(states + attended, (size,), *self._after_attention, self._epsilon)
        inner = functional.linear(functional.gelu(functional.linear(states, *self._up)), *self._down)
        return functional.layer_norm(states + inner, (size,), *self._after_inner, self._epsilon)
