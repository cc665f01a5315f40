"""Weights of low rank beside those of a Qwen2 (LoRA, Hu et al., 2021).

    W x  becomes  W x + α/r · B (A x),   A: r × in, B: out × r

Only A and B are trained. The model's own weights are those that llama.cpp computes with, quantized, so that nothing is
learnt that quantizing would undo.
"""

import json
import math
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, dequantize, quantize
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM

MATRICES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""The matrices of a layer, by the names of `transformers`, and as llama.cpp calls them."""
_OTHERS = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
_BLOCK = 32  # numbers that are quantized together
_WARMUP = 20  # steps
_LEAST = 0.05  # of the highest rate, at the end


def load_gguf(path: Path, device: str, dtype: torch.dtype) -> Any:
    """Return a Qwen2 with the weights of a GGUF file; `transformers` itself needs `accelerate` to read them."""
    config = AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype).to(device)
    names = _OTHERS | {name: ours for ours, name in MATRICES.items()}
    weights = {}
    for one in GGUFReader(path).tensors:
        *layer, name, kind = one.name.split(".")  # blk.3.attn_q.bias, output_norm.weight
        place = f"model.layers.{layer[1]}." if layer else ""
        weights[f"{place}{names[name]}.{kind}"] = torch.from_numpy(dequantize(one.data, one.tensor_type)).to(dtype)
    weights.setdefault("lm_head.weight", weights["model.embed_tokens.weight"])
    model.load_state_dict(weights)
    return model


class Lora(nn.Module):
    """A linear layer with A and B beside it; B begins at 0, so that it begins as it is."""

    def __init__(self, layer: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        device = layer.weight.device
        self.layer, self.scale = layer, alpha / rank
        self.a = nn.Parameter(torch.empty(rank, layer.in_features, device=device))
        self.b = nn.Parameter(torch.zeros(layer.out_features, rank, device=device))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output, with what is learnt."""
        own: Tensor = self.layer(x)
        return own + F.linear(F.linear(x, self.a.to(x.dtype)), self.b.to(x.dtype)) * self.scale


def add_lora(model: Any, *, rank: int, alpha: float) -> dict[str, Lora]:
    """Put A and B beside every matrix of a model, whose own weights no longer change; return them by llama.cpp's names.

    Parameters
    ----------
    model
        A `transformers.Qwen2ForCausalLM`.
    """
    model.requires_grad_(False)
    added = {}
    for number, layer in enumerate(model.model.layers):
        for path, name in MATRICES.items():
            made = Lora(layer.get_submodule(path), rank, alpha)
            layer.set_submodule(path, made)
            added[f"blk.{number}.{name}.weight"] = made
    return added


def rate_at(progress: float, step: int, highest: float) -> float:
    """Return the learning rate at a share of the run: a rise over the first steps, then a cosine."""
    return highest * min(1, (step + 1) / _WARMUP) * (_LEAST + (1 - _LEAST) * (1 + math.cos(math.pi * progress)) / 2)


def fit(
    model: Any,
    losses: Iterable[tuple[Tensor, int]],
    count: int,
    log: Path,
    rate: float,
    minutes: float = math.inf,
) -> None:
    """Train the weights that may change; the loss and rate of each step that changed them are logged.

    Parameters
    ----------
    losses
        The loss of each step, and of how many examples it is; each is computed when the step before it is done.
    count
        Of examples in the whole run.
    rate
        The highest learning rate.
    minutes
        The longest that it takes, but for the last step: the rate falls with them if they are over sooner.
    """
    started, step, seen = time.monotonic(), 0, 0
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, betas=(0.9, 0.98), weight_decay=0.0)
    model.train()
    with log.open("w", encoding="utf-8", buffering=1) as file:  # a row as soon as it is known
        for loss, examples in losses:
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(weights, 1.0)
            spent = (time.monotonic() - started) / 60 / minutes
            now = rate_at(min(1.0, max(seen / count, spent)), step, rate)
            for group in optimizer.param_groups:
                group["lr"] = now
            step, seen = step + 1, seen + examples
            if torch.isfinite(norm):  # attention with a mask gives NaN once in some hundred steps on the GPU
                optimizer.step()
                row = {"step": step, "loss": loss.item(), "rate": now, "seconds": round(time.monotonic() - started, 1)}
                file.write(json.dumps(row) + "\n")
            optimizer.zero_grad()
            if spent >= 1:
                break


def read_lora(added: Mapping[str, Lora], path: Path, share: float = 1.0) -> None:
    """Put A and B of a file in the place of those beside the matrices, or so far between."""
    stored = {one.name: one for one in GGUFReader(path).tensors}
    with torch.no_grad():
        for matrix, lora in added.items():
            for side, weight in (("a", lora.a), ("b", lora.b)):
                one = stored[f"{matrix}.lora_{side}"]
                weight.lerp_(torch.from_numpy(dequantize(one.data, one.tensor_type)).to(weight), share)


def write_lora(added: Mapping[str, Lora], alpha: float, path: Path, name: str) -> None:
    """Write A and B as llama.cpp reads them, A in 8 bits."""
    writer = GGUFWriter(path, "qwen2")
    writer.add_type("adapter")
    writer.add_name(name)
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    for matrix, lora in added.items():
        for side, weight in (("a", lora.a), ("b", lora.b)):
            values, kind = weight.detach().float().cpu().numpy(), GGMLQuantizationType.Q8_0
            if values.shape[1] % _BLOCK:
                writer.add_tensor(f"{matrix}.lora_{side}", values.astype("float16"))
            else:
                writer.add_tensor(f"{matrix}.lora_{side}", quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
