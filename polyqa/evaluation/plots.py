"""Figures as pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from polyqa.base.counts import counted
from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs

from .columns import COLUMNS
from .published import Published
from .runs import Run, same_questions, summarize
from .statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def plot_runs(
    runs: Sequence[Run],
    path: str | Path,
    *,
    metric: str = "dr",
    published: Sequence[Published] = (),
    mixed: bool = False,
) -> Path:
    """Draw one metric of runs and published rows as horizontal bars, best on top.

    Parameters
    ----------
    runs
        Drawn with their 95% intervals.
    path
        ``.png``, ``.svg`` or ``.pdf``.
    metric
        A name of `columns.COLUMNS`.
    published
        Drawn lighter, those that have the metric.
    mixed
        Draw runs of different questions side by side, although longer bars then need not be better programs.

    Raises
    ------
    PolyqaError
        If the format or the metric is unknown, no run has the metric, or runs are of different questions.
    """
    check_format(path)
    from matplotlib.figure import Figure

    if metric not in COLUMNS:
        raise PolyqaError(f"There is no metric {metric!r}; there are {', '.join(COLUMNS)}.")
    values = [(run, summarize(run.records).get(metric)) for run in runs]
    ours = [(run, value) for run, value in values if value is not None]
    if not ours:
        raise PolyqaError(f"No run has the metric {metric!r}.")
    if not mixed:
        require_same_questions([run for run, _ in ours])
    bars = [(f"{run.name} (n={value.n})", value.value, *_arms(value), "#2f6f9f") for run, value in ours]
    bars += [
        (f"{one.system}, {one.lm}", one.metrics[metric], 0.0, 0.0, "#c9c9c9")
        for one in published
        if metric in one.metrics
    ]
    bars.sort(key=lambda bar: bar[1], reverse=COLUMNS[metric].higher_is_better is False)

    figure = Figure(figsize=(8, 0.8 + 0.36 * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    axes.barh(range(len(bars)), [bar[1] for bar in bars], color=[bar[4] for bar in bars])
    for at, (_, value, below, above, _colour) in enumerate(bars):
        if below or above:
            axes.errorbar(value, at, xerr=[[below], [above]], color="black", capsize=3, linewidth=1)
        axes.annotate(f"{value:.1f}", (value + above, at), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(bars)), [bar[0] for bar in bars])
    axes.set_xlabel(COLUMNS[metric].label)
    axes.margins(x=0.12, y=0.02)
    axes.spines[["top", "right"]].set_visible(False)
    return save_figure(figure, path)


def require_same_questions(runs: Sequence[Run]) -> None:
    """Check that runs may share a picture.

    Raises
    ------
    PolyqaError
        If they are of different questions.
    """
    for run in runs[1:]:
        if not same_questions(runs[0], run):
            raise PolyqaError(
                f"{runs[0].name} and {run.name} are of different questions ({_questions_of(runs[0])}; "
                f"{_questions_of(run)}), so they do not compare; draw a picture for each set, or say "
                "--different-questions."
            )


def _questions_of(run: Run) -> str:
    return run.settings.questions if run.settings else counted(len(run.records), "question")


def check_format(path: str | Path) -> None:
    """Check, before anything is computed, that a plot can be written to a file of this name.

    Raises
    ------
    PolyqaError
        If its ending is none of `FORMATS`, or matplotlib is not installed.
    """
    if Path(path).suffix.lower() not in FORMATS:
        raise PolyqaError(f"{path}: a plot is written as {', '.join(FORMATS)}.")
    needs("matplotlib", extra="plots", for_="A plot")


def save_figure(figure: "Figure", path: str | Path) -> Path:
    """Write a figure to a file, which is the old or the whole new one; return its path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.stem}.draft{path.suffix}")
    figure.savefig(draft, dpi=150)
    draft.replace(path)
    return path


def _arms(value: Estimate) -> tuple[float, float]:
    """Return how far the interval reaches below and above; 0 if there is none (NaN loses against 0 here)."""
    return max(0.0, value.value - value.low), max(0.0, value.high - value.value)
