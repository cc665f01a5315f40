"""Learning curves: what more training examples, and more tries, bring."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import dspy
import numpy as np

from polyqa.artifacts.identity import changes, identity_hash
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.evaluation.plots import save_figure
from polyqa.evaluation.runs import summarize, write_atomically
from polyqa.evaluation.statistics import Estimate
from polyqa.metrics.optimizing import AnswerMetric

from .compiler import compile_program
from .plan import Plan
from .recipes import Recipe


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
    title
        What was compiled, and how.
    no_tries
        Why there are no ``tries``, if there are none.
    """

    measure: str
    points: Sequence[tuple[int, Estimate]]
    tries: Sequence[float]
    title: str = ""
    no_tries: str = ""


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
        Folder of the compilations: each size has a folder of its own in it. It serves one curve, which may be drawn
        again, with more sizes too.

    Raises
    ------
    PolyqaError
        If a size is below 1 or above the trainset's, or ``work`` is of another curve.
    """
    trainset, metric = plan.trainset, plan.metric
    if not sizes or min(sizes) < 1 or max(sizes) > len(trainset):
        raise PolyqaError(f"Sizes must lie between 1 and {len(trainset)}, the number of training questions.")
    _check_same(Path(work) / "curve.json", program, plan)
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
    title = f"{type(program).__name__}, {plan.recipe.name}, {plan.lm.model}"
    return Curve(metric.measure, points, [100 * value for value in tries], title, why_no_tries(plan.recipe))


def _check_same(path: Path, program: dspy.Module, plan: Plan) -> None:
    """Refuse the folder of another curve before anything is compiled; each size is then checked to the letter."""
    settings = {
        "program": f"{type(program).__name__} ({identity_hash(program)})",
        "recipe": plan.recipe.name,
        "measure": plan.metric.measure,
        "lm": str(plan.lm.model),
        "train": questions_fingerprint(plan.trainset),
        "dev": questions_fingerprint(plan.devset),
        "seed": plan.seed,
    }
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(settings, ensure_ascii=False, indent=1) + "\n")
    elif changed := changes(json.loads(path.read_text(encoding="utf-8")), settings):
        raise PolyqaError(
            f"{path.parent} is of another curve: {changed}. Remove it, or choose another folder (--work)."
        )


def why_no_tries(recipe: Recipe) -> str:
    """Return what stands in the place of the tries if the metric was not seen at work."""
    if not recipe.runs_train:
        return f"{recipe.name} takes its demos from the reference answers:\nno metric is called while compiling"
    if "GEPA" in recipe.searches:
        return f"{recipe.name} scores by feedback in words,\nwhich is not counted here"
    return "the metric was called before the compilation was stopped,\nand its scores were not kept"


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
        calls = range(1, len(curve.tries) + 1)
        mean = [np.mean(curve.tries[max(0, call - size) : call]) for call in calls]
        right.plot(calls, curve.tries, ".", color="#2f6f9f", alpha=0.25)
        right.plot(calls, mean, color="#2f6f9f")
        right.set_ylabel(f"{label} per question, mean of the last {size}")
    else:
        right.text(0.5, 0.5, curve.no_tries, ha="center", va="center", transform=right.transAxes, fontsize="small")
        right.set_yticks([])
    right.set_xlabel("calls of the metric while compiling")
    figure.suptitle(curve.title, fontsize="medium")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return save_figure(figure, path)
