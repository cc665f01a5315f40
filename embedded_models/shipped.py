"""Where the weights lie that come with this package; their cards lie beside them."""

from pathlib import Path

from .compact import COMPACT_FILE

_WEIGHTS = Path(__file__).parent / "weights"


def reader_path() -> Path:
    """Return the folder of the span reader."""
    return _WEIGHTS / "reader"


def colbert_weights_path() -> Path:
    """Return the file of what late interaction changed in the sentence encoder's weights, with its projection."""
    return _WEIGHTS / "colbert" / COMPACT_FILE
