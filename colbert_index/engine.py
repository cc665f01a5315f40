"""The only module that loads colbert-ai's models: its mends for this stack are all here.

- transformers 5 wants `post_init()` after a model is built, which colbert-ai 0.2.22 does not call
  (https://github.com/stanford-futuredata/ColBERT/pull/412).
- Its mixed precision asks for CUDA; here it is bfloat16 where the CPU has it.
- It prints; here its output is dropped.
- Its model compiles an extension when it is made, which only its own scoring uses; here none is (see `kernel`).
"""

import contextlib
import io
import threading
import warnings
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from polyqa.models.loading import resolve_precision
from polyqa.models.running import by_padded_length, keep_freed_memory, own_threads

from .multi_vector import MultiVectorModel, dimensions, is_multi_vector
from .settings import IndexSettings

if TYPE_CHECKING:
    import torch
    from colbert.infra import ColBERTConfig
_DESCRIBED = ("dim", "nbits", "doc_maxlen", "query_maxlen", "query_token_id", "doc_token_id", "similarity")
_LENGTH_STEP = 16
_TOKENIZED = 1_000  # texts at once
_QUIET = threading.RLock()  # redirecting a stream is for the whole process: one thread at a time


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what colbert-ai prints while it loads."""
    dropped = io.StringIO()
    with _QUIET, contextlib.redirect_stdout(dropped), contextlib.redirect_stderr(dropped), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def prepare_colbert() -> None:
    """Import colbert-ai and mend it. Safe to call again."""
    with quiet():
        from colbert.modeling import base_colbert, hf_colbert
        from colbert.modeling.colbert import ColBERT

    original = hf_colbert.class_factory

    def class_factory(name: str) -> type:
        base = original(name)

        class HF_ColBERT(base):  # type: ignore[misc,valid-type]
            def __init__(self, config: Any, colbert_config: Any) -> None:
                super().__init__(config, colbert_config)
                self.post_init()

        return HF_ColBERT

    base_colbert.class_factory = class_factory
    ColBERT.loaded_extensions = True


def colbert_config(checkpoint: Path | str, settings: IndexSettings) -> "ColBERTConfig":
    """Return colbert-ai's configuration for a checkpoint under our settings."""
    from colbert.infra import ColBERTConfig

    folder = Path(checkpoint)
    return ColBERTConfig.from_existing(
        ColBERTConfig(dim=dimensions(folder))
        if is_multi_vector(folder)
        else ColBERTConfig.load_from_checkpoint(str(checkpoint)),
        ColBERTConfig(
            nbits=settings.nbits,
            doc_maxlen=settings.doc_maxlen,
            query_maxlen=settings.query_maxlen,
            index_bsize=settings.batch_size,
            checkpoint=str(checkpoint),
        ),
    )


def described(checkpoint: Path | str, settings: IndexSettings) -> dict[str, Any]:
    """Return what an index says of itself to colbert-ai; not the host, user, command and paths that it would add."""
    config = colbert_config(checkpoint, settings)
    return {name: getattr(config, name) for name in _DESCRIBED}


def load_checkpoint(checkpoint: Path | str, settings: IndexSettings) -> Any:
    """Load a ColBERT checkpoint for inference.

    Returns
    -------
    colbert.modeling.checkpoint.Checkpoint or MultiVectorModel
        The former's `queryFromText` and `docFromText` make the token vectors.
    """
    import torch

    if is_multi_vector(Path(checkpoint)):
        return MultiVectorModel(Path(checkpoint), settings)
    own_threads()
    keep_freed_memory()
    prepare_colbert()
    with quiet():
        from colbert.modeling.checkpoint import Checkpoint

        model = Checkpoint(str(checkpoint), colbert_config=colbert_config(checkpoint, settings), verbose=0)
    bfloat16 = resolve_precision("auto") == "bfloat16"
    on_cpu = partial(torch.autocast, "cpu", torch.bfloat16, enabled=bfloat16)
    model.amp_manager = SimpleNamespace(
        context=partial(torch.autocast, "cuda") if torch.cuda.is_available() else on_cpu
    )
    if bfloat16 and not model.use_gpu:
        # Else every batch, of one question as well, would turn all weights into bfloat16 again.
        model.bert.bfloat16()
    return model


def encode_documents(model: Any, texts: Sequence[str], advance: Any = None) -> tuple["torch.Tensor", list[int]]:
    """Return the token vectors of the texts, concatenated in their order, and the lengths.

    Texts of as many tokens share a batch, so that little is spent on padding. After each, ``advance`` is called with
    the number of its texts.

    Returns
    -------
    vectors : tensor of shape (sum of lengths, dim), float16
    lengths : list of int
        Vectors per text.
    """
    import torch

    if isinstance(model, MultiVectorModel):
        return model.documents(texts, advance)
    own_threads()
    settings = model.colbert_config
    rows = _tokens(model, texts)
    lengths = [len(row) for row in rows]
    parts: list[Any] = [None] * len(texts)
    batches = by_padded_length(lengths, settings.index_bsize, step=_LENGTH_STEP, longest=settings.doc_maxlen)
    with torch.inference_mode():
        for batch, length in batches:
            ids = torch.full((len(batch), length), model.raw_tokenizer.pad_token_id)
            for row, index in enumerate(batch):
                ids[row, : lengths[index]] = rows[index]
            own_lengths = torch.tensor([lengths[index] for index in batch])
            attended = (torch.arange(length) < own_lengths.unsqueeze(1)).long()
            vectors, masks = model.doc(ids, attended, keep_dims="return_mask", to_cpu=True)
            for index, tokens, mask in zip(batch, vectors.half(), masks.cpu().squeeze(-1), strict=True):
                parts[index] = tokens[mask]
            if advance is not None:
                advance(len(batch))
    return torch.cat(parts), [len(part) for part in parts]


def _tokens(model: Any, texts: Sequence[str]) -> list["torch.Tensor"]:
    """Return the tokens of each text, with the marker of a document."""
    rows: list[Any] = []
    for begin in range(0, len(texts), _TOKENIZED):
        ids, attended = model.doc_tokenizer.tensorize(list(texts[begin : begin + _TOKENIZED]))
        lengths = attended.sum(dim=1).tolist()
        rows += [row[:length].int() for row, length in zip(ids, lengths, strict=True)]
    return rows
