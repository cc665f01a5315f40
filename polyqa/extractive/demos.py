"""What demos tell: which are nearest to a question, and where a threshold should lie."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from .evidence import Models, best_support
from .prompt import Demo, Prompt, evidence_in

Labelled = Sequence[tuple[float, bool]]
Score = TypeVar("Score")
Label = TypeVar("Label")
# One-sided 10% of the normal distribution: what chance alone reaches once in ten times, in standard deviations.
CHANCE = 1.28


def nearest_demos(prompt: Prompt, models: Models, output: str) -> list[tuple[Demo, float]]:
    """Return the demos that show ``output``, with the cosine of their question to ours, nearest first."""
    demos = [demo for demo in prompt.demos if output in demo.outputs and demo.inputs.get("question")]
    similarities = models.encoder.similarity([prompt.question], [demo.inputs["question"] for demo in demos])
    if not demos:
        return []
    order = sorted(range(len(demos)), key=lambda index: -float(similarities[0, index]))
    return [(demos[index], float(similarities[0, index])) for index in order]


def scored_demos(
    prompt: Prompt,
    needs: Collection[str],
    output: str,
    score: Callable[[Mapping[str, str]], Score],
    label: Callable[[str], Label],
) -> list[tuple[Score, Label]]:
    """Return the score of the inputs of each demo that shows them all, and what the demo says of them in ``output``."""
    return [
        (score(demo.inputs), label(demo.outputs[output]))
        for demo in prompt.demos
        if set(needs) <= demo.inputs.keys() and output in demo.outputs
    ]


def support_in(name: str, models: Models) -> Callable[[Mapping[str, str]], float]:
    """Return the score of inputs by the support that the passages in one of them give the best answer."""
    return lambda inputs: best_support(inputs["question"], evidence_in(inputs.get(name, "")), models)


def best_cut(labelled: Labelled, default: float) -> float:
    """Return the threshold that separates the labels with the fewest errors; among equals the nearest to the default.

    A label says of a score in [0, 1] whether it should reach the threshold; without labels it is the default.
    """
    scores = sorted({0.0, 1.0, *(score for score, _ in labelled)})
    cuts = [default, *((low + high) / 2 for low, high in pairwise(scores))]
    return min(cuts, key=lambda cut: (_errors(labelled, cut), abs(cut - default)))


def clearly_better_cut(labelled: Labelled, default: float) -> float:
    """Return `best_cut` if it saves at least max(2, 1.28 √n) of the default's errors on n labels, else the default.

    For labels that are noisy, such as those of a few nearest training questions.
    """
    best = best_cut(labelled, default)
    saved = _errors(labelled, default) - _errors(labelled, best)
    return best if saved >= max(2.0, CHANCE * math.sqrt(len(labelled))) else default


def _errors(labelled: Labelled, cut: float) -> int:
    return sum((score >= cut) != label for score, label in labelled)
