"""Compilations as pictures: scores against calls, learning curves, and which demos a question is shown."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import dspy
import numpy as np
from markupsafe import Markup

from polyqa.base.errors import PolyqaError
from polyqa.base.html import shortened
from polyqa.evaluation.columns import COLUMNS
from polyqa.optimizers.curve import Curve
from polyqa.optimizers.trials import Trial
from polyqa.programs import KNNPredict

from .plots import BLUE, GREY, ORANGE, check_format, new_figure, save_figure

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


def plot_curve(curve: Curve, path: str | Path, *, window: int = 20) -> Path:
    """Draw a learning curve: score against training examples, and the metric's calls beside it.

    Parameters
    ----------
    path
        ``.png``, ``.svg`` or ``.pdf``.
    window
        How many calls of the metric are averaged.
    """
    from matplotlib.figure import Figure

    label = COLUMNS[curve.measure].label
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    sizes = [size for size, _ in curve.points]
    values = np.array([estimate.value for _, estimate in curve.points])
    low, high = (np.array([getattr(estimate, side) for _, estimate in curve.points]) for side in ("low", "high"))
    left.plot(sizes, values, marker="o", color=BLUE)
    left.fill_between(sizes, low, high, color=BLUE, alpha=0.15, linewidth=0)
    left.set_xlabel("training examples (0: uncompiled)")
    left.set_ylabel(f"{label} on dev, 95% interval")
    if curve.tries:
        size = min(window, len(curve.tries))
        calls = range(1, len(curve.tries) + 1)
        mean = [np.mean(curve.tries[max(0, call - size) : call]) for call in calls]
        right.plot(calls, curve.tries, ".", color=BLUE, alpha=0.25)
        right.plot(calls, mean, color=BLUE)
        right.set_ylabel(f"{label} per question, mean of the last {size}")
    else:
        right.text(0.5, 0.5, curve.no_tries, ha="center", va="center", transform=right.transAxes, fontsize="small")
        right.set_yticks([])
    right.set_xlabel("calls of the metric while compiling")
    figure.suptitle(curve.title, fontsize="medium")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return save_figure(figure, path)


def plot_neighbourhood(program: dspy.Module, question: str, path: str | Path) -> Path:
    """Draw the questions of all demos as a map, and on it the demos that a question is shown.

    The map is the plane in which the encoder's vectors differ most (principal components): near on it need not be
    near in all dimensions, so that a demo that was picked may lie farther off than one that was not.

    Parameters
    ----------
    program
        Its first predictor that picks the nearest demos counts.
    question
        Marked by a star.
    path
        ``.png``, ``.svg`` or ``.pdf``.

    Raises
    ------
    PolyqaError
        If the format is unknown, or the program does not pick demos by their nearness, or of fewer than three.
    """
    check_format(path)
    nearest_by_name = (
        (name, predictor)
        for name, predictor in program.named_predictors()
        if isinstance(predictor, KNNPredict) and predictor.k is not None and len(predictor.demos) > 2
    )
    name, predictor = next(nearest_by_name, ("", None))
    if predictor is None or predictor.encoder is None:
        raise PolyqaError(
            f"There is no map: {type(program).__name__} does not pick the nearest of three demos or more. Compile it "
            "with the recipe knn, or name an artifact that was."
        )
    asked = [str(demo[predictor.field]) for demo in predictor.demos]
    picked = [str(demo[predictor.field]) for demo in predictor.nearest(question)][::-1]  # the last is the nearest
    vectors = predictor.encoder.encode([question, *asked]).astype(np.float64)
    centred = vectors - vectors.mean(axis=0)
    u, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    plane = u[:, :2] * sizes[:2]
    star, others = plane[0], plane[1:]
    shares = sizes**2 / (sizes**2).sum()

    figure, axes = new_figure(8, 5.2 + 0.2 * len(picked))
    axes.scatter(others[:, 0], others[:, 1], color=GREY, s=18, alpha=0.6, label=f"{len(asked)} demos of {name}")
    nearest = np.array([others[asked.index(demo)] for demo in picked])
    for number, place in enumerate(nearest, 1):
        axes.plot(*zip(star, place, strict=True), color=ORANGE, linewidth=0.8, alpha=0.7, zorder=1)
        axes.annotate(str(number), place, xytext=(6, 4), textcoords="offset points", color=ORANGE, weight="bold")
    label = f"the {len(picked)} that are shown"
    axes.scatter(nearest[:, 0], nearest[:, 1], color=ORANGE, s=42, zorder=3, label=label)
    axes.plot(star[0], star[1], "*", color=BLUE, markersize=16, zorder=4, label="the question")
    for at, axis in enumerate((axes.xaxis, axes.yaxis)):
        axis.set_ticks([])
        axis.set_label_text(f"component {at + 1} ({shares[at]:.0%} of the variance)")
    axes.margins(0.08)
    axes.set_title(_plain(shortened(question, 90)), fontsize="medium", loc="left")
    listed = "\n".join(f"{number}  {_plain(shortened(demo, 95))}" for number, demo in enumerate(picked, 1))
    figure.supxlabel(listed, x=0.02, ha="left", fontsize="small", color=ORANGE)
    axes.legend(frameon=False, fontsize="small", loc="best")
    return save_figure(figure, path)


def _plain(text: str) -> str:
    """Return a text in which matplotlib sees no formula."""
    return text.replace("$", r"\$")
