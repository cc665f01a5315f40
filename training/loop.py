"""The training loop that reader and ColBERT share: AdamW, warmup and linear decay, resumable."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from .checkpointing import Position, load_state, save_state

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Recipe:
    """How a model is trained.

    Attributes
    ----------
    epochs
        Passes over the data.
    peak
        Highest learning rate.
    warmup
        Share of the run over which the rate rises from 0; from there it falls to 0, both linearly.
    decay
        AdamW's weight decay (not on biases and layer norms).
    clip
        Longest gradient.
    seed
        For everything that is drawn.
    bfloat16
        Whether matrices are multiplied in bfloat16 (weights stay float32).
    """

    epochs: int = 3
    peak: float = 2e-4
    warmup: float = 0.06
    decay: float = 0.01
    clip: float = 1.0
    seed: int = 0
    bfloat16: bool = True

    def rate(self, progress: float) -> float:
        """Return the learning rate at a share of the run in [0, 1]."""
        rising = progress / self.warmup if self.warmup else 1.0
        return self.peak * max(0.0, min(rising, (1 - progress) / (1 - self.warmup)))


def train(
    model: Any,
    epoch_batches: Callable[[int], Sequence[Batch]],
    loss_of: Callable[[Batch], Any],
    recipe: Recipe,
    folder: Path,
    *,
    identity: str = "",
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
        Takes ``training_state.pt`` and the log, ``polyqa.training.jsonl``.
    identity
        What data and settings these are; a state of another run is refused.
    save_every, log_every
        Steps between checkpoints, and between lines of the log.
    """
    import torch

    torch.manual_seed(recipe.seed)
    optimizer = torch.optim.AdamW(_groups(model, recipe.decay), lr=recipe.peak, fused=True)
    key = json.dumps([identity, asdict(recipe)])
    position = load_state(folder, model, optimizer, key) or Position()
    log = _Log(folder / "polyqa.training.jsonl", position.seen)
    device = next(model.parameters()).device.type
    losses: list[float] = []
    with _bar() as bar:
        for epoch in range(position.epoch, recipe.epochs):
            batches = epoch_batches(epoch)
            model.train()
            first = position.step if epoch == position.epoch else 0
            for step in range(first, len(batches)):
                rate = recipe.rate((epoch + step / len(batches)) / recipe.epochs)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                with torch.autocast(device, torch.bfloat16, enabled=recipe.bfloat16):
                    loss = loss_of(batches[step])
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
                optimizer.step()
                optimizer.zero_grad()
                losses.append(float(loss.detach()))
                position = Position(epoch, step + 1, position.seen + 1)
                if position.seen % log_every == 0:
                    log.write(
                        position.seen,
                        epoch=epoch,
                        step=step + 1,
                        of=len(batches),
                        loss=sum(losses) / len(losses),
                        rate=rate,
                    )
                    losses.clear()
                if position.seen % save_every == 0:
                    save_state(folder, model, optimizer, position, key)
                bar(f"epoch {epoch + 1} of {recipe.epochs}", step + 1, len(batches))
            position = Position(epoch + 1, 0, position.seen)
            save_state(folder, model, optimizer, position, key)
    model.eval()


def _groups(model: Any, decay: float) -> list[dict[str, Any]]:
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return [
        {"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": decay},
        {"params": [weight for weight in weights if weight.dim() <= 1], "weight_decay": 0.0},
    ]


class _Log:
    """JSON lines; on resuming, lines past the checkpoint are dropped, as those steps are done again."""

    def __init__(self, path: Path, seen: int) -> None:
        self._path = path
        self._started = time.monotonic()
        path.parent.mkdir(parents=True, exist_ok=True)
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


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[str, int, int], None]]:
    from rich.progress import Progress

    with Progress() as progress:
        tasks: dict[str, Any] = {}

        def advance(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(name, total=total)
            progress.update(tasks[name], completed=done)

        yield advance
