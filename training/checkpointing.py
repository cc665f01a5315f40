"""The state of a training run on disk: whole or absent, and bound to what it was trained with."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import TrainingError

_NAME = "training_state.pt"


@dataclass(frozen=True)
class Position:
    """Where a run stands: ``step`` batches of epoch ``epoch`` are done, ``seen`` in all."""

    epoch: int = 0
    step: int = 0
    seen: int = 0


def save_state(folder: Path, model: Any, optimizer: Any, position: Position, identity: str) -> None:
    """Write model, optimizer, random numbers and position; a process that dies leaves the old state."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    work = folder / f".{_NAME}.{os.getpid()}"
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
        work.replace(folder / _NAME)
    finally:
        work.unlink(missing_ok=True)


def load_state(folder: Path, model: Any, optimizer: Any, identity: str) -> Position | None:
    """Put a run back to where `save_state` left it; return ``None`` if there is no state.

    Raises
    ------
    TrainingError
        If the state is of a run with other data or settings.
    """
    import torch

    path = folder / _NAME
    if not path.is_file():
        return None
    state = torch.load(path, map_location="cpu", weights_only=True)
    if state["identity"] != identity:
        raise TrainingError(
            f"{path} is of a run with other data or settings. Give another --out, or delete the file to start anew."
        )
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    if torch.cuda.is_available() and state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
    return Position(*state["position"])
