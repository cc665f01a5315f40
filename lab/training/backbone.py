"""Where training starts from, and how a trained model is written down."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index.writing import replacing
from polyqa.models.compact import COMPACT_FILE, minilm_path, reader_path
from polyqa.models.encoder import EMBEDDED_ENCODER
from polyqa.models.reader import EMBEDDED_READER

from .weights import load_model, write_compact


def backbone_path(name: str) -> str:
    """Return what `load_model` loads for a name: an embedded model's folder, a path or a hub name."""
    embedded = {EMBEDDED_ENCODER: minilm_path, EMBEDDED_READER: reader_path}
    return str(embedded[name]()) if name in embedded else name


def load_for_training(kind: Any, name: str, *, dropout: float) -> Any:
    """Load a model of a class of `transformers` in float32, with dropout as of `share_dropout`.

    Raises
    ------
    PolyqaError
        If there is no such model.
    """
    shown = logging.get_verbosity()
    logging.set_verbosity_error()  # a report of the head that is new, which is the point
    try:
        model = load_model(kind, backbone_path(name), attn_implementation="eager").float()
    except OSError as error:
        raise PolyqaError(f"There is no model {name}: give a folder, or a hub name that can be reached.") from error
    finally:
        logging.set_verbosity(shown)
    share_dropout(model, dropout)
    return model


def share_dropout(model: Any, share: float) -> None:
    """Put dropout that drops a feature at all positions of a text in place of the usual dropout.

    On a CPU drawing a random number for every activation takes half of a training step; one per text
    and feature costs nothing. Dropout on attention goes, for the same reason.
    """

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


def freeze(encoder: Any, layers: int) -> None:
    """Leave the embeddings and so many lower layers of a BERT as they are, if any: less to compute, little to lose."""
    for part in (encoder.embeddings, *encoder.encoder.layer[:layers]) if layers else ():
        part.requires_grad_(False)


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
    with whole_folder(target) as work:
        half = copy.deepcopy(model).to("cpu", torch.float16)
        if small:
            half.config.architectures = [type(half).__name__]
            half.config.save_pretrained(work)
            write_compact(half.state_dict(), work / COMPACT_FILE)
        else:
            half.save_pretrained(work)
        tokenizer.save_pretrained(work)
