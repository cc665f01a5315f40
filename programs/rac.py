"""Vanilla RAG with the retrieval-augmented clarification prompt (DIVA's baseline 6)."""

import asyncio

import dspy

from .grounded import GroundedProgram


class RAC(GroundedProgram):
    """Retrieve, rerank by the question, extract the readings, answer: two language-model calls.

    Its prediction has ``answer``, ``interpretations`` (each with the id of its passage) and
    ``passages`` (the K that the language model saw, best first). For the parameters see
    `grounded.GroundedProgram`.
    """

    def forward(self, question: str) -> dspy.Prediction:
        """Answer a question."""
        passages = self.retrieve(question)
        answer, interpretations = self.answer_from(question, passages)
        return dspy.Prediction(answer=answer, interpretations=interpretations, passages=passages)

    async def aforward(self, question: str) -> dspy.Prediction:
        """See `forward`."""
        passages = await asyncio.to_thread(self.retrieve, question)
        answer, interpretations = await self.aanswer_from(question, passages)
        return dspy.Prediction(answer=answer, interpretations=interpretations, passages=passages)
