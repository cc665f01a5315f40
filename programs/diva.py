"""DIVA: diversify, verify, adapt (In et al., 2024, https://arxiv.org/abs/2409.02361)."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import dspy
import numpy as np

from polyqa.colbert_index import Reranker, Retriever
from polyqa.embedded_models import Encoder
from polyqa.signatures import (
    AnswerClosedBook,
    Coverage,
    InferPseudoInterpretations,
    Interpretation,
    Passage,
    TypeAmbiguity,
    VerifyInterpretation,
    render_passages,
)

from .concurrency import gather_all, run_all
from .grounded import GroundedProgram
from .knn import KNNPredict

T = TypeVar("T")


class DIVA(GroundedProgram):
    """Diversify the passages by pseudo-interpretations, verify them, and adapt the way to answer.

    Algorithm 1 of the paper: (1) name the ambiguity; (2) infer pseudo-interpretations (equation 3);
    (3) from the candidates take the top K of each pseudo-interpretation (equation 4) and of their
    union the K with the highest mean similarity to all of them (equation 5); (4) ask for each
    pseudo-interpretation whether these passages answer it (equation 7, all at once); (5) if none is
    answered the passages are useless and the answer comes from the language model alone, else from
    the passages by retrieval-augmented clarification (equations 1 and 2).

    Its prediction has ``answer``, ``interpretations`` (cited; empty after a closed-book answer),
    ``passages`` (the K that were verified, best first), ``coverage`` (`Coverage`), ``ambiguity``
    (list of `AmbiguityType`), ``reason``, ``pseudo_interpretations`` and ``verdicts`` (one bool each).

    Parameters
    ----------
    retriever, reranker, encoder, passages, candidates
        See `grounded.GroundedProgram`; the reranker is both R of equation 4 and Enc of equation 5.
    max_interpretations
        How many pseudo-interpretations are used at most; the paper sets no limit, its examples have
        two to six.
    useful_at
        From which share of answered pseudo-interpretations on the passages are used, in (0, 1]. The
        default 0 is the paper's rule: one is enough.
    """

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        *,
        encoder: Encoder | None = None,
        passages: int = 5,
        candidates: int = 200,
        max_interpretations: int = 10,
        useful_at: float = 0.0,
    ) -> None:
        super().__init__(retriever, reranker, encoder=encoder, passages=passages, candidates=candidates)
        if max_interpretations < 1:
            raise ValueError(f"max_interpretations must be at least 1, got {max_interpretations}")
        if not 0.0 <= useful_at <= 1.0:
            raise ValueError(f"useful_at must lie in [0, 1], got {useful_at}")
        self.max_interpretations = max_interpretations
        self.useful_at = useful_at
        self.classify = KNNPredict(TypeAmbiguity, encoder=encoder)
        self.infer = KNNPredict(InferPseudoInterpretations, encoder=encoder)
        self.verify = KNNPredict(VerifyInterpretation, encoder=encoder)
        self.recall = KNNPredict(AnswerClosedBook, encoder=encoder)

    def diversify(self, question: str, pseudo_interpretations: Sequence[str]) -> list[Passage]:
        """Return the K passages that best cover the pseudo-interpretations (equations 4 and 5)."""
        candidates = self.retriever.search(question, self.candidates)
        if not candidates:
            return []
        relevance = self.reranker.score(pseudo_interpretations, candidates)
        nearest = np.argsort(-relevance, axis=1, kind="stable")[:, : self.passages]
        union = np.unique(nearest)
        mean = relevance.mean(axis=0)
        kept = sorted(union, key=lambda index: -mean[index])[: self.passages]
        return [candidates[index].with_score(mean[index]) for index in kept]

    def forward(self, question: str) -> dspy.Prediction:
        """Answer a question."""
        typed = self.classify(question=question)
        inferred = self.infer(question=question, reason=typed.reason)
        pseudo = self._usable(question, inferred.pseudo_interpretations)
        passages = self.diversify(question, pseudo)
        verdicts = self._verdicts(pseudo, run_all(self._verifications(self.verify, pseudo, passages)))
        if self._useful(verdicts):
            answer, interpretations = self.answer_from(question, passages)
        else:
            answer, interpretations = self.recall(question=question).answer, []
        return self._prediction(typed, pseudo, passages, verdicts, answer, interpretations)

    async def aforward(self, question: str) -> dspy.Prediction:
        """See `forward`."""
        typed = await self.classify.acall(question=question)
        inferred = await self.infer.acall(question=question, reason=typed.reason)
        pseudo = self._usable(question, inferred.pseudo_interpretations)
        passages = await asyncio.to_thread(self.diversify, question, pseudo)
        checks = self._verifications(self.verify.acall, pseudo, passages)
        verdicts = self._verdicts(pseudo, await gather_all(checks))
        if self._useful(verdicts):
            answer, interpretations = await self.aanswer_from(question, passages)
        else:
            answer, interpretations = (await self.recall.acall(question=question)).answer, []
        return self._prediction(typed, pseudo, passages, verdicts, answer, interpretations)

    def _usable(self, question: str, pseudo_interpretations: Sequence[str]) -> list[str]:
        # A language model that infers nothing leaves the question as its only reading.
        return list(pseudo_interpretations)[: self.max_interpretations] or [question]

    @staticmethod
    def _verifications(
        verify: Callable[..., T], pseudo: Sequence[str], passages: Sequence[Passage]
    ) -> list[Callable[[], T]]:
        shown = render_passages(passages)
        return [partial(verify, passages=shown, question=one) for one in pseudo] if passages else []

    @staticmethod
    def _verdicts(pseudo: Sequence[str], replies: Sequence[dspy.Prediction]) -> list[bool]:
        return [reply.answerable == "Yes" for reply in replies] or [False] * len(pseudo)

    def _useful(self, verdicts: Sequence[bool]) -> bool:
        return any(verdicts) and sum(verdicts) >= self.useful_at * len(verdicts)

    @staticmethod
    def _prediction(
        typed: dspy.Prediction,
        pseudo: list[str],
        passages: list[Passage],
        verdicts: list[bool],
        answer: str,
        interpretations: Sequence[Interpretation],
    ) -> dspy.Prediction:
        return dspy.Prediction(
            answer=answer,
            interpretations=interpretations,
            passages=passages,
            coverage=Coverage.from_verdicts(verdicts),
            ambiguity=typed.ambiguity_types,
            reason=typed.reason,
            pseudo_interpretations=pseudo,
            verdicts=verdicts,
        )
