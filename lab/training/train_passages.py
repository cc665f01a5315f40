"""Trains what is added to the local model for reading passages: ``python -m lab.training.train_passages --help``.

A GPU does it in eight minutes (H100, 31,000 tokens a second); a machine without one would take days. Some hundred more
examples, from weights that are there (``--start``), take it an hour.
"""

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import torch.nn.functional as F
import typer
from torch import Tensor
from transformers import AutoTokenizer, DynamicCache

from lab.results import Seed
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.lm.adapter import LeanAdapter
from polyqa.models.gguf import model_file
from polyqa.programs.passages_read import NONE, shown
from polyqa.signatures import ReadPassage

from .commands import draw_curve, run_command
from .loop import LOG
from .lora import add_lora, fit, load_gguf, read_lora, write_lora
from .passages import Read
from .rows import read_rows

_RANK, _ALPHA = 8, 16.0
_POOL = 2048  # examples that are sorted by length together, so that a step pads little


class Told:
    """An example as tokens: what the model is shown, and from ``begin`` on what it is to write."""

    def __init__(self, tokenizer: Any, example: Read) -> None:
        passage = Passage(pid="", title=example.title, text=example.text)
        inputs = {"question": example.question, "passage": shown(passage)}
        messages: Any = LeanAdapter().format(ReadPassage, [], inputs)
        prompt = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, add_generation_prompt=True)
        self.begin, self.weight = len(prompt), example.weight
        reply = tokenizer.encode("\n".join(example.answers) or NONE)
        self.ids: list[int] = [*prompt, *reply, tokenizer.eos_token_id]


def batches(told: Sequence[Told], chance: random.Random, tokens: int = 10_000) -> Iterator[list[Told]]:
    """Yield all examples in an order that is drawn, about as long ones together, so many tokens at once at most."""
    order = chance.sample(told, len(told))
    made: list[list[Told]] = []
    for first in range(0, len(order), _POOL):
        made.append([])
        for one in sorted(order[first : first + _POOL], key=lambda one: len(one.ids)):
            if made[-1] and (len(made[-1]) + 1) * len(one.ids) > tokens:
                made.append([])
            made[-1].append(one)
    yield from chance.sample(made, len(made))


def loss_of(model: Any, batch: Sequence[Told], shared: int = 0) -> Tensor:
    """Return the cross entropy of what is to be written, each token with its example's weight.

    Parameters
    ----------
    shared
        Tokens with which all examples begin, the instruction: they are read once, and nothing is learnt of reading
        them.
    """
    longest = max(len(one.ids) for one in batch) - shared
    ids = torch.zeros(len(batch), longest, dtype=torch.long)  # nothing looks ahead, so padding needs no mask
    places: list[tuple[int, int, float]] = []
    for row, one in enumerate(batch):
        ids[row, : len(one.ids) - shared] = torch.tensor(one.ids[shared:])
        places += [(row, place - shared, one.weight) for place in range(one.begin - 1, len(one.ids) - 1)]
    rows, at = (torch.tensor(part) for part in list(zip(*places, strict=True))[:2])
    weights = torch.tensor([weight for *_, weight in places], device=model.device)
    instruction = _read_once(model, batch[0].ids[:shared], len(batch)) if shared else None
    read = model.model(input_ids=ids.to(model.device), past_key_values=instruction, use_cache=shared > 0)
    losses = F.cross_entropy(
        F.linear(read.last_hidden_state[rows, at], model.lm_head.weight).float(),
        ids[rows, at + 1].to(model.device),
        reduction="none",
    )
    return (losses * weights).sum() / weights.sum()


@torch.no_grad()
def _read_once(model: Any, ids: list[int], rows: int) -> DynamicCache:
    """Return what a model knows of tokens that it has read, for so many texts that go on from there."""
    first, every = DynamicCache(config=model.config), DynamicCache(config=model.config)
    model.model(input_ids=torch.tensor([ids], device=model.device), past_key_values=first, use_cache=True)
    for number, layer in enumerate(first.layers):
        every.update(layer.keys.expand(rows, -1, -1, -1), layer.values.expand(rows, -1, -1, -1), number)
    return every


def _same_beginning(told: Sequence[Told]) -> int:
    """Return with how many tokens all examples begin."""
    columns = enumerate(zip(*(one.ids for one in told), strict=False))
    return next((at for at, column in columns if len({*column}) > 1), 0)


def main(
    examples: Annotated[Path, typer.Option("--train", help="Examples, made by lab.training.passages.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights and the log.")],
    model: Annotated[str, typer.Option(help="The language model: a name that `polyqa model` lists, or a file.")] = "",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 1,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 2e-4,
    start: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Weights from which to go on, a lora.gguf.")
    ] = None,
    mean: Annotated[bool, typer.Option("--mean", help="Write the mean of what was trained and --start.")] = False,
    below: Annotated[int, typer.Option(help="Layers below this one stay as they are.")] = 0,
    minutes: Annotated[float, typer.Option(help="The longest it may take.")] = math.inf,
    longest: Annotated[int, typer.Option(help="Tokens of an example; longer ones are left out.")] = 640,
    tokens: Annotated[int, typer.Option(help="Tokens of a step, about.")] = 10_000,
    seed: Seed = 0,
) -> None:
    """Train a reader of passages."""
    if mean and start is None:
        raise PolyqaError("--mean is of two weights: name those from which to go on with --start.")
    torch.manual_seed(seed)
    path, read = model_file(model), read_rows(examples, Read, "examples", "lab.training.passages")
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    told = [one for example in read if len((one := Told(tokenizer, example)).ids) <= longest]
    out.mkdir(parents=True, exist_ok=True)
    device, dtype = ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)
    trained = load_gguf(path, device, dtype)
    added = add_lora(trained, rank=_RANK, alpha=_ALPHA)
    if start is not None:
        read_lora(added, start)
    trained.model.layers[:below].requires_grad_(False)
    chance, shared = random.Random(seed), _same_beginning(told) if start else 0
    steps = (batch for _ in range(epochs) for batch in batches(told, chance, tokens))
    losses = ((loss_of(trained, batch, shared), len(batch)) for batch in steps)
    fit(trained, losses, epochs * len(told), out / LOG, rate, minutes)
    if mean and start is not None:  # without --start it has been refused
        read_lora(added, start, share=0.5)
    write_lora(added, _ALPHA, out / "lora.gguf", "polyqa read-passage")
    draw_curve(out / LOG, out / "curve.svg", "Reader of passages")


if __name__ == "__main__":
    run_command(lambda: typer.run(main))
