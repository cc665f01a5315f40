"""Qwen2 as a GGUF file has it, in PyTorch, with weights of low rank beside its own (LoRA, Hu et al., 2021).

    W x  becomes  W x + α/r · B (A x),   A: r × in, B: out × r

Only A and B are trained. The model's own weights are those that llama.cpp computes with, quantized, so that nothing is
learnt that quantizing would undo. Examples are packed: they follow one prefix, which all of them see, and do not see
each other, as in a server that keeps how a prompt begins.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Shape:
    """Sizes of a model."""

    layers: int
    width: int
    heads: int
    key_heads: int
    inner: int
    epsilon: float
    base: float

    @property
    def head(self) -> int:
        """Features of a head."""
        return self.width // self.heads

    @property
    def matrices(self) -> dict[str, tuple[int, int]]:
        """The matrices of a layer, by llama.cpp's names: features in and out."""
        keys = self.key_heads * self.head
        return {
            "attn_q": (self.width, self.width),
            "attn_k": (self.width, keys),
            "attn_v": (self.width, keys),
            "attn_output": (self.width, self.width),
            "ffn_gate": (self.width, self.inner),
            "ffn_up": (self.width, self.inner),
            "ffn_down": (self.inner, self.width),
        }


def load_gguf(path: Path, device: str, dtype: Any) -> tuple[Shape, dict[str, "Tensor"]]:
    """Return a model's sizes, and its weights by llama.cpp's names."""
    from gguf import GGUFReader, dequantize

    reader = GGUFReader(path)
    told = {name.partition(".")[2]: field.contents() for name, field in reader.fields.items() if "qwen2." in name}
    shape = Shape(
        layers=told["block_count"],
        width=told["embedding_length"],
        heads=told["attention.head_count"],
        key_heads=told["attention.head_count_kv"],
        inner=told["feed_forward_length"],
        epsilon=told["attention.layer_norm_rms_epsilon"],
        base=told["rope.freq_base"],
    )
    weights = {
        one.name: torch.from_numpy(dequantize(one.data, one.tensor_type)).to(device, dtype) for one in reader.tensors
    }
    weights.setdefault("output.weight", weights["token_embd.weight"])
    return shape, weights


