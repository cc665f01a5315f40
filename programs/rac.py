"""Vanilla RAG with the retrieval-augmented clarification prompt (DIVA's baseline 6)."""

import dspy

from polyqa.lm.sampling import DIVA_SAMPLING

from .base import CallLimits, GroundedProgram
from .steps import Steps, work


class RAC(GroundedProgram):
    """Retrieve, rerank by the question, extract the readings, answer: one call, two with ``preset="paper"``.

    Its prediction has ``answer``, ``interpretations`` (each with the id of its passage) and
    ``passages`` (the K that the language model saw, best first). For the parameters see
    `base.GroundedProgram`.
    """

    paper_sampling = DIVA_SAMPLING

    @property
    def call_limits(self) -> CallLimits:
        """One call, or two with ``preset="paper"``."""
        return CallLimits(calls=self.answering_calls, depth=self.answering_calls)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        passages = yield from work(self.retrieve, question)
        answer, interpretations = yield from self.answer_from(question, passages)
        return dspy.Prediction(answer=answer, interpretations=interpretations, passages=passages)
