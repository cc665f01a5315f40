"""Trains what is added to the local model for reading passages: ``python -m lab.training.train_passages --help``.

A GPU does it in eight minutes (H100, 31,000 tokens a second); a machine without one would take days.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import torch.nn.functional as F
import typer
from torch import Tensor
from transformers import AutoTokenizer

from lab.results import Seed
from polyqa.base.values import Passage
from polyqa.lm.adapter import LeanAdapter
from polyqa.models.gguf import model_file
from polyqa.programs.passages_read import NONE, shown
from polyqa.signatures import ReadPassage

from .commands import draw_curve, run_command
from .loop import LOG
from .lora import add_lora, fit, load_gguf, write_lora
from .passages import Read
from .rows import read_rows

_RANK, _ALPHA = 8, 16.0
_TOKENS = 10_000  # of a step: about 40 examples
_LONGEST = 640  # tokens of an example; longer ones are left out
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


def batches(told: Sequence[Told], chance: random.Random) -> Iterator[list[Told]]:
    """Yield all examples in an order that is drawn, about as long ones together."""
    order = chance.sample(told, len(told))
    made: list[list[Told]] = []
    for first in range(0, len(order), _POOL):
        made.append([])
        for one in sorted(order[first : first + _POOL], key=lambda one: len(one.ids)):
            if made[-1] and (len(made[-1]) + 1) * len(one.ids) > _TOKENS:
                made.append([])
            made[-1].append(one)
    yield from chance.sample(made, len(made))


def loss_of(model: Any, batch: Sequence[Told]) -> Tensor:
    """Return the cross entropy of what is to be written, each token with its example's weight."""
    longest = max(len(one.ids) for one in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)  # nothing looks ahead, so padding needs no mask
    places: list[tuple[int, int, float]] = []
    for row, one in enumerate(batch):
        ids[row, : len(one.ids)] = torch.tensor(one.ids)
        places += [(row, place, one.weight) for place in range(one.begin - 1, len(one.ids) - 1)]
    rows, at = (torch.tensor(part) for part in list(zip(*places, strict=True))[:2])
    weights = torch.tensor([weight for *_, weight in places], device=model.device)
    states = model.model(input_ids=ids.to(model.device), use_cache=False).last_hidden_state[rows, at]
    losses = F.cross_entropy(
        F.linear(states, model.lm_head.weight).float(), ids[rows, at + 1].to(model.device), reduction="none"
    )
    return (losses * weights).sum() / weights.sum()


def main(
    examples: Annotated[Path, typer.Option("--train", help="Examples, made by lab.training.passages.")],
    out: Annotated[Path, typer.Option(help="Folder for the weights and the log.")],
    model: Annotated[str, typer.Option(help="The language model: a name of polyqa model list, or a file.")] = "",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 1,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 2e-4,
    seed: Seed = 0,
) -> None:
    """Train a reader of passages."""
    torch.manual_seed(seed)
    path, read = model_file(model), read_rows(examples, Read, "examples", "lab.training.passages")
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    told = [one for example in read if len((one := Told(tokenizer, example)).ids) <= _LONGEST]
    out.mkdir(parents=True, exist_ok=True)
    device, dtype = ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)
    trained = load_gguf(path, device, dtype)
    added = add_lora(trained, rank=_RANK, alpha=_ALPHA)
    chance = random.Random(seed)
    steps = (batch for _ in range(epochs) for batch in batches(told, chance))
    fit(trained, ((loss_of(trained, batch), len(batch)) for batch in steps), epochs * len(told), out / LOG, rate)
    write_lora(added, _ALPHA, out / "lora.gguf", "polyqa read-passage")
    draw_curve(out / LOG, out / "curve.svg", "Reader of passages")


if __name__ == "__main__":
    run_command(lambda: typer.run(main))
