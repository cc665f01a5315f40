"""What the training commands share: options, the end of a training run, and how a user's mistake is told."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically

from .card import draw_curve
from .loop import LOG

BatchSize = Annotated[int, typer.Option(min=1, help="Windows of the reader, or queries of ColBERT, per step.")]
BFloat16 = Annotated[bool, typer.Option(help="Multiply in bfloat16.")]
Calibrate = Annotated[
    Path | None, typer.Option(help="SQuAD 2.0 file to choose the null threshold on; its articles are not trained on.")
]
Calibration = Annotated[float, typer.Option(help="Share of the questions that the null threshold is chosen on.")]
Dropout = Annotated[float, typer.Option(help="Share of hidden features that is dropped.")]
Epochs = Annotated[int, typer.Option(help="Passes over the data.")]
EvalFiles = Annotated[list[Path] | None, typer.Option("--eval", help="SQuAD 2.0 file to report on; repeat for more.")]
FrozenLayers = Annotated[int, typer.Option(help="Lower layers, with the embeddings, that are left as they are.")]
HeldOut = Annotated[list[Path], typer.Option(help="Questions to keep out of training; repeat for more.")]
Init = Annotated[str, typer.Option(help="What to start from: the embedded encoder, a folder or a hub name.")]
Most = Annotated[int | None, typer.Option(help="At most so many questions, drawn.")]
Rate = Annotated[float, typer.Option(help="Highest learning rate.")]
SaveEvery = Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")]
Seed = Annotated[int, typer.Option(help="For everything that is drawn.")]
SquadOut = Annotated[Path, typer.Option(help="SQuAD 2.0 file to write.")]
Threads = Annotated[int | None, typer.Option(help="CPU threads; by default PyTorch's own choice.")]


def run_command(command: Callable[[], object]) -> None:
    """Run a command line; a user's mistake is one line and exit code 2."""
    try:
        command()
    except PolyqaError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


def use_threads(threads: int | None) -> None:
    """Set how many threads PyTorch takes; ``None`` leaves it its choice."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)


def write_report(report: dict[str, Any], out: Path) -> None:
    """Write ``report.json``."""
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / "report.json", json.dumps(report, indent=2) + "\n")


def command_line(module: str) -> list[str]:
    """Return the command that is running, for a model's card."""
    return ["python", "-m", f"lab.training.{module}", *sys.argv[1:]]


def finish(report: dict[str, Any], out: Path, card: str, title: str) -> None:
    """Write card and curve beside what is shipped, and show the report."""
    write_atomically(out / "shipped" / "README.md", card)
    draw_curve(out / LOG, out / "shipped" / "curve.svg", title)
    typer.echo(json.dumps(report, indent=2))
