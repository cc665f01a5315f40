"""The sentence encoder: all-MiniLM-L6-v2 from its wheel, or any SentenceTransformer by name.

It ranks passages, picks demos and compares readings. Texts are encoded in batches and never twice.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyqa.base.text import well_formed

from .compact import minilm_path
from .loading import LOADING, Precision, resolve_precision, without_progress_bars
from .memory import Memory, SharedModel
from .running import by_padded_length, keep_freed_memory, own_threads, padded_rows

EMBEDDED_ENCODER = "all-MiniLM-L6-v2"
_MAX_TOKENS = 256
_BATCH = 64  # texts per forward pass
_MEMORY = 200_000  # vectors that are kept; of 384 dimensions these are 300 MB
_LENGTH_STEP = 16


class Encoder(SharedModel):
    """Unit-length sentence vectors with a memory.

    Parameters
    ----------
    name
        ``all-MiniLM-L6-v2`` (the default, embedded: no network), a path, or a hub name.
    precision
        ``auto`` takes bfloat16 where the CPU has it (2 to 3 × faster; cosine to float32 ≥ 0.999).
    """

    def __init__(self, name: str = EMBEDDED_ENCODER, *, precision: Precision = "auto") -> None:
        self.name = name
        self.precision = precision
        self._memory: Memory[NDArray[np.float32]] = Memory(_MEMORY)

    @cached_property
    def _forward(self) -> Callable[[list[str]], NDArray[np.float32]]:
        with LOADING:
            if self.name == EMBEDDED_ENCODER:
                return _MiniLM(self.precision).encode
            from sentence_transformers import SentenceTransformer

            with without_progress_bars():
                model = SentenceTransformer(self.name, model_kwargs={"dtype": resolve_precision(self.precision)})
        return lambda texts: np.asarray(
            model.encode(texts, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False),
            dtype=np.float32,
        )

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector per text, in order.

        Parameters
        ----------
        texts
            Any number of texts; a text longer than the encoder's window is cut by it.

        Returns
        -------
        array of shape (len(texts), dimensions), float32
            Cosine similarity is the dot product of two rows.
        """
        own_threads()
        texts = [well_formed(text) for text in texts]
        rows = self._memory.get(texts, lambda missing: list(self._forward(missing)))
        return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def similarity(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Return the cosine similarities, shape (len(left), len(right)), each in [-1, 1]."""
        if not left or not right:
            return np.zeros((len(left), len(right)), dtype=np.float32)
        vectors = self.encode([*left, *right])
        return vectors[: len(left)] @ vectors[len(left) :].T


class _MiniLM:
    """all-MiniLM-L6-v2 without sentence-transformers and transformers, whose imports cost every command seconds.

    Its pipeline is short: a BERT of six layers, the mean of the token vectors, unit length. A test holds it against
    sentence-transformers' own.
    """

    def __init__(self, precision: Precision) -> None:
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        from .bert import Bert, read_config

        keep_freed_memory()
        folder = minilm_path()
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.no_padding()
        dtype = getattr(torch, resolve_precision(precision))
        self._model = Bert(read_config(folder), load_file(folder / "model.safetensors"), dtype=dtype)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), 384); texts of like length share a batch."""
        encoded = self._tokenizer.encode_batch([text.strip() for text in texts])
        lengths = [len(encoding.ids) for encoding in encoded]
        vectors = np.zeros((len(texts), self._model.config.hidden_size), dtype=np.float32)
        for batch, length in by_padded_length(lengths, _BATCH, step=_LENGTH_STEP, longest=_MAX_TOKENS):
            vectors[batch] = self._forward([encoded[index].ids for index in batch], length)
        return vectors

    def _forward(self, rows: list[list[int]], length: int) -> NDArray[np.float32]:
        import torch

        ids, mask = padded_rows(rows, length), padded_rows([[1] * len(row) for row in rows], length)
        with torch.inference_mode():
            states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            weights = mask.unsqueeze(-1).float()
            mean = (states * weights).sum(dim=1) / weights.sum(dim=1)
            unit: NDArray[np.float32] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return unit
