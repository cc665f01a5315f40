"""The training loop that reader and writer share: AdamW, warmup and linear decay, resumable after a kill."""

import hashlib
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import torch
import typer

from lab.results import tracked
from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically

LOG = "training.jsonl"
STATE = "training_state.pt"
Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Schedule:
    """How a model's weights are moved: the rate rises from 0 over the warmup and falls to 0 from there, linearly."""

    epochs: Annotated[int, typer.Option(help="Passes over the data.")] = 2
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 2e-4
    warmup: Annotated[float, typer.Option(help="Share of the run in which the rate rises.")] = 0.06
    decay: Annotated[float, typer.Option(help="AdamW's weight decay, not on biases and layer norms.")] = 0.01
    clip: Annotated[float, typer.Option(help="Longest gradient.")] = 1.0
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 0
    bfloat16: Annotated[bool, typer.Option(help="Multiply in bfloat16; weights stay float32.")] = True

    def rate_at(self, progress: float) -> float:
        """Return the learning rate at a share of the run in [0, 1]."""
        rising = progress / self.warmup if self.warmup else 1.0
        return self.rate * max(0.0, min(rising, (1 - progress) / (1 - self.warmup)))


def train(
    model: Any,
    epoch_batches: Callable[[random.Random], Sequence[Batch]],
    loss_of: Callable[[Batch], Any],
    schedule: Schedule,
    folder: Path,
    *,
    identity: Any = None,
) -> None:
    """Train a model in place; a run that was killed goes on from its last whole epoch.

    Parameters
    ----------
    epoch_batches
        The batches of an epoch, drawn with what is given.
    loss_of
        The loss of a batch, a tensor.
    folder
        Takes the state (``training_state.pt``) and the log (``training.jsonl``) after each epoch.
    identity
        What data and settings these are, as JSON data; a state of another run is refused.

    Raises
    ------
    PolyqaError
        If the folder holds the state of a run with other data or settings.
    """
    torch.manual_seed(schedule.seed)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    groups = [
        {"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": schedule.decay},
        {"params": [weight for weight in weights if weight.dim() <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=schedule.rate, fused=True)
    key = hashlib.sha256(json.dumps([identity, asdict(schedule)]).encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    log = _resumed(folder / STATE, model, optimizer, key) if (folder / STATE).is_file() else []
    device, began = next(model.parameters()).device.type, time.monotonic()
    for epoch in range(log[-1]["epoch"] + 1 if log else 0, schedule.epochs):
        batches = epoch_batches(random.Random(f"{schedule.seed} {epoch}"))
        model.train()
        for step, batch in enumerate(tracked(batches, f"epoch {epoch + 1} of {schedule.epochs}")):
            rate = schedule.rate_at((epoch + step / len(batches)) / schedule.epochs)
            for group in optimizer.param_groups:
                group["lr"] = rate
            with torch.autocast(device, torch.bfloat16, enabled=schedule.bfloat16):
                loss = loss_of(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), schedule.clip)
            optimizer.step()
            optimizer.zero_grad()
            seconds = round(time.monotonic() - began, 1)
            log.append({"epoch": epoch, "step": step, "loss": loss.item(), "rate": rate, "seconds": seconds})
        state = {"identity": key, "log": log, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state | {"random": torch.get_rng_state()}, folder / f".{STATE}")
        (folder / f".{STATE}").replace(folder / STATE)  # a process that dies leaves the old state
        write_atomically(folder / LOG, "".join(f"{json.dumps(row)}\n" for row in log))
    model.eval()


def _resumed(path: Path, model: Any, optimizer: Any, key: str) -> list[dict[str, Any]]:
    """Put a run back to where its state was kept; return its log so far."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["identity"] != key:
        raise PolyqaError(
            f"{path} is of a run with other data or settings. Give another --out, or delete the file to start again."
        )
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    log: list[dict[str, Any]] = state["log"]
    return log
