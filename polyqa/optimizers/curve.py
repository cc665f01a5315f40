"""Learning curves: what more training examples, and more tries, bring."""

import json
import random
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

import dspy

from polyqa.artifacts.identity import identity_hash
from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.evaluation.loading import questions_fingerprint
from polyqa.evaluation.runs import summarize
from polyqa.evaluation.statistics import Estimate

from .compiler import check_work, compile_program
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
        observed = copy(metric)
        observed.observe = tries.append
        part = replace(plan, trainset=shuffled[:size], metric=observed)
        compiled = compile_program(program, part, Path(work) / str(size))
        tries = _kept_tries(Path(work) / str(size) / "tries.json", tries)
        if not points:
            points.append((0, summarize(compiled.before.records)[metric.measure]))
        points.append((size, summarize(compiled.after.records)[metric.measure]))
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
    path.parent.mkdir(parents=True, exist_ok=True)
    check_work(path, settings, "curve")


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
