"""The training loop that reader and writer share: AdamW, warmup and linear decay, resumable after a kill."""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.progress import track

from polyqa.base.errors import PolyqaError

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


@dataclass(frozen=True)
class Position:
    """Where a run stands: ``step`` batches of epoch ``epoch`` are done, ``seen`` in all."""

    epoch: int = 0
    step: int = 0
    seen: int = 0


def train(
    model: Any,
    epoch_batches: Callable[[int], Sequence[Batch]],
    loss_of: Callable[[Batch], Any],
    schedule: Schedule,
    folder: Path,
    *,
    identity: Any = None,
    save_every: int = 200,
    log_every: int = 20,
) -> None:
    """Train a model in place; a run that was killed goes on from its last checkpoint.

    Parameters
    ----------
    epoch_batches
        The batches of an epoch, a function of its number alone: a resumed run asks again.
    loss_of
        The loss of a batch, a tensor.
    folder
        Takes the state (``training_state.pt``) and the log (``training.jsonl``).
    identity
        What data and settings these are, as JSON data; a state of another run is refused.
    save_every, log_every
        Steps between checkpoints, and between lines of the log.

    Raises
    ------
    PolyqaError
        If the folder holds the state of a run with other data or settings.
    """
    import torch

    torch.manual_seed(schedule.seed)
    optimizer = torch.optim.AdamW(_groups(model, schedule.decay), lr=schedule.rate, fused=True)
    key = hashlib.sha256(json.dumps([identity, asdict(schedule)]).encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    position = _load_state(folder, model, optimizer, key) or Position()
    log = _Log(folder / LOG, position.seen)
    device = next(model.parameters()).device.type
    losses: list[float] = []
    for epoch in range(position.epoch, schedule.epochs):
        batches = epoch_batches(epoch)
        model.train()
        first = position.step if epoch == position.epoch else 0
        shown = f"epoch {epoch + 1} of {schedule.epochs}"
        for step in track(range(first, len(batches)), shown, total=len(batches), completed=first):
            rate = schedule.rate_at((epoch + step / len(batches)) / schedule.epochs)
            for group in optimizer.param_groups:
                group["lr"] = rate
            with torch.autocast(device, torch.bfloat16, enabled=schedule.bfloat16):
                loss = loss_of(batches[step])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), schedule.clip)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(float(loss.detach()))
            position = Position(epoch, step + 1, position.seen + 1)
            last = epoch + 1 == schedule.epochs and step + 1 == len(batches)
            if position.seen % log_every == 0 or last:
                mean = sum(losses) / len(losses)
                log.write(position.seen, epoch=epoch, step=step + 1, of=len(batches), loss=mean, rate=rate)
                losses.clear()
            if position.seen % save_every == 0:
                _save_state(folder, model, optimizer, position, key)
        position = Position(epoch + 1, 0, position.seen)
        _save_state(folder, model, optimizer, position, key)
    model.eval()


def _groups(model: Any, decay: float) -> list[dict[str, Any]]:
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return [
        {"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": decay},
        {"params": [weight for weight in weights if weight.dim() <= 1], "weight_decay": 0.0},
    ]


def _save_state(folder: Path, model: Any, optimizer: Any, position: Position, identity: str) -> None:
    """Write model, optimizer, random numbers and position; a process that dies leaves the old state."""
    import torch

    work = folder / f".{STATE}.{os.getpid()}"
    state = {
        "identity": identity,
        "position": [position.epoch, position.step, position.seen],
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    try:
        torch.save(state, work)
        work.replace(folder / STATE)
    finally:
        work.unlink(missing_ok=True)


def _load_state(folder: Path, model: Any, optimizer: Any, identity: str) -> Position | None:
    """Put a run back to where `_save_state` left it; return ``None`` if there is no state."""
    import torch

    path = folder / STATE
    if not path.is_file():
        return None
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["identity"] != identity:
        raise PolyqaError(
            f"{path} is of a run with other data or settings. Give another --out, or delete the file to start again."
        )
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    if torch.cuda.is_available() and state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
    return Position(*state["position"])


class _Log:
    """JSON lines; on resuming, lines past the checkpoint are dropped, as those steps are done again."""

    def __init__(self, path: Path, seen: int) -> None:
        self._path = path
        self._started = time.monotonic()
        kept: list[str] = []
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):  # the last line may be cut off by a kill
                    if json.loads(line)["seen"] <= seen:
                        kept.append(line)
        path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")

    def write(self, seen: int, **values: float) -> None:
        line = {"seen": seen, **values, "seconds": round(time.monotonic() - self._started, 1)}
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
