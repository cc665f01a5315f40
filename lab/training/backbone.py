"""Where training starts from, and how a trained model is written down."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index.writing import replacing
from polyqa.models.compact import COMPACT_FILE, minilm_path, reader_path
from polyqa.models.encoder import EMBEDDED_ENCODER
from polyqa.models.reader import EMBEDDED_READER

from .weights import load_model, write_compact

_LONGEST_EAGER = 224  # tokens; above, the fused attention is faster on a CPU, below, the plain one


def backbone_path(name: str) -> str:
    """Return what `load_model` loads for a name: an embedded model's folder, a path or a hub name."""
    embedded = {EMBEDDED_ENCODER: minilm_path, EMBEDDED_READER: reader_path}
    return str(embedded[name]()) if name in embedded else name


def load_for_training(kind: Any, name: str, *, dropout: float, **more: Any) -> Any:
    """Load a model in float32 with position-shared dropout.

    Parameters
    ----------
    kind
        A model class of `transformers`.
    dropout
        Share of hidden features that is dropped; see `share_dropout`.

    Raises
    ------
    PolyqaError
        If there is no such model.
    """
    from transformers.utils import logging

    shown = logging.get_verbosity()
    logging.set_verbosity_error()  # a report of the head that is new, which is the point
    try:
        model = load_model(kind, backbone_path(name), attn_implementation="eager", **more)
    except OSError as error:
        raise PolyqaError(f"There is no model {name}: give a folder, or a hub name that can be reached.") from error
    finally:
        logging.set_verbosity(shown)
    model.float()
    share_dropout(model, dropout)
    return model


def share_dropout(model: Any, share: float) -> None:
    """Put dropout that drops a feature at all positions of a text in place of the usual dropout.

    On a CPU drawing a random number for every activation takes half of a training step; one per text
    and feature costs nothing. Dropout on attention goes, for the same reason.
    """
    import torch

    class SharedDropout(torch.nn.Module):
        def forward(self, states: Any) -> Any:
            if not self.training or not share:
                return states
            shape = (states.shape[0], *(1,) * (states.dim() - 2), states.shape[-1])
            kept = torch.empty(shape, dtype=states.dtype, device=states.device).bernoulli_(1 - share)
            return states * kept.div_(1 - share)

    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Dropout):
                attention = hasattr(module, "attention_head_size") or "SelfAttention" in type(module).__name__
                setattr(module, name, torch.nn.Dropout(0.0) if attention else SharedDropout())


def freeze(model: Any, layers: int) -> None:
    """Leave the embeddings and so many lower layers as they are: less to compute, little to lose.

    Raises
    ------
    PolyqaError
        If the model is not built as BERT is, or has not so many layers.
    """
    if not layers:
        return
    base = model.base_model
    encoder = getattr(getattr(base, "encoder", None), "layer", None)
    if encoder is None or not hasattr(base, "embeddings"):
        raise PolyqaError(
            f"{type(model).__name__} has no embeddings and encoder.layer to freeze: leave that option out."
        )
    if layers > len(encoder):
        raise PolyqaError(f"The model has {len(encoder)} layers, not {layers}: freeze fewer.")
    for part in (base.embeddings, *encoder[:layers]):
        part.requires_grad_(False)


def fit_attention(model: Any, length: int) -> None:
    """Take the attention that is faster for texts of this many tokens."""
    import torch

    if not torch.cuda.is_available():
        wanted = "eager" if length <= _LONGEST_EAGER else "sdpa"
        if model.config._attn_implementation != wanted:
            model.set_attn_implementation(wanted)


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Give an empty folder to fill, which then takes the target's place; after an error the target is as before."""
    with replacing(target) as work:
        yield work
        for path in work.iterdir():
            path.chmod(0o644)  # what safetensors writes nobody else may read


def write_model(model: Any, tokenizer: Any, target: Path, *, small: bool = False) -> None:
    """Write weights, configuration and tokenizer; the folder is whole or absent.

    Parameters
    ----------
    small
        As int8 (see `compact`), which `load_model` reads, else as float16 safetensors, which `transformers` does.
    """
    import copy

    import torch

    with whole_folder(target) as work:
        half = copy.deepcopy(model).to("cpu", torch.float16)
        if small:
            half.config.architectures = [type(half).__name__]
            half.config.save_pretrained(work)
            write_compact(half.state_dict(), work / COMPACT_FILE)
        else:
            half.save_pretrained(work)
        tokenizer.save_pretrained(work)
