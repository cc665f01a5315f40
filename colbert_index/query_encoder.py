"""Token vectors of queries: those of colbert-ai, without loading it for a checkpoint that is a BERT.

colbert-ai brings its training code along whatever is imported of it, which takes longer than a search does to load.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyqa.models.loading import resolve_precision
from polyqa.models.running import keep_freed_memory

from .multi_vector import read_json
from .settings import IndexSettings

if TYPE_CHECKING:
    from torch import Tensor

Encode = Callable[[Sequence[str]], list[NDArray[np.float32]]]
"""Returns the token vectors of each query, shape (query_maxlen, dimensions), of unit length, or 0 for padding.

Those of a checkpoint of `multi_vector` may be fewer than query_maxlen.
"""
_BATCH = 128
_SETTINGS = "artifact.metadata"  # colbert-ai's name for a checkpoint's own


def load_query_encoder(checkpoint: Path | str, settings: IndexSettings) -> Encode:
    """Load what encodes queries with the ColBERT checkpoint in a folder."""
    keep_freed_memory()
    return _direct(Path(checkpoint), settings) or _with_its_library(checkpoint, settings)


def _direct(folder: Path, settings: IndexSettings) -> Encode | None:
    """Return an encoder that needs no colbert-ai; ``None`` if the checkpoint, or the machine, wants its own."""
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from torch.nn import functional

    from polyqa.models.bert import Bert, is_bert, read_config

    files = [folder / name for name in (_SETTINGS, "tokenizer.json", "tokenizer_config.json", "model.safetensors")]
    config = read_config(folder)
    if torch.cuda.is_available() or not is_bert(config) or not all(map(Path.is_file, files)):
        return None
    colbert, tokens, tokenizer_config = map(read_json, files[:3])
    weights = load_file(files[3])
    lowers = (tokens.get("normalizer") or {}).get("lowercase")
    if "linear.weight" not in weights or lowers is not tokenizer_config.get("do_lower_case", lowers):
        return None
    tokenizer = Tokenizer.from_file(str(files[1]))
    marks = (
        colbert.get("query_token_id", "[unused0]"),
        tokenizer_config.get("pad_token", "[PAD]"),
        tokenizer_config.get("mask_token", "[MASK]"),
    )
    marker, padding, mask = (
        tokenizer.token_to_id(token["content"] if isinstance(token, dict) else token) for token in marks
    )
    if marker is None or padding is None or mask is None:
        return None
    attends_to_padding = colbert.get("attend_to_mask_tokens", False)
    tokenizer.enable_truncation(settings.query_maxlen - 1)  # the marker is one more
    tokenizer.enable_padding(length=settings.query_maxlen - 1, pad_id=padding)
    dtype = getattr(torch, resolve_precision("auto"))
    bert = Bert(config, weights, prefix="bert.", dtype=dtype)
    projection = weights["linear.weight"].to(dtype)

    def forward(queries: Sequence[str]) -> "Tensor":
        encoded = tokenizer.encode_batch(list(queries))
        ids = torch.tensor([[encoding.ids[0], marker, *encoding.ids[1:]] for encoding in encoded])
        attended = torch.tensor([[1, 1, *encoding.attention_mask[1:]] for encoding in encoded])
        ids[ids == padding] = mask
        if attends_to_padding:
            attended[ids == mask] = 1
        states = functional.linear(bert(ids, attended).last_hidden_state, projection)
        counts = (ids != padding).unsqueeze(2).float()
        return functional.normalize(states * counts, p=2, dim=2)

    def encode(queries: Sequence[str]) -> list[NDArray[np.float32]]:
        with torch.inference_mode():
            parts = [forward(queries[begin : begin + _BATCH]) for begin in range(0, len(queries), _BATCH)]
            return list(torch.cat(parts).numpy()) if parts else []

    return encode


def _with_its_library(checkpoint: Path | str, settings: IndexSettings) -> Encode:
    from .engine import load_checkpoint
    from .multi_vector import MultiVectorModel

    model = load_checkpoint(checkpoint, settings)
    if isinstance(model, MultiVectorModel):
        return model.queries
    return lambda queries: list(model.queryFromText(list(queries), bsize=_BATCH, to_cpu=True).float().numpy())
