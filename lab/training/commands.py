"""What the training commands share: the command line of a trainer, its report, and its curve."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import Parameter, Signature
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import torch
import typer

from lab.results import command_line
from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically

from .loop import LOG


def run_command(command: Callable[[], object]) -> None:
    """Run a command line; a user's mistake is one line and exit code 2."""
    try:
        command()
    except PolyqaError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


def run_trainer(run: Callable[..., dict[str, Any]], title: str, *settings: Any) -> None:
    """Be the command line of a trainer.

    Parameters
    ----------
    run
        Trains, given settings and the folder ``out``; returns the report.
    title
        Of the curve.
    settings
        Instances of dataclasses. Each of their fields is an option, annotated with `typer.Option`; their values are
        the defaults.
    """
    kinds = list(map(type, settings))
    hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind, include_extras=True).items()}
    defaults = {field.name: getattr(one, field.name) for one in settings for field in fields(one)} | {"threads": None}
    hints["out"] = Annotated[Path, typer.Option(help="Folder for state, log, report, card and model.")]
    hints["threads"] = Annotated[int | None, typer.Option(help="CPU threads; by default PyTorch's own choice.")]

    def command(out: Path, threads: int | None, **given: Any) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        report = run(*(kind(**{field.name: given[field.name] for field in fields(kind)}) for kind in kinds), out)
        write_atomically(out / "shipped" / "README.md", model_card(title, report))
        draw_curve(out / LOG, out / "shipped" / "curve.svg", title)
        typer.echo(json.dumps(report, indent=2))

    command.__doc__ = f"Train a {title.lower()}; the same command again goes on after a kill."
    command.__annotations__ = hints
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults.get(name, Parameter.empty), annotation=hint)
            for name, hint in hints.items()
        ]
    )
    run_command(lambda: typer.run(command))


def write_report(report: Mapping[str, Any], out: Path) -> None:
    """Write ``report.json``."""
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / "report.json", json.dumps(report, indent=2) + "\n")


def model_card(title: str, report: Mapping[str, Any]) -> str:
    """Return the card of a trained model: its report, and how to make it again; of folders only the last name."""
    words = " ".join(Path(word).name if "/" in word else word for word in shlex.split(command_line()))
    return (
        f"# {title}\n\nMade again by:\n\n```sh\n{words}\n```\n\n```json\n{json.dumps(report, indent=2)}\n```\n\n"
        "![training curve](curve.svg)\n\nLicence of the encoder: Apache-2.0. Training text: SQuAD, ASQA, AmbigNQ and "
        "Wikipedia, CC BY-SA; none of it is in the weights' folder.\n"
    )


def draw_curve(log: Path, target: Path, title: str) -> None:
    """Draw loss, as it is and smoothed, and learning rate over the steps of a run's log."""
    from polyqa.reports.plots import BLUE, ORANGE, new_figure, save_figure

    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    losses = [row["loss"] for row in rows]
    figure, axes = new_figure(6.4, 3.2)
    axes.plot(losses, color=BLUE, alpha=0.35, linewidth=1)
    axes.plot(list(accumulate(losses, lambda mean, loss: 0.9 * mean + 0.1 * loss)), color=BLUE, linewidth=2)
    axes.set(xlabel="step", ylabel="training loss", title=title)
    rate = axes.twinx()
    rate.plot([row["rate"] for row in rows], color=ORANGE, linewidth=1)
    rate.set(ylabel="learning rate", ylim=(0, None))
    save_figure(figure, target)
