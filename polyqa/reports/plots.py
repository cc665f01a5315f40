"""Runs as pictures: one metric of several, and what two of them differ in, question by question."""

import io
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.base.files import write_atomically
from polyqa.base.html import shortened
from polyqa.base.text import counted
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import HEADLINE, headline_of
from polyqa.evaluation.runs import Run, same_questions, summarize
from polyqa.evaluation.verdicts import question_values, won_and_lost

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
BLUE, ORANGE, GREY = "#2f6f9f", "#c8611b", "#9a9a9a"
"""Told apart by people who see red and green alike, and on grey paper."""


def check_format(path: str | Path) -> None:
    """Check, before anything is computed, that there is matplotlib, and that a file's ending is one of `FORMATS`."""
    needs("matplotlib", extra="plots", for_="A plot")
    if Path(path).suffix.lower() not in FORMATS:
        raise PolyqaError(f"{path}: a plot is written as {', '.join(FORMATS)}.")


def new_figure(width: float, height: float) -> tuple["Figure", "Axes"]:
    """Return a figure of a size in inches, with axes whose upper and right border are open."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save_figure(figure: "Figure", path: str | Path) -> Path:
    """Write a figure to a file, which is the old or the whole new one; return its path."""
    path = Path(path)
    image = io.BytesIO()
    figure.savefig(image, format=path.suffix[1:].lower(), dpi=150)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, image.getvalue())
    return path


def plot_runs(runs: Sequence[Run], path: str | Path, *, metric: str | None = None) -> Path:
    """Draw one metric of runs of the same questions as horizontal bars with their 95% intervals, best on top.

    Runs that lack the metric are left out, with a warning.

    Parameters
    ----------
    metric
        A column of `columns.COLUMNS`; by default the headline metric, see `headline_of`.

    Raises
    ------
    PolyqaError
        If the format is unknown, no run has the metric, or runs are of different questions.
    """
    check_format(path)
    values = [(run, summarize(run.records)) for run in runs]
    metric = metric or headline_of(name for _, summary in values for name in summary) or HEADLINE[0]
    ours = [(run, summary[metric]) for run, summary in values if metric in summary]
    if not ours:
        raise PolyqaError(f"No run has the metric {metric!r}.")
    if lacking := [run.name for run, summary in values if metric not in summary]:
        warnings.warn(f"{path} leaves out what has no {COLUMNS[metric].label}: {', '.join(lacking)}.", stacklevel=2)
    first = ours[0][0]
    for run, _ in ours[1:]:
        if not same_questions(first, run):
            raise PolyqaError(
                f"{first.name} and {run.name} are of different questions ({_questions_of(first)}; "
                f"{_questions_of(run)}), so their figures cannot be compared; draw a picture for each set."
            )
    ours.sort(key=lambda one: one[1].value, reverse=COLUMNS[metric].higher_is_better is False)
    figure, axes = new_figure(8, 0.8 + 0.36 * len(ours))
    axes.barh(range(len(ours)), [estimate.value for _, estimate in ours], color=BLUE)
    for at, (_, estimate) in enumerate(ours):
        value = estimate.value
        # How far the interval reaches below and above; 0 where it is NaN: there is none.
        below, above = max(0.0, value - estimate.low), max(0.0, estimate.high - value)
        if below or above:
            axes.errorbar(value, at, xerr=[[below], [above]], color="black", capsize=3, linewidth=1)
        axes.annotate(f"{value:.1f}", (value + above, at), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(ours)), [f"{run.name} (n={estimate.n})" for run, estimate in ours])
    axes.set_xlabel(COLUMNS[metric].label)
    axes.margins(x=0.12, y=0.02)
    return save_figure(figure, path)


def _questions_of(run: Run) -> str:
    return run.settings.questions if run.settings else counted(len(run.records), "question")


def plot_changes(a: Run, b: Run, path: str | Path, *, metric: str = "dr") -> Path:
    """Draw how each question's score changes from run ``a`` to run ``b``, paired by id: wins, ties and losses.

    Raises
    ------
    PolyqaError
        If the format or the metric is unknown, less of the metric is better, no question is in both, or one differs.
    """
    check_format(path)
    column = COLUMNS.get(metric)
    if column is None or column.higher_is_better is not True:
        known = ", ".join(name for name, column in COLUMNS.items() if column.higher_is_better)
        raise PolyqaError(f"Questions are won and lost by a metric of which more is better, not {metric!r}: {known}.")
    shared = len(_told(a, metric) & _told(b, metric))
    if not shared:
        raise PolyqaError(f"{a.name} and {b.name} have no question in common that has a value of {column.label}.")
    won, lost = won_and_lost(a, b, metric)
    ties = shared - len(won) - len(lost)
    gains = [change.difference for change in won] + [0.0] * ties + [change.difference for change in reversed(lost)]
    figure, axes = new_figure(8, 3.8)
    colours = [BLUE] * len(won) + [GREY] * ties + [ORANGE] * len(lost)
    axes.bar(range(len(gains)), gains, color=colours, width=0.9 if len(gains) < 80 else 1.0)
    axes.axhline(0, color="black", linewidth=0.8)
    bound = 1.25 * max(map(abs, gains)) or 1.0
    axes.set_ylim(-bound, bound)
    axes.set_xlim(-0.8, len(gains) - 0.2)
    for text, place, side, colour in (
        (f"{len(won)} won", 0.01, "left", BLUE),
        (f"{ties} drawn", 0.5, "center", "#5f5f5f"),
        (f"{len(lost)} lost", 0.99, "right", ORANGE),
    ):
        axes.text(place, 0.94, text, ha=side, va="center", color=colour, transform=axes.transAxes, weight="bold")
    axes.set_xticks([])
    axes.set_xlabel(counted(shared, "question") + ", the greatest gain first")
    axes.set_ylabel(f"{column.label}, {shortened(b.name, 32)}\nagainst {shortened(a.name, 32)}")
    axes.spines["bottom"].set_visible(False)
    return save_figure(figure, path)


def _told(run: Run, metric: str) -> set[str]:
    """Return the questions of which a run has a value."""
    values = question_values(run.records, metric)
    return {record.id for record, value in zip(run.records, values, strict=True) if math.isfinite(value)}
