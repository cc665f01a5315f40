"""Compilations as pictures: score against calls, and where the demos of a question lie among all."""

from collections.abc import Sequence
from pathlib import Path

import dspy
import numpy as np

from polyqa.base.errors import PolyqaError
from polyqa.base.html import shortened
from polyqa.evaluation.plots import check_format, save_figure
from polyqa.evaluation.run_plots import BLUE, GREY, ORANGE
from polyqa.programs import KNNPredict

from .trials import Trial

_MARKS = {"dev": ("o", "dev"), "train": ("s", "train"), "held-out": ("^", "held out")}


def plot_trials(trials: Sequence[Trial], path: str | Path, *, metric: str = "score") -> Path:
    """Draw the candidates of a compilation: the score of each against the calls until it was known.

    Parameters
    ----------
    trials
        As `polyqa.optimizers.Compiled.trials` has them. Those without a score are left out.
    path
        ``.png``, ``.svg`` or ``.pdf``.
    metric
        What the scores are, for people.

    Raises
    ------
    PolyqaError
        If the format is unknown, or nothing was scored.
    """
    check_format(path)
    from matplotlib.figure import Figure

    shown = [one for one in trials if one.score is not None]
    if not shown:
        raise PolyqaError("Nothing can be drawn: no candidate of this compilation was scored.")
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    for on, (mark, label) in _MARKS.items():
        own = [one for one in shown if one.on == on]
        most = max((one.n for one in own), default=0)
        for kept in (False, True):
            some = [one for one in own if one.kept is kept]
            if not some:
                continue
            calls, scores = [one.calls for one in some], [100 * (one.score or 0.0) for one in some]
            if kept:
                axes.plot(calls, scores, "--", color=BLUE, linewidth=1, zorder=1)
            face, edge = (BLUE, BLUE) if kept else ("white", GREY)
            told = f"{label}, {'kept' if kept else 'dropped'}"
            axes.plot([], [], mark, color=face, markeredgecolor=edge, label=told)
            for one, x, y in zip(some, calls, scores, strict=True):
                # What was scored on few questions is paler: its score says less, and does not compare with the others'.
                axes.plot(x, y, mark, color=face, markeredgecolor=edge, alpha=1.0 if one.n == most else 0.4, zorder=2)
    for one in shown:
        if one.kept:
            place = (one.calls, 100 * (one.score or 0.0))
            axes.annotate(str(one.number), place, xytext=(5, 5), textcoords="offset points", fontsize="small")
    middle = sum(axes.get_ylim()) / 2
    span = max(axes.get_ylim()[1] - middle, 2.0)
    axes.set_ylim(middle - 1.1 * span, middle + 1.1 * span)
    axes.set_xlim(left=0)
    axes.set_xlabel("calls of language models")
    axes.set_ylabel(f"{metric}, mean per question")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize="small")
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
    from matplotlib.figure import Figure
    from sklearn.decomposition import PCA

    found = next(
        (
            (name, one)
            for name, one in program.named_predictors()
            if isinstance(one, KNNPredict) and one.k is not None and one.encoder is not None and len(one.demos) > 2
        ),
        None,
    )
    if found is None:
        raise PolyqaError(
            f"There is no map: {type(program).__name__} does not pick the nearest of three demos or more. Compile it "
            "with the recipe knn, or name an artifact that was."
        )
    name, predictor = found
    assert predictor.encoder is not None
    asked = [str(demo[predictor.field]) for demo in predictor.demos]
    picked = [str(demo[predictor.field]) for demo in predictor.nearest(question)][::-1]  # the last is the nearest
    vectors = predictor.encoder.encode([question, *asked])
    map_of = PCA(n_components=2, svd_solver="full").fit(vectors)
    places = map_of.transform(vectors)
    star, others = places[0], places[1:]

    figure = Figure(figsize=(8, 5.2 + 0.2 * len(picked)), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(others[:, 0], others[:, 1], color=GREY, s=18, alpha=0.6, label=f"{len(asked)} demos of {name}")
    nearest = np.array([others[asked.index(one)] for one in picked])
    for number, place in enumerate(nearest, 1):
        axes.plot(*zip(star, place, strict=True), color=ORANGE, linewidth=0.8, alpha=0.7, zorder=1)
        axes.annotate(str(number), place, xytext=(6, 4), textcoords="offset points", color=ORANGE, weight="bold")
    axes.scatter(nearest[:, 0], nearest[:, 1], color=ORANGE, s=42, zorder=3, label=f"the {len(picked)} that are shown")
    axes.plot(star[0], star[1], "*", color=BLUE, markersize=16, zorder=4, label="the question")
    for at, axis in enumerate((axes.xaxis, axes.yaxis)):
        axis.set_ticks([])
        axis.set_label_text(f"component {at + 1} ({map_of.explained_variance_ratio_[at]:.0%} of the variance)")
    axes.margins(0.08)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(_plain(shortened(question, 90)), fontsize="medium", loc="left")
    listed = "\n".join(f"{number}  {_plain(shortened(one, 95))}" for number, one in enumerate(picked, 1))
    figure.supxlabel(listed, x=0.02, ha="left", fontsize="small", color=ORANGE)
    axes.legend(frameon=False, fontsize="small", loc="best")
    return save_figure(figure, path)


def _plain(text: str) -> str:
    """Return a text in which matplotlib sees no formula."""
    return text.replace("$", r"\$")
