"""The closed-book baseline: no retrieval, one call."""

import dspy

from polyqa.embedded_models import Encoder
from polyqa.signatures import AnswerClosedBook

from .knn import KNNPredict


class ClosedBook(dspy.Module):
    """Answer from the language model's own knowledge (few-shot prompting; DIVA's baseline 4).

    Its prediction has ``answer``; ``interpretations`` and ``passages`` are empty: nothing is cited.

    Parameters
    ----------
    encoder
        For kNN demos, see `knn.KNNPredict`.
    """

    def __init__(self, *, encoder: Encoder | None = None) -> None:
        super().__init__()
        self.recall = KNNPredict(AnswerClosedBook, encoder=encoder)

    def forward(self, question: str) -> dspy.Prediction:
        """Answer a question."""
        answer = self.recall(question=question).answer
        return dspy.Prediction(answer=answer, interpretations=[], passages=[])

    async def aforward(self, question: str) -> dspy.Prediction:
        """See `forward`."""
        answer = (await self.recall.acall(question=question)).answer
        return dspy.Prediction(answer=answer, interpretations=[], passages=[])
