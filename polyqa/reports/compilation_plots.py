"""Compilations as pictures: scores against calls."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from polyqa.base.errors import PolyqaError
from polyqa.optimizers.trials import Trial

from .plots import BLUE, GREY, check_format, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = {"dev": ("o", "dev"), "train": ("s", "train"), "held-out": ("^", "held out")}


def inline_svg(figure: "Figure") -> Markup:
    """Return a figure as SVG that stands in a page: the same bytes each time, its text as text."""
    from matplotlib import rc_context

    image = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "polyqa"}):
        figure.savefig(image, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return Markup(image.getvalue().partition("<svg")[2].join(("<svg", "")))


def draw_bars(rows: Sequence[tuple[str, float, float | None, float | None]]) -> "Figure":
    """Return values with their intervals, one below the other, on one axis.

    Parameters
    ----------
    rows
        Name, value, and the ends of the interval, if it has one.
    """
    figure, axes = new_figure(8, 0.6 + 0.35 * len(rows))
    for at, (_, value, low, high) in enumerate(rows):
        colour = BLUE if at % 2 else GREY  # uncompiled and compiled take turns
        if low is not None and high is not None:
            axes.plot((low, high), (at, at), color=colour, linewidth=2)
        axes.plot(value, at, "o", color=colour)
        axes.annotate(f"{value:.1f}", (value, at), xytext=(0, 6), textcoords="offset points", ha="center")
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.invert_yaxis()
    axes.margins(x=0.08, y=0.45)
    return figure


def plot_trials(trials: Sequence[Trial], path: str | Path, *, metric: str = "score") -> Path:
    """Draw the candidates of a compilation to a file, see `draw_trials`; those without a score are left out.

    Parameters
    ----------
    path
        ``.png``, ``.svg`` or ``.pdf``.

    Raises
    ------
    PolyqaError
        If the format is unknown, or nothing was scored.
    """
    check_format(path)
    scored = [trial for trial in trials if trial.score is not None]
    if not scored:
        raise PolyqaError("Nothing can be drawn: no candidate of this compilation was scored.")
    return save_figure(draw_trials(scored, metric), path)


def draw_trials(scored: Sequence[Trial], metric: str) -> "Figure":
    """Return the score of each candidate against the calls until it was known.

    Parameters
    ----------
    scored
        Candidates with a score, at least one.
    metric
        What the scores are, for people.
    """
    figure, axes = new_figure(8, 4)
    for on, (mark, label) in _MARKS.items():
        of_set = [trial for trial in scored if trial.on == on]
        most = max((trial.n for trial in of_set), default=0)
        for kept in (False, True):
            points = [(trial.calls, _percent(trial), trial.n) for trial in of_set if trial.kept is kept]
            if not points:
                continue
            if kept:
                calls, scores, _ = zip(*points, strict=True)
                axes.plot(calls, scores, "--", color=BLUE, linewidth=1, zorder=1)
            face, edge = (BLUE, BLUE) if kept else ("white", GREY)
            axes.plot([], [], mark, color=face, markeredgecolor=edge, label=f"{label}, {'kept' if kept else 'dropped'}")
            for x, y, n in points:
                # What was scored on few questions is paler: its score says less, and does not compare with the others'.
                axes.plot(x, y, mark, color=face, markeredgecolor=edge, alpha=1.0 if n == most else 0.4, zorder=2)
    for trial in scored:
        if trial.kept:
            place = (trial.calls, _percent(trial))
            axes.annotate(str(trial.number), place, xytext=(5, 5), textcoords="offset points", fontsize="small")
    middle = sum(axes.get_ylim()) / 2
    span = max(axes.get_ylim()[1] - middle, 2.0)
    axes.set_ylim(middle - 1.1 * span, middle + 1.1 * span)
    axes.set_xlim(left=0)
    axes.set_xlabel("calls of language models")
    axes.set_ylabel(f"{metric}, mean per question")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    return figure


def _percent(trial: Trial) -> float:
    return 100 * (trial.score or 0.0)
