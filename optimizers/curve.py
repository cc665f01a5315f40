"""Learning curves: what more training examples, and more tries, bring."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import dspy
import numpy as np

from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.plots import save_figure
from polyqa.evaluation.runs import summarize, write_atomically
from polyqa.evaluation.statistics import Estimate
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.signatures import PolyqaError

from .compiler import compile_program
from .plan import Plan


@dataclass(frozen=True)
class Curve:
    """Scores on dev by the number of training examples, and the scores that the optimizer saw.

    Attributes
    ----------
    measure
        Which score.
    points
        Number of training examples (0: uncompiled) and the score on dev, in per cent.
    tries
        Every score that the metric gave while compiling with all examples, in order, in per cent.
    """

    measure: str
    points: Sequence[tuple[int, Estimate]]
    tries: Sequence[float]


def learning_curve(program: dspy.Module, plan: Plan, *, sizes: Sequence[int], work: str | Path) -> Curve:
    """Compile with growing parts of the trainset and score each on dev.

    Parameters
    ----------
    program, plan
        See `compiler.compile_program`.
    sizes
        Numbers of training examples, at least one; each part holds the smaller ones (one shuffle, by the
        seed).
    work
        Folder of the compilations: each size has a folder of its own in it.

    Raises
    ------
    PolyqaError
        If a size is below 1 or above the trainset's.
    """
    trainset, metric = plan.trainset, plan.metric
    if not sizes or min(sizes) < 1 or max(sizes) > len(trainset):
        raise PolyqaError(f"Sizes must lie between 1 and {len(trainset)}, the number of training questions.")
    shuffled = random.Random(plan.seed).sample(list(trainset), len(trainset))
    points: list[tuple[int, Estimate]] = []
    tries: list[float] = []
    for size in sorted(set(sizes)):
        tries = []
        observed = AnswerMetric(metric.reader, measure=metric.measure, threshold=metric.threshold, observe=tries.append)
        own = replace(plan, trainset=shuffled[:size], metric=observed)
        made = compile_program(program, own, Path(work) / str(size))
        tries = _kept_tries(Path(work) / str(size) / "tries.json", tries)
        if not points:
            points.append((0, summarize(made.before.records)[metric.measure]))
        points.append((size, summarize(made.after.records)[metric.measure]))
    return Curve(metric.measure, points, [100 * value for value in tries])


def _kept_tries(path: Path, tries: list[float]) -> list[float]:
    """Return what the optimizer saw: now, or when it finished, as a finished step calls no metric again."""
    if tries or not path.exists():
        write_atomically(path, json.dumps(tries))
        return tries
    return [float(value) for value in json.loads(path.read_text(encoding="utf-8"))]


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
    values = np.array([one.value for _, one in curve.points])
    low, high = (np.array([getattr(one, side) for _, one in curve.points]) for side in ("low", "high"))
    left.plot(sizes, values, marker="o", color="#2f6f9f")
    left.fill_between(sizes, low, high, color="#2f6f9f", alpha=0.15, linewidth=0)
    left.set_xlabel("training examples (0: uncompiled)")
    left.set_ylabel(f"{label} on dev, 95% interval")
    if curve.tries:
        size = min(window, len(curve.tries))
        mean = np.convolve(curve.tries, np.ones(size) / size, mode="valid")
        right.plot(np.arange(size, size + len(mean)), mean, color="#2f6f9f")
        right.set_ylabel(f"{label} per question, mean of {size}")
    else:
        right.text(0.5, 0.5, "this recipe calls no metric", ha="center", va="center", transform=right.transAxes)
        right.set_yticks([])
    right.set_xlabel("calls of the metric while compiling")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return save_figure(figure, path)
