"""What the training commands share: options, the command line of a trainer, and the card of a trained model."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import Parameter, Signature
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically

from .loop import LOG

Calibrate = Annotated[
    Path | None, typer.Option(help="SQuAD 2.0 file to choose the null threshold on; its articles are not trained on.")
]
Calibration = Annotated[float, typer.Option(help="Share of the questions that the null threshold is chosen on.")]
EvalFiles = Annotated[list[Path], typer.Option("--eval", help="SQuAD 2.0 file to report on; repeat for more.")]
HeldOut = Annotated[list[Path], typer.Option(help="Questions to keep out of training; repeat for more.")]
Most = Annotated[int | None, typer.Option(help="At most so many questions, drawn.")]
Seed = Annotated[int, typer.Option(help="For everything that is drawn.")]
SquadOut = Annotated[Path, typer.Option(help="SQuAD 2.0 file to write.")]
_LICENCE = (
    "Licence of the encoder: Apache-2.0. Training text: SQuAD, ASQA, AmbigNQ and Wikipedia, CC BY-SA; none of it is in "
    "the weights' folder."
)


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
        Trains, given settings, the folder ``out`` and ``save_every``; returns the report.
    title
        Of the model's card.
    settings
        Instances of dataclasses. Each of their fields is an option, annotated with `typer.Option`; their values are
        the defaults.
    """
    kinds = list(map(type, settings))
    hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind, include_extras=True).items()}
    defaults = {field.name: getattr(one, field.name) for one in settings for field in fields(one)}
    hints["out"] = Annotated[Path, typer.Option(help="Folder for state, log, report, card and model.")]
    hints["save_every"] = Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")]
    hints["threads"] = Annotated[int | None, typer.Option(help="CPU threads; by default PyTorch's own choice.")]

    def command(out: Path, save_every: int, threads: int | None, **given: Any) -> None:
        import torch

        if threads is not None:
            torch.set_num_threads(threads)
        parts = [kind(**{field.name: given[field.name] for field in fields(kind)}) for kind in kinds]
        report = run(*parts, out, save_every=save_every)
        words = ["python", "-m", f"lab.training.{Path(sys.argv[0]).stem}", *sys.argv[1:]]
        write_atomically(out / "shipped" / "README.md", model_card(title, report, words))
        draw_curve(out / LOG, out / "shipped" / "curve.svg", title)
        typer.echo(json.dumps(report, indent=2))

    defaults |= {"save_every": 200, "threads": None}
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


def model_card(title: str, report: Mapping[str, Any], command: list[str]) -> str:
    """Return the card of a trained model: its figures, and how to make it again.

    Parameters
    ----------
    report
        With ``schedule``, ``settings`` and figures by what they are over.
    command
        Words of the command; of paths only the names are shown.
    """
    figures = {
        name: own for name, own in report.items() if isinstance(own, dict) and name not in ("schedule", "settings")
    }
    columns = list(dict.fromkeys(name for own in figures.values() for name in own))
    rows = [[name, *(f"{own[one]:.4g}" if one in own else "–" for one in columns)] for name, own in figures.items()]
    made = report["schedule"]
    words = " ".join(shlex.quote(Path(word).name if "/" in word else word) for word in command)
    lines = [
        f"# {title}",
        "",
        *(f"| {' | '.join(cells)} |" for cells in (["", *columns], ["---"] * (len(columns) + 1), *rows)),
        "",
        *(f"{name}: {value}." for name, value in report.items() if isinstance(value, int | float)),
        f"{made['epochs']} epochs, AdamW, peak learning rate {made['rate']:g}, warmup {made['warmup']:g}, seed "
        f"{made['seed']}. Made again by:",
        "",
        f"```sh\n{words}\n```",
        "",
        "![training curve](curve.svg)",
        "",
        _LICENCE,
    ]
    return "\n".join(lines) + "\n"


def draw_curve(log: Path, target: Path, title: str) -> None:
    """Draw loss and learning rate over the steps of a run's log as SVG (about 30 KB)."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    steps, losses = [row["seen"] for row in rows], [row["loss"] for row in rows]
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(steps, losses, color="tab:blue", alpha=0.35, linewidth=1)
    smooth = list(accumulate(losses, lambda mean, loss: 0.9 * mean + 0.1 * loss))
    axes.plot(steps, smooth, color="tab:blue", linewidth=2)
    axes.set(xlabel="step", ylabel="training loss", title=title)
    rate = axes.twinx()
    rate.plot(steps, [row["rate"] for row in rows], color="tab:orange", linewidth=1)
    rate.set(ylabel="learning rate", ylim=(0, None))
    # Without a date and with fixed ids the same log gives the same file.
    with rc_context({"svg.hashsalt": "polyqa"}):
        figure.savefig(target, format="svg", metadata={"Date": None})
