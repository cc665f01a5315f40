"""The closed-book baseline: no retrieval, one call."""

from typing import Unpack

import dspy

from polyqa.lm.sampling import DIVA_SAMPLING
from polyqa.signatures import AnswerClosedBook

from .base import CallLimits, Program, Settings
from .steps import Steps, ask


class ClosedBook(Program):
    """Answer from the language model's own knowledge (few-shot prompting; DIVA's baseline 4).

    Its prediction has ``answer``; ``interpretations`` and ``passages`` are empty: nothing is cited.

    Parameters
    ----------
    encoder
        For kNN demos, see `knn.KNNPredict`.
    """

    paper_sampling = DIVA_SAMPLING
    call_limits = CallLimits(1, 1)

    def __init__(self, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        self.recall = self.predictor(AnswerClosedBook)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        recalled = yield from ask(self.recall, question=question)
        return dspy.Prediction(answer=recalled.answer, interpretations=[], passages=[])
