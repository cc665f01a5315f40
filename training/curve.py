"""The picture of a training run for its model card."""

import json
import os
from pathlib import Path

from .errors import TrainingError


def draw_curve(log: Path, target: Path, title: str) -> None:
    """Draw loss and learning rate over the steps of a ``polyqa.training.jsonl`` as SVG (about 30 KB).

    Raises
    ------
    TrainingError
        If the log has no line.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []
    if not rows:
        raise TrainingError(f"{log} has no line to draw: train first, for at least as many steps as a line takes.")
    steps = [row["seen"] for row in rows]
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots()
    axes.plot(steps, [row["loss"] for row in rows], color="tab:blue", alpha=0.35, linewidth=1)
    axes.plot(steps, _smoothed([row["loss"] for row in rows]), color="tab:blue", linewidth=2)
    axes.set(xlabel="step", ylabel="training loss", title=title)
    rate = axes.twinx()
    rate.plot(steps, [row["rate"] for row in rows], color="tab:orange", linewidth=1)
    rate.set(ylabel="learning rate", ylim=(0, None))
    target.parent.mkdir(parents=True, exist_ok=True)
    work = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # Without a date and with fixed ids the same log gives the same file.
        with rc_context({"svg.hashsalt": "polyqa"}):
            figure.savefig(work, format="svg", metadata={"Date": None})
        work.replace(target)
    finally:
        work.unlink(missing_ok=True)


def _smoothed(values: list[float], keep: float = 0.9) -> list[float]:
    smooth: list[float] = []
    for value in values:
        smooth.append(value if not smooth else keep * smooth[-1] + (1 - keep) * value)
    return smooth
