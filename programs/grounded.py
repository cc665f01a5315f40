"""What every retrieval-augmented program shares: candidates, and an answer from a few passages."""

from collections.abc import Sequence

import dspy

from polyqa.colbert_index import Reranker, Retriever, rerank
from polyqa.embedded_models import Encoder
from polyqa.signatures import (
    ExtractInterpretations,
    Interpretation,
    Passage,
    WriteLongFormAnswer,
    render_passages,
)

from .citation import cite, number_citations
from .knn import KNNPredict


class RetrievingProgram(dspy.Module):
    """Finds K passages for a question.

    Parameters
    ----------
    retriever, reranker, passages, candidates
        See `GroundedProgram`.
    """

    def __init__(self, retriever: Retriever, reranker: Reranker, *, passages: int = 5, candidates: int = 200) -> None:
        super().__init__()
        if not 1 <= passages <= candidates:
            raise ValueError(f"need 1 <= passages <= candidates, got {passages} and {candidates}")
        self.retriever = retriever
        self.reranker = reranker
        self.passages = passages
        self.candidates = candidates

    def retrieve(self, question: str) -> list[Passage]:
        """Return the K candidates nearest to the question."""
        candidates = self.retriever.search(question, self.candidates)
        return rerank(self.reranker, question, candidates, self.passages)


class GroundedProgram(RetrievingProgram):
    """Extract the readings from passages (equation 1 of DIVA), then answer from them (equation 2).

    Parameters
    ----------
    retriever
        Finds the candidate passages.
    reranker
        Orders them by a question.
    encoder
        For kNN demos, see `knn.KNNPredict`.
    passages
        K, how many passages the language model sees (papers: 5).
    candidates
        How many passages the retriever pools (papers: about 200, 100 of each of two retrievers).
    """

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        *,
        encoder: Encoder | None = None,
        passages: int = 5,
        candidates: int = 200,
    ) -> None:
        super().__init__(retriever, reranker, passages=passages, candidates=candidates)
        self.extract = KNNPredict(ExtractInterpretations, encoder=encoder)
        self.write = KNNPredict(WriteLongFormAnswer, encoder=encoder)

    def answer_from(self, question: str, passages: Sequence[Passage]) -> tuple[str, list[Interpretation]]:
        """Return the long-form answer and the cited interpretations."""
        shown = render_passages(passages)
        readings = self.extract(passages=shown, question=question).interpretations
        written = self.write(passages=shown, question=question, interpretations=readings)
        return written.answer, cite(readings, passages)

    async def aanswer_from(self, question: str, passages: Sequence[Passage]) -> tuple[str, list[Interpretation]]:
        """See `answer_from`."""
        shown = render_passages(passages)
        readings = (await self.extract.acall(passages=shown, question=question)).interpretations
        written = await self.write.acall(passages=shown, question=question, interpretations=readings)
        return written.answer, cite(readings, passages)


def writing_inputs(question: str, readings: Sequence[Interpretation], passages: Sequence[Passage]) -> dict[str, object]:
    """Return the inputs of `WriteLongFormAnswer` for cited readings: passage ids become numbers of the prompt."""
    return {
        "passages": render_passages(passages),
        "question": question,
        "interpretations": number_citations(readings, passages),
    }