class Lora(torch.nn.Module):
    """A and B for each matrix of a model; B begins at 0, so the model begins as it is."""

    def __init__(self, shape: Shape, *, rank: int, alpha: float, dropout: float = 0.0, device: str = "cpu") -> None:
        super().__init__()
        self.rank, self.alpha, self.dropout = rank, alpha, dropout
        self.pairs = torch.nn.ParameterDict()
        for layer in range(shape.layers):
            for name, (inputs, outputs) in shape.matrices.items():
                first = torch.empty(rank, inputs, device=device)
                torch.nn.init.kaiming_uniform_(first, a=math.sqrt(5))
                self.pairs[f"{layer}-{name}-a"] = torch.nn.Parameter(first)
                self.pairs[f"{layer}-{name}-b"] = torch.nn.Parameter(torch.zeros(outputs, rank, device=device))

    def forward(self, layer: int, name: str, x: "Tensor") -> "Tensor":
        """Return what is added to a matrix's output."""
        first, second = (self.pairs[f"{layer}-{name}-{side}"].to(x.dtype) for side in "ab")
        x = F.dropout(x, self.dropout, self.training)
        return F.linear(F.linear(x, first), second) * (self.alpha / self.rank)

    def write(self, path: Path, name: str) -> None:
        """Write them as llama.cpp reads them, A in 8 bits."""
        from gguf import GGMLQuantizationType, GGUFWriter, quantize

        writer = GGUFWriter(path, "qwen2")
        writer.add_type("adapter")
        writer.add_name(name)
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", self.alpha)
        for key, value in sorted(self.pairs.items()):
            layer, matrix, side = key.split("-")
            values = value.detach().float().cpu().numpy()
            told = f"blk.{layer}.{matrix}.weight.lora_{side}"
            kind = GGMLQuantizationType.Q8_0
            if values.shape[1] % 32:  # the size of a block
                writer.add_tensor(told, values.astype("float16"))
            else:
                writer.add_tensor(told, quantize(values, kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


@dataclass(frozen=True)
class Batch:
    """Packed examples.

    Attributes
    ----------
    ids, positions, parts
        Token, position and part of each place, rows × length. Part 0 is the prefix, −1 is padding.
    rows, places
        Where each example's last token is.
    examples
        Which examples they are.
    """

    ids: "Tensor"
    positions: "Tensor"
    parts: "Tensor"
    rows: "Tensor"
    places: "Tensor"
    examples: "Tensor"


def packed(
    prefix: Sequence[int], examples: Sequence[Sequence[int]], order: Sequence[int], *, length: int, rows: int
) -> Iterator[Batch]:
    """Yield examples in an order, as many behind one prefix as fit into a row, and so many rows at once."""
    made: list[tuple[list[int], list[tuple[int, int, int]]]] = []
    for example in order:
        ids = examples[example]
        if not made or len(made[-1][0]) + len(ids) > length:
            if len(made) == rows:
                yield _batch(made, len(prefix))
                made = []
            made.append((list(prefix), []))
        row, ends = made[-1]
        ends.append((len(row), len(row) + len(ids), example))
        row.extend(ids)
    if made:
        yield _batch(made, len(prefix))


def _batch(made: Sequence[tuple[list[int], list[tuple[int, int, int]]]], prefix: int) -> Batch:
    longest = max(len(row) for row, _ in made)
    ids, positions, parts = (torch.full((len(made), longest), value) for value in (0, 0, -1))
    for at, (row, spans) in enumerate(made):
        ids[at, : len(row)] = torch.tensor(row)
        parts[at, :prefix], positions[at, :prefix] = 0, torch.arange(prefix)
        for part, (start, end, _) in enumerate(spans, 1):
            parts[at, start:end], positions[at, start:end] = part, torch.arange(prefix, prefix + end - start)
    told = [(at, end - 1, example) for at, (_, spans) in enumerate(made) for _, end, example in spans]
    return Batch(ids, positions, parts, *(torch.tensor(column) for column in zip(*told, strict=True)))


def last_states(shape: Shape, weights: Mapping[str, "Tensor"], batch: Batch, lora: Lora | None = None) -> "Tensor":
    """Return the normalized state of each example's last token, examples × width."""
    ids, positions, parts = (
        one.to(weights["output.weight"].device) for one in (batch.ids, batch.positions, batch.parts)
    )
    x = F.embedding(ids, weights["token_embd.weight"])
    turns = 1 / shape.base ** (torch.arange(0, shape.head, 2, device=ids.device) / shape.head)
    angles = (positions[..., None] * turns).repeat(1, 1, 2)[:, None]
    before = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool, device=ids.device).tril()
    seen = (before & ((parts[:, None, :] == 0) | (parts[:, None, :] == parts[:, :, None])))[:, None]
    for layer in range(shape.layers):
        x = _layer(shape, weights, layer, x, (angles.cos().to(x.dtype), angles.sin().to(x.dtype)), seen, lora)
    chosen = x[batch.rows.to(x.device), batch.places.to(x.device)]
    return _normalized(chosen, weights["output_norm.weight"], shape.epsilon)


def _layer(
    shape: Shape,
    weights: Mapping[str, "Tensor"],
    layer: int,
    x: "Tensor",
    turned: tuple["Tensor", "Tensor"],
    seen: "Tensor",
    lora: Lora | None,
) -> "Tensor":
    def times(name: str, x: "Tensor") -> "Tensor":
        own = F.linear(x, weights[f"blk.{layer}.{name}.weight"], weights.get(f"blk.{layer}.{name}.bias"))
        return own if lora is None else own + lora(layer, name, x)

    def heads(name: str, x: "Tensor", count: int) -> "Tensor":
        return times(name, x).view(*x.shape[:2], count, shape.head).transpose(1, 2)

    state = _normalized(x, weights[f"blk.{layer}.attn_norm.weight"], shape.epsilon)
    queries = _turned(heads("attn_q", state, shape.heads), turned)
    keys = _turned(heads("attn_k", state, shape.key_heads), turned)
    values = heads("attn_v", state, shape.key_heads)
    shared = shape.heads // shape.key_heads
    keys, values = (one.repeat_interleave(shared, 1) for one in (keys, values))
    read = F.scaled_dot_product_attention(queries, keys, values, attn_mask=seen)
    x = x + times("attn_output", read.transpose(1, 2).reshape(x.shape))
    state = _normalized(x, weights[f"blk.{layer}.ffn_norm.weight"], shape.epsilon)
    return x + times("ffn_down", F.silu(times("ffn_gate", state)) * times("ffn_up", state))


def _normalized(x: "Tensor", weight: "Tensor", epsilon: float) -> "Tensor":
    exact = x.float()
    return (exact * torch.rsqrt(exact.pow(2).mean(-1, keepdim=True) + epsilon)).to(x.dtype) * weight


def _turned(x: "Tensor", turned: tuple["Tensor", "Tensor"]) -> "Tensor":
    """Return queries or keys with their positions (RoPE)."""
    first, second = x.chunk(2, -1)
    return x * turned[0] + torch.cat([-second, first], -1) * turned[1]
