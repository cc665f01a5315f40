"""Runs as pictures: what two of them differ in, question by question, and what each costs for its score."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polyqa.base.counts import counted
from polyqa.base.errors import PolyqaError

from .columns import COLUMNS
from .plots import check_format, require_same_questions, save_figure
from .runs import Run, summarize
from .verdicts import won_and_lost

BLUE, ORANGE, GREY = "#2f6f9f", "#c8611b", "#9a9a9a"
"""Told apart by people who see red and green alike, and on grey paper."""


def plot_changes(a: Run, b: Run, path: str | Path, *, metric: str = "dr") -> Path:
    """Draw how each question's score changes from one run to the other: wins, ties and losses.

    Parameters
    ----------
    a, b
        Before and after; questions are paired by id.
    path
        ``.png``, ``.svg`` or ``.pdf``.
    metric
        A name of `columns.COLUMNS` of which more is better.

    Raises
    ------
    PolyqaError
        If the format or the metric is unknown, less of the metric is better, or no question is in both.
    """
    check_format(path)
    from matplotlib.figure import Figure

    column = COLUMNS.get(metric)
    if column is None or column.higher_is_better is not True:
        known = ", ".join(name for name, one in COLUMNS.items() if one.higher_is_better)
        raise PolyqaError(f"Questions are won and lost by a metric of which more is better, not {metric!r}: {known}.")
    shared = len({one.id for one in a.records} & {one.id for one in b.records})
    if not shared:
        raise PolyqaError(f"{a.name} and {b.name} have no question in common.")
    won, lost = won_and_lost(a, b, metric)
    ties = shared - len(won) - len(lost)
    gains = [one.difference for one in won] + [0.0] * ties + [one.difference for one in reversed(lost)]
    figure = Figure(figsize=(8, 3.8), layout="constrained")
    axes = figure.add_subplot()
    colours = [BLUE] * len(won) + [GREY] * ties + [ORANGE] * len(lost)
    axes.bar(range(len(gains)), gains, color=colours, width=0.9 if len(gains) < 80 else 1.0)
    axes.axhline(0, color="black", linewidth=0.8)
    bound = 1.25 * max([abs(gain) for gain in gains], default=0.0) or 1.0
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
    axes.set_ylabel(f"{column.label}, {_short(b.name)}\nagainst {_short(a.name)}")
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    return save_figure(figure, path)


def plot_costs(runs: Sequence[Run], path: str | Path, *, metric: str = "dr", mixed: bool = False) -> Path:
    """Draw what runs cost in tokens against their score, with the frontier: those that no other run beats in both.

    Parameters
    ----------
    runs
        Drawn with the 95% intervals of their scores.
    path
        ``.png``, ``.svg`` or ``.pdf``.
    metric
        A name of `columns.COLUMNS` of which more is better.
    mixed
        Draw runs of different questions in one picture, although they do not compare.

    Raises
    ------
    PolyqaError
        If the format or the metric is unknown, no run has the metric and its tokens, or runs are of different
        questions.
    """
    check_format(path)
    from matplotlib.figure import Figure

    column = COLUMNS.get(metric)
    if column is None or column.higher_is_better is not True:
        known = ", ".join(name for name, one in COLUMNS.items() if one.higher_is_better)
        raise PolyqaError(f"Costs are drawn against a metric of which more is better, not {metric!r}: {known}.")
    found = []
    for run in runs:
        values = summarize(run.records)
        tokens = sum(values[name].value for name in ("input_tokens", "output_tokens") if name in values)
        if metric in values and tokens > 0:
            found.append((tokens, values[metric], run))
    if not found:
        raise PolyqaError(f"No run has the metric {metric!r} and the tokens that it took; scored outputs have none.")
    if not mixed:
        require_same_questions([run for _, _, run in found])
    found.sort(key=lambda one: (one[0], -one[1].value))
    best = np.maximum.accumulate([value.value for _, value, _ in found])
    ahead = [at for at, (_, value, _) in enumerate(found) if at == 0 or value.value > best[at - 1]]

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    line = [(found[at][0], found[at][1].value) for at in ahead]
    axes.step(*zip(*line, strict=True), where="post", color=BLUE, linewidth=1, linestyle="--", zorder=1)
    for at, (tokens, value, _) in enumerate(found):
        colour = BLUE if at in ahead else GREY
        below, above = (max(0.0, arm) for arm in (value.value - value.low, value.high - value.value))
        if below or above:
            axes.errorbar(
                tokens, value.value, yerr=[[below], [above]], color=colour, alpha=0.45, capsize=3, linewidth=1
            )
        axes.plot(tokens, value.value, "o" if at in ahead else "s", color=colour, zorder=2)
    axes.set_xscale("log")
    axes.margins(x=0.12, y=0.1)
    axes.set_xlabel("tokens per question, in and out")
    axes.set_ylabel(f"{column.label}, 95% interval")
    _plain_ticks(axes)
    axes.spines[["top", "right"]].set_visible(False)
    _name(axes, [(tokens, value.value, _short(run.name)) for tokens, value, run in found])
    return save_figure(figure, path)


def _plain_ticks(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = axes.xaxis
    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, at: f"{value:,.0f}"))
    axis.set_minor_formatter(NullFormatter())


_Box = tuple[float, float, float, float]
_PLACES = tuple((dx, dy) for dy in (4, -14, 16, -26, 28, -38, 40) for dx in (8, -8))
"""Where a name may stand beside its point, in points; right of it, or left."""


def _name(axes: Any, points: Sequence[tuple[float, float, str]]) -> None:
    """Write the names beside the points, each where the least is in its way."""
    axes.figure.canvas.draw()
    unit = axes.figure.dpi / 72  # pixels per point
    at = [tuple(axes.transData.transform((x, y))) for x, y, _ in points]
    taken: list[_Box] = [(px - 6, py - 6, px + 6, py + 6) for px, py in at]
    right = float(axes.get_window_extent().x1) + 20
    for (x, y, name), (px, py) in zip(points, at, strict=True):
        boxes = {}
        for dx, dy in _PLACES:
            width = 4.6 * unit * len(name)
            left = px + dx * unit - (width if dx < 0 else 0.0)
            boxes[dx, dy] = (left, py + dy * unit, left + width, py + (dy + 9) * unit)
        costs = {place: _hit(box, taken, right) + abs(place[1]) for place, box in boxes.items()}
        place = min(costs, key=lambda one: costs[one])
        taken.append(boxes[place])
        axes.annotate(
            name,
            (x, y),
            xytext=place,
            textcoords="offset points",
            ha="left" if place[0] > 0 else "right",
            fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
            zorder=3,
        )


def _hit(box: _Box, others: Sequence[_Box], right: float) -> float:
    """Return how much of other boxes a box covers, in pixels; a lot if it leaves the picture."""
    covered = sum(
        max(0.0, min(box[2], one[2]) - max(box[0], one[0])) * max(0.0, min(box[3], one[3]) - max(box[1], one[1]))
        for one in others
    )
    return covered + (1e4 if box[2] > right or box[0] < 0 else 0.0)


def _short(name: str) -> str:
    return name if len(name) <= 32 else f"{name[:31]}…"
