"""Drawings of the page: SVG in it, which takes the colours of the page."""

import math
from collections.abc import Callable, Iterator, Sequence

from polyqa.base.html import Html, joined, shortened, tag
from polyqa.optimizers.trials import Trial

WIDTH = 760
"""Units of a drawing: pixels where the page is wide enough."""
_NUMBERED = 40
"""Points of a plot that are numbered at most; of more, only those that were kept are."""
_LEAST = 4.0
"""Points of a metric that the axis of a plot spans at least."""
_Scale = Callable[[float], float]
_SHAPES = {"dev": "circles: dev", "train": "squares: train", "held-out": "triangles: held out"}


def _shape(name: str, *content: object, **attributes: object) -> Html:
    """Return an SVG element; ``_`` in a name stands for ``-``, numbers are rounded."""
    told = {
        key.rstrip("_").replace("_", "-"): f"{value:.1f}" if isinstance(value, float) else str(value)
        for key, value in attributes.items()
    }
    return tag(name, *content, **told)


def _drawing(height: float, told: str, *content: object) -> Html:
    box = f"0 0 {WIDTH} {height:.0f}"
    return tag("div", tag("svg", tag("title", told), *content, viewBox=box, role="img"), class_="wide")


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from ``low`` or below to ``high`` or above.

    >>> ticks(0, 97), ticks(41.5, 43.2)
    ([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [41.5, 42.0, 42.5, 43.0, 43.5])
    """
    span = max(high - low, 1e-9)
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * one for one in (1, 2, 5, 10) if span / (power * one) <= most - 1 or one == 10)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(at * step, 10) for at in range(first, max(last, first + 1) + 1)]


def interval_bars(rows: Sequence[tuple[str, float, float | None, float | None]]) -> Html:
    """Draw values with their intervals, one below the other, on one axis.

    Parameters
    ----------
    rows
        Name, value, and the ends of the interval, if it has one.
    """
    left, right, step = 190, WIDTH - 70, 34
    ends = [end for _, value, low, high in rows for end in (value, low, high) if end is not None]
    marks = ticks(min(ends), max(ends))
    bottom = 14 + step * len(rows)

    def x(value: float) -> float:
        return left + (right - left) * (value - marks[0]) / (marks[-1] - marks[0])

    parts: list[Html] = []
    for mark in marks:
        parts.append(_shape("line", x1=x(mark), x2=x(mark), y1=8, y2=bottom, class_="axis"))
        parts.append(_shape("text", f"{mark:g}", x=x(mark), y=bottom + 18, text_anchor="middle", class_="quiet"))
    for at, (name, value, low, high) in enumerate(rows):
        y = 28.0 + step * at
        parts.append(_shape("text", name, x=left - 14, y=y + 4, text_anchor="end"))
        if low is not None and high is not None:
            parts.append(_shape("line", x1=x(low), x2=x(high), y1=y, y2=y, class_="mark"))
        shape = "mark kept" if at % 2 else "mark"
        parts.append(_shape("circle", cx=x(value), cy=y, r=5, class_=shape))
        parts.append(_shape("text", f"{value:.1f}", x=right + 14, y=y + 4))
    told = "; ".join(f"{name}: {value:.1f}" for name, value, _, _ in rows)
    return _drawing(bottom + 28, told, *parts)


def score_against_calls(trials: Sequence[Trial]) -> Html:
    """Draw every candidate that was scored: the calls until then, and its score in per cent."""
    shown = [one for one in trials if one.score is not None]
    left, right, top, bottom = 56, WIDTH - 24, 14, 270
    scores = [100 * (one.score or 0.0) for one in shown]
    middle = (min(scores) + max(scores)) / 2  # what differs by less than a few points is to look alike
    span = max((max(scores) - min(scores)) / 2, _LEAST / 2)
    ys, xs = ticks(middle - span, middle + span), ticks(0, max(one.calls for one in shown) or 1)

    def x(calls: float) -> float:
        return left + (right - left) * calls / xs[-1]

    def y(score: float) -> float:
        return bottom - (bottom - top) * (score - ys[0]) / (ys[-1] - ys[0])

    parts: list[Html] = []
    for mark in ys:
        parts.append(_shape("line", x1=left, x2=right, y1=y(mark), y2=y(mark), class_="axis"))
        parts.append(_shape("text", f"{mark:g}", x=left - 8, y=y(mark) + 4, text_anchor="end", class_="quiet"))
    for mark in xs:
        parts.append(_shape("line", x1=x(mark), x2=x(mark), y1=bottom, y2=bottom + 5, class_="axis"))
        parts.append(_shape("text", f"{mark:,.0f}", x=x(mark), y=bottom + 20, text_anchor="middle", class_="quiet"))
    parts.append(_shape("text", "calls of language models", x=(left + right) / 2, y=bottom + 40, text_anchor="middle"))
    parts += _ways(shown, x, y)
    most = {on: max(one.n for one in shown if one.on == on) for on in {one.on for one in shown}}
    for one in shown:
        at_x, at_y = x(one.calls), y(100 * (one.score or 0.0))
        classes = f"mark{' kept' * one.kept}{' few' * (one.n < most[one.on])}"
        title = tag("title", f"{one.number}: {shortened(one.label, 120)}, {100 * (one.score or 0.0):.1f}")
        parts.append(_point(one.on, at_x, at_y, classes, title))
        if one.kept or len(shown) <= _NUMBERED:
            parts.append(_shape("text", one.number, x=at_x + 8, y=at_y - 6, class_="quiet"))
    best = max(scores)
    return _drawing(bottom + 50, f"{len(shown)} scores against calls; the best is {best:.1f}", *parts)


def _ways(shown: Sequence[Trial], x: _Scale, y: _Scale) -> Iterator[Html]:
    """Yield lines through what was kept; scores on different sets of questions do not compare, and are not joined."""
    for on in _SHAPES:
        kept = [one for one in shown if one.kept and one.on == on]
        if len(kept) > 1:
            points = " ".join(f"{x(one.calls):.1f},{y(100 * (one.score or 0.0)):.1f}" for one in kept)
            yield _shape("polyline", points=points, class_="way")


def _point(on: str, x: float, y: float, classes: str, title: Html) -> Html:
    if on == "train":
        return _shape("rect", title, x=x - 4.5, y=y - 4.5, width=9, height=9, class_=classes)
    if on == "held-out":
        points = f"{x:.1f},{y - 6:.1f} {x - 5.5:.1f},{y + 4.5:.1f} {x + 5.5:.1f},{y + 4.5:.1f}"
        return _shape("polygon", title, points=points, class_=classes)
    return _shape("circle", title, cx=x, cy=y, r=5, class_=classes)


def legend(trials: Sequence[Trial]) -> Html:
    """Return what the marks of `score_against_calls` mean."""
    shown = [one for one in trials if one.score is not None]
    parts = [_SHAPES[on] for on in _SHAPES if any(one.on == on for one in shown)]
    parts.append("filled: kept, joined by a line per set of questions")
    most = {on: max(one.n for one in shown if one.on == on) for on in {one.on for one in shown}}
    if any(one.n < most[one.on] for one in shown):
        parts.append("pale: scored on some of the questions only")
    return tag("p", joined(["; ".join(parts), ". Scores on different questions do not compare."]), class_="quiet")
