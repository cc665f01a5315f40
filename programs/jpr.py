"""JPR: joint passage reranking for diverse answers (Min et al., 2021, https://arxiv.org/abs/2104.08445)."""

from collections.abc import Sequence
from typing import Unpack

import dspy

from polyqa.base.values import Passage, render_passages
from polyqa.colbert_index import Reranker, Retriever
from polyqa.signatures import SelectPassages

from .base import CallLimits, GroundedProgram, RetrievalSettings
from .spans import rerank_found
from .steps import Steps, ask, work


class JPR(GroundedProgram):
    """Choose K of the best candidates jointly, so that together they hold many answers; then answer.

    The paper's reranker reads all candidates and generates one sequence of passage indexes, each chosen
    in view of those before. It is trained; here one list-wise call of the language model writes the
    sequence. The answer is that of `rac.RAC`. The paper's reader takes the K as a set; a language model
    does not, so they are shown to it nearest to the question first: with the embedded engine, on 45
    homonyms training questions, the order of the sequence lost 3.7 points of DR against that.

    Of the numbers that the language model writes, those of no passage and repetitions are passed over; if
    fewer than K are left, the best-ranked of the other candidates follow. No call is made where there
    are no more than K candidates.

    Its prediction has ``answer``, ``interpretations`` (cited), ``passages`` (the K, nearest to the
    question first), ``universe`` (the candidates) and ``selected`` (the ids of those that the language
    model chose itself, in its order).

    Parameters
    ----------
    retriever, reranker, settings
        See `base.GroundedProgram`.
    shortlist
        How many candidates the language model chooses from (the paper's: 100), between ``passages`` and ``candidates``.
    """

    def __init__(
        self, retriever: Retriever, reranker: Reranker, *, shortlist: int = 20, **settings: Unpack[RetrievalSettings]
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        if not self.passages <= shortlist <= self.candidates:
            limits = f"{self.passages}, {shortlist} and {self.candidates}"
            raise ValueError(f"need passages <= shortlist <= candidates, got {limits}")
        self.shortlist = shortlist
        self.select = self.predictor(SelectPassages)

    @property
    def call_limits(self) -> CallLimits:
        """The choice, and the answer."""
        return CallLimits(calls=1 + self.answering_calls, depth=1 + self.answering_calls)

    def shortlisted(self, question: str) -> list[Passage]:
        """Return the candidates to choose from, the nearest to the question first."""
        return rerank_found(self.reranker, question, self.search(question), self.shortlist)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        shortlist = yield from work(self.shortlisted, question)
        numbers: Sequence[int] = ()
        if len(shortlist) > self.passages:
            numbers = (
                yield from ask(self.select, passages=render_passages(shortlist), question=question, count=self.passages)
            ).selected
        selected, passages = self._choose(shortlist, numbers)
        answer, interpretations = yield from self.answer_from(question, passages)
        return dspy.Prediction(
            answer=answer, interpretations=interpretations, passages=passages, universe=shortlist, selected=selected
        )

    def _choose(self, shortlist: Sequence[Passage], numbers: Sequence[int]) -> tuple[list[str], list[Passage]]:
        """Return the ids that the numbers name, and the K passages."""
        chosen = [number - 1 for number in dict.fromkeys(numbers) if 1 <= number <= len(shortlist)][: self.passages]
        not_chosen = [position for position in range(len(shortlist)) if position not in chosen]
        taken = sorted([*chosen, *not_chosen][: self.passages])
        return [shortlist[position].pid for position in chosen], [shortlist[position] for position in taken]
