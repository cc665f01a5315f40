"""Compilations as pictures: scores against calls."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from polyqa.optimizers.trials import Trial

from .plots import BLUE, GREY, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = {"dev": "o", "train": "s"}


def inline_svg(figure: "Figure") -> Markup:
    """Return a figure as SVG that stands in a page: the same bytes each time, its text as text."""
    from matplotlib import rc_context

    image = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "polyqa"}):
        figure.savefig(image, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return Markup(image.getvalue().partition("<svg")[2].join(("<svg", "")))


def draw_trials(scored: Sequence[Trial], metric: str) -> "Figure":
    """Return the score of each candidate, of which there is one at least, against the calls until it was known."""
    figure, axes = new_figure(8, 4)
    for on, mark in _MARKS.items():
        of_set = [trial for trial in scored if trial.on == on]
        most = max((trial.n for trial in of_set), default=0)
        for kept in (False, True):
            points = [(trial.calls, 100 * (trial.score or 0.0), trial.n) for trial in of_set if trial.kept is kept]
            if not points:
                continue
            if kept:
                calls, scores, _ = zip(*points, strict=True)
                axes.plot(calls, scores, "--", color=BLUE, linewidth=1, zorder=1)
            face, edge = (BLUE, BLUE) if kept else ("white", GREY)
            axes.plot([], [], mark, color=face, markeredgecolor=edge, label=f"{on}, {'kept' if kept else 'dropped'}")
            for x, y, n in points:
                # What was scored on few questions is paler: its score says less, and does not compare with the others'.
                axes.plot(x, y, mark, color=face, markeredgecolor=edge, alpha=1.0 if n == most else 0.4, zorder=2)
    for trial in scored:
        if trial.kept:
            place = (trial.calls, 100 * (trial.score or 0.0))
            axes.annotate(str(trial.number), place, xytext=(5, 5), textcoords="offset points", fontsize="small")
    middle = sum(axes.get_ylim()) / 2
    span = max(axes.get_ylim()[1] - middle, 2.0)
    axes.set_ylim(middle - 1.1 * span, middle + 1.1 * span)
    axes.set_xlim(left=0)
    axes.set_xlabel("calls of language models")
    axes.set_ylabel(f"{metric}, mean per question")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    return figure
