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
_NEAR, _LINE = 0.1, 1.0  # labels of points that are near in tokens (powers of ten) stand a line apart, in DR
_LETTER = 0.012  # powers of ten; a label that would stand over a point to its right goes to the left
_HIGH = 0.6  # in DR: half a label and half a point
_TICKS = (0.2, 0.3, 0.5, 1.0)
_PLACE = (0.09, 0.15, 0.86, 0.8)  # of the axes, in parts of the picture: nothing is laid out by the size of letters


def gains() -> tuple[float, list[tuple[str, float, float]]]:
    """Return the DR without demos, and of each row the recipe, millions of tokens, and DR after.

    A row that names no recipe is of the one before.
    """
    table = read_measured("recipes-local").tables["gains"]
    found, recipe = list[tuple[str, float, float]](), ""
    for row in table.rows[1:]:
        cells = dict(zip(table.heads, row, strict=False))
        named = _RECIPE.search(cells["compiled by"])
        recipe = named[1] if named else recipe
        tokens = [cells[name].replace(",", "") for name in ("tokens in", "tokens out")]
        if all(count.isdecimal() for count in tokens):
            found.append((recipe, sum(map(int, tokens)) / 1e6, _dr(cells)))
    return _dr(dict(zip(table.heads, table.rows[0], strict=True))), found


def _dr(cells: Mapping[str, str]) -> float:
    return float(cells["DR"].split()[0])


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
        labels = dict[str, tuple[float, float]]()
        for recipe, tokens, after in sorted(rows, key=lambda row: -row[2]):
            axes.plot([tokens], [after], "o", color=BLUE, markersize=5)
            if recipe in labels:
                continue
            below = [height - _LINE for at, height in labels.values() if abs(log10(at / tokens)) < _NEAR]
            labels[recipe] = tokens, min([after, *below])
            end = tokens * 10 ** (_LETTER * len(recipe))
            over = not below and any(
                tokens < at < end and abs(dr - after) < _HIGH for name, at, dr in rows if name != recipe
            )
            if over:  # to the left of all points of the recipe
                labels[recipe] = min((at, dr) for name, at, dr in rows if name == recipe)
            where = {"xytext": (-8, -3), "ha": "right"} if over else {"xytext": (8, -3)}
            axes.annotate(recipe, labels[recipe], textcoords="offset points", **where)
        axes.set_xscale("log")
        axes.set_xticks(_TICKS, [str(tick) for tick in _TICKS])
        axes.minorticks_off()
        axes.set(
            xlim=(0.48 * min(tokens for _, tokens, _ in rows), 2.9 * max(tokens for _, tokens, _ in rows)),
            ylim=(34, 46),
            xlabel="millions of tokens that compiling took, in and out",
        )
        axes.set_ylabel("DR")
        image = io.StringIO()
        figure.savefig(image, format="svg", metadata={"Date": None, "Creator": None})
    return image.getvalue()
