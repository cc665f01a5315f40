"""What a compilation is given beside its program, as one value."""

from collections.abc import Sequence
from dataclasses import dataclass

import dspy

from polyqa.metrics.gold import Question
from polyqa.metrics.optimizing import AnswerMetric

from .recipes import Recipe


@dataclass(frozen=True)
class Plan:
    """How a program is compiled.

    Attributes
    ----------
    trainset
        Demos come from here, and only from here.
    devset
        Shares no question with the trainset. It scores, and picks among candidates where the recipe does.
    recipe
        See `recipes.RECIPES`.
    metric
        What is optimized. Its threshold is replaced by the recipe's.
    lm
        Runs the program.
    prompt_lm
        Writes instructions; ``lm`` if not given.
    seed, threads
        Of every random choice (picking the nearest demos and COPRO make none), and questions at once.
    """

    trainset: Sequence[Question]
    devset: Sequence[Question]
    recipe: Recipe
    metric: AnswerMetric
    lm: dspy.LM
    prompt_lm: dspy.LM | None = None
    seed: int = 0
    threads: int = 8

    @property
    def writer(self) -> dspy.LM:
        """The language model that writes instructions."""
        return self.prompt_lm or self.lm

    def own_metric(self) -> AnswerMetric:
        """Return the metric with the recipe's threshold."""
        own = self.metric
        return AnswerMetric(own.reader, measure=own.measure, threshold=self.recipe.threshold, observe=own.observe)
