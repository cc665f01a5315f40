"""Draws what each recipe brought a small language model over what compiling took: README's picture.

The rows are those of ``lab/results/recipes-local.json`` (made by `lab.local`) whose tokens are known; the first is that
of the prompt that was not compiled.
"""

import io
import re
from collections.abc import Mapping
from math import log10

from polyqa.reports.plots import BLUE, GREY

from .results import read_measured

_RECIPE = re.compile(r"`([\w-]+)`")
_SIZE = (7.2, 3.4)  # inches
_LETTER, _GAP = 0.0155, 0.02  # in powers of ten: a letter of a label, and what parts it from its point
_HIGH, _LINE = 0.6, 11  # a line, in DR and in points
_TICKS = (0.2, 0.3, 0.5, 1.0)
_PLACE = (0.09, 0.15, 0.86, 0.8)  # of the axes, in parts of the picture: nothing is laid out by the size of letters


def gains() -> tuple[float, list[tuple[str, float, float]]]:
    """Return the DR without demos, and of each row of as many questions the recipe, millions of tokens, and DR after.

    A row that names no recipe is of the one before.
    """
    table = read_measured("recipes-local").tables["gains"]
    points, recipe = list[tuple[str, float, float]](), ""
    asked = table.heads.index("n")
    for row in table.rows[1:]:
        if row[asked] != table.rows[0][asked]:
            continue
        cells = dict(zip(table.heads, row, strict=False))
        match = _RECIPE.search(cells["compiled by"])
        recipe = match[1] if match else recipe
        tokens = [cells[name].replace(",", "") for name in ("tokens in", "tokens out")]
        if all(count.isdecimal() for count in tokens):
            points.append((recipe, sum(map(int, tokens)) / 1e6, _dr(cells)))
    return _dr(dict(zip(table.heads, table.rows[0], strict=True))), points


def _dr(cells: Mapping[str, str]) -> float:
    return float(cells["DR"].split()[0])


def _free(x: float, y: float, width: float, taken: list[tuple[float, float, float]]) -> tuple[int, int]:
    """Return where a label of a point touches nothing: right (1) or left of it (-1), so many lines higher.

    It takes that place: ``taken`` has the left and right end, in powers of ten, and the DR of every point and label.
    """
    for side, up in ((1, 0), (-1, 0), (1, -1), (1, 1), (-1, -1)):
        left, right = sorted((x + _GAP * side, x + (_GAP + width) * side))
        height = y + _HIGH * up
        if not any(start < right and left < end and abs(at - height) < 0.9 * _HIGH for start, end, at in taken):
            break
    taken.append((left, right, height))
    return side, up


def picture() -> str:
    """Return the picture as SVG, the same on every machine."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    before, rows = gains()
    with rc_context({"svg.hashsalt": "recipes", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=_SIZE)
        axes = figure.add_axes(_PLACE)
        axes.spines[["top", "right"]].set_visible(False)
        axes.axhline(before, color=GREY, linewidth=1)
        axes.annotate(
            "without demos",
            (0.98, before),
            xycoords=("axes fraction", "data"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="right",
            color=GREY,
        )
        taken = [(log10(tokens), log10(tokens), dr) for _, tokens, dr in rows]
        labelled = set[str]()
        for recipe, tokens, dr in sorted(rows, key=lambda row: -row[2]):
            axes.plot([tokens], [dr], "o", color=BLUE, markersize=5)
            if recipe not in labelled:
                labelled.add(recipe)
                side, up = _free(log10(tokens), dr, _LETTER * len(recipe), taken)
                offset, ha = (8 * side, -3 + _LINE * up), "left" if side > 0 else "right"
                axes.annotate(recipe, (tokens, dr), textcoords="offset points", xytext=offset, ha=ha)
        axes.set_xscale("log")
        axes.set_xticks(_TICKS, [str(tick) for tick in _TICKS])
        axes.minorticks_off()
        axes.set(
            xlim=(0.48 * min(tokens for _, tokens, _ in rows), 2.9 * max(tokens for _, tokens, _ in rows)),
            ylim=(min([before, *(dr for *_, dr in rows)]) - 2, max(dr for *_, dr in rows) + 2.5),
            xlabel="millions of tokens that compiling took, in and out",
        )
        axes.set_ylabel("DR")
        image = io.StringIO()
        figure.savefig(image, format="svg", metadata={"Date": None, "Creator": None})
    return image.getvalue()
