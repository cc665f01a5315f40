"""Weights of models that are trained: made small for the package, and the writer's network to start from."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from polyqa.models.compact import COMPACT_FILE, SCALE, encoder_weights, minilm_path, read_compact
from polyqa.models.loading import LOADING, without_progress_bars
from polyqa.models.writer import VOCABULARY_FILE, load_parts, read_vocabulary
from polyqa.models.writer_network import DECODER_LAYERS, WriterNetwork
from polyqa.models.writing import LONGEST_WRITTEN


def compact(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Return int8 matrices with float16 scales, shape (rows, 1), under ``<name>.scale``; the rest as float16."""
    small: dict[str, Any] = {}
    for name, weight in weights.items():
        whole = weight.detach().float().cpu()
        if whole.dim() != 2:
            small[name] = whole.half().contiguous()
            continue
        # The scale is rounded first: the integers have to fit what will be multiplied back.
        scale = (whole.abs().amax(dim=1, keepdim=True) / 127).half()
        divisor = scale.float().where(scale > 0, torch.ones(()))
        small[name] = (whole / divisor).round().clamp(-127, 127).to(torch.int8).contiguous()
        small[name + SCALE] = scale
    return small


def write_compact(weights: Mapping[str, Any], path: Path) -> None:
    """Write weights as `compact` makes them, without those of the encoder, into a folder that is not in use yet."""
    from safetensors.torch import save_file

    base = encoder_weights()
    own = {name: weight for name, weight in weights.items() if not _equal(weight, base.get(name))}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(compact(own), path, metadata={"format": "pt"})


def _equal(weight: Any, other: Any) -> bool:
    if other is None or other.shape != weight.shape:
        return False
    # Float16 rounds by one part in 2048.
    return torch.allclose(weight.detach().cpu().float(), other.float(), rtol=1e-3, atol=1e-6)


def load_model(kind: Any, location: str, **options: Any) -> Any:
    """Load a model of `transformers` from a folder or hub name, compact or not.

    Parameters
    ----------
    kind
        A model class of `transformers`; a compact model's own is named in its configuration.
    options
        For its ``from_pretrained``.
    """
    small = Path(location) / COMPACT_FILE
    with without_progress_bars():
        if not small.is_file():
            return kind.from_pretrained(location, **options)
        import transformers

        config = transformers.AutoConfig.from_pretrained(location)
        own = getattr(transformers, config.architectures[0])
        weights = encoder_weights() | read_compact(small)
        return own.from_pretrained(None, config=config, state_dict=weights, **options)


def new_network(vocabulary: torch.Tensor) -> WriterNetwork:
    """Return a writer's network to be trained, which starts from the sentence encoder, a model of `transformers`.

    The decoder gets the weights of the encoder's layers, its cross-attention those of their attention.
    """
    with LOADING:
        from transformers import BertModel

        with without_progress_bars():
            encoder = BertModel.from_pretrained(minilm_path(), dtype=torch.float32)
    encoder.pooler = None
    network = WriterNetwork(encoder, vocabulary)
    network.positions.weight.data.copy_(encoder.embeddings.position_embeddings.weight[:LONGEST_WRITTEN])
    network.enter.load_state_dict(encoder.embeddings.LayerNorm.state_dict())
    for layer, place in zip(network.layers, DECODER_LAYERS, strict=True):
        source = encoder.encoder.layer[place]
        attention, output = source.attention.self, source.attention.output
        for own in (layer.own, layer.cross):
            for name in ("query", "key", "value"):
                getattr(own, name).load_state_dict(getattr(attention, name).state_dict())
            own.out.load_state_dict(output.dense.state_dict())
        layer.up.load_state_dict(source.intermediate.dense.state_dict())
        layer.down.load_state_dict(source.output.dense.state_dict())
        layer.after_own.load_state_dict(output.LayerNorm.state_dict())
        layer.after_cross.load_state_dict(output.LayerNorm.state_dict())
        layer.after_inner.load_state_dict(source.output.LayerNorm.state_dict())
    return network


def load_network(folder: Path) -> WriterNetwork:
    """Load a network that `save_writer` wrote, to be trained further."""
    network = new_network(read_vocabulary(folder))
    weights = read_compact(folder / COMPACT_FILE)
    return load_parts(network, {_renamed(name, "bert.", "encoder."): weights[name] for name in weights}, folder)


def save_writer(network: WriterNetwork, folder: Path) -> None:
    """Write a network's weights as int8 (see `compact`) and its vocabulary."""
    state = {name: weight for name, weight in network.state_dict().items() if name != "vocabulary"}
    write_compact({_renamed(name, "encoder.", "bert."): state[name] for name in state}, folder / COMPACT_FILE)
    (folder / VOCABULARY_FILE).write_text(json.dumps(network.vocabulary.tolist()) + "\n", encoding="utf-8")


def _renamed(name: str, old: str, new: str) -> str:
    return new + name.removeprefix(old) if name.startswith(old) else name
