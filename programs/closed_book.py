"""DIVA's baselines 4 and 5, which answer from the language model's own knowledge."""

from typing import Unpack

import dspy

from polyqa.lm.sampling import DIVA_SAMPLING
from polyqa.signatures import AnswerClosedBook, AnswerRefined, RefineQuestion

from .base import CallLimits, Program, Settings
from .steps import Steps, ask

_MOST = 10  # refinements that are answered; the paper sets no limit


class ClosedBook(Program):
    """Answer from the language model's own knowledge (few-shot prompting; DIVA's baseline 4).

    Its prediction has ``answer``; ``interpretations`` and ``passages`` are empty: nothing is cited.
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


class QueryRefinement(Program):
    """Refine the question into readings with answers, then answer, both from the model's own knowledge.

    Amplayo et al. (2022, https://arxiv.org/abs/2210.17525) let one prompt write the refinements and the
    long answer; DIVA's baseline (appendix A.3) asks for the refinements first and hands them to a
    second call, and so does this.

    Its prediction has ``answer``, ``interpretations`` (the refinements; no ``pid``: nothing is cited) and
    ``passages`` (empty).
    """

    paper_sampling = DIVA_SAMPLING
    call_limits = CallLimits(2, 2)

    def __init__(self, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        self.refine = self.predictor(RefineQuestion)
        self.write = self.predictor(AnswerRefined)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        listed = (yield from ask(self.refine, question=question)).refinements[:_MOST]
        # A source that a language model names from memory is not one of the user's passages.
        refinements = [reading.model_copy(update={"pid": None}) for reading in listed]
        written = yield from ask(self.write, question=question, refinements=refinements)
        return dspy.Prediction(answer=written.answer, interpretations=refinements, passages=[])
