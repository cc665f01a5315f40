"""What a batch is expected to cost, told before it starts."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polyqa.base.text import counted
from polyqa.costing import Cost, cost
from polyqa.extractive import MODEL_NAME
from polyqa.language_models import Models

from .asked import Asked

_SAMPLE = 5


@dataclass(frozen=True)
class Estimate:
    """The expected cost of so many questions, from what a sample of them takes with the embedded engine's replies."""

    questions: int
    each: Cost

    def __str__(self) -> str:
        """Return it as a line."""
        calls, tokens = self.each.calls, self.each.input_tokens.mean + self.each.output_tokens.mean
        told = (
            f"about {calls.mean:.1f} calls and {tokens:,.0f} tokens a question: {self.questions * calls.mean:,.0f} "
            f"calls and {self.questions * tokens:,.0f} tokens for {counted(self.questions, 'question')}"
        )
        dollars = self.each.dollars
        return told + (f", ${self.questions * dollars.mean:,.2f}" if dollars else ", of which no price is known")


def estimate(
    asked: Sequence[Asked], program: str, models: Models, settings: Mapping[str, Any], *, seed: int = 0
) -> Estimate | None:
    """Return what a batch is expected to cost; ``None`` if only the embedded engine is asked, which costs nothing."""
    if models.lm == MODEL_NAME and models.helper_lm in (None, MODEL_NAME):
        return None
    sample = [one.question for one in random.Random(seed).sample(list(asked), min(_SAMPLE, len(asked)))]
    lm = models.lm if isinstance(models.lm, str) else None
    return Estimate(len(asked), cost(program, question=sample, lm=lm, helper_lm=models.helper_lm, **settings))
