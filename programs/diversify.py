"""What a question could mean, and passages for all of it (DIVA, equations 3 to 5)."""

from collections.abc import Sequence
from typing import Unpack

import dspy
import numpy as np

from polyqa.base.values import Coverage, Interpretation, Passage
from polyqa.colbert_index import Reranker, Retriever
from polyqa.signatures import InferPseudoInterpretations, TypeAmbiguity

from .base import GroundedProgram, RetrievalSettings
from .spans import scores
from .steps import Steps, ask, ask_while, work

Answer = tuple[str, list[Interpretation]]
"""A long answer, and the readings that it tells."""


class DiversifySettings(RetrievalSettings, total=False):
    """The settings of every program that diversifies."""

    max_interpretations: int


class DiversifyingProgram(GroundedProgram):
    """Names the ambiguity of a question, infers its pseudo-interpretations, and finds passages that cover them.

    Parameters
    ----------
    retriever, reranker, settings
        See `base.GroundedProgram`; the reranker is both R of DIVA's equation 4 and Enc of equation 5.
    max_interpretations
        How many pseudo-interpretations are used at most; the paper sets no limit, its examples have
        two to six.
    """

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        *,
        max_interpretations: int = 10,
        **settings: Unpack[RetrievalSettings],
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        if max_interpretations < 1:
            raise ValueError(f"max_interpretations must be at least 1, got {max_interpretations}")
        self.max_interpretations = max_interpretations
        self.classify = self.predictor(TypeAmbiguity)
        self.infer = self.predictor(InferPseudoInterpretations)

    def diversified(self, question: str) -> Steps[tuple[dspy.Prediction, list[str], list[Passage]]]:
        """Return the kind of ambiguity, the pseudo-interpretations, and K passages that cover them."""
        (typed,), candidates = yield from ask_while([(self.classify, {"question": question})], self.search, question)
        pseudo = yield from self.infer_from(question, typed)
        return typed, pseudo, (yield from work(self.covering, candidates, pseudo))

    @staticmethod
    def prediction(
        answer: Answer, passages: Sequence[Passage], typed: dspy.Prediction, pseudo: list[str], verdicts: list[bool]
    ) -> dspy.Prediction:
        """Return the fields that the predictions of DIVA and its kin have."""
        return dspy.Prediction(
            answer=answer[0],
            interpretations=answer[1],
            passages=passages,
            coverage=Coverage.from_verdicts(verdicts),
            ambiguity=typed.ambiguity_types,
            reason=typed.reason,
            pseudo_interpretations=pseudo,
            verdicts=verdicts,
        )

    def infer_from(self, question: str, typed: dspy.Prediction) -> Steps[list[str]]:
        """Return the pseudo-interpretations (equation 3); where there are none the question is the only one."""
        inferred = yield from ask(self.infer, question=question, reason=typed.reason)
        return list(inferred.pseudo_interpretations)[: self.max_interpretations] or [question]

    def covering(self, candidates: Sequence[Passage], pseudo_interpretations: Sequence[str]) -> list[Passage]:
        """Return the K passages that cover the pseudo-interpretations best.

        Of the top K of each pseudo-interpretation (equation 4) those with the highest mean similarity to all of them
        (equation 5), best first.
        """
        if not candidates:
            return []
        relevance = scores(self.reranker, pseudo_interpretations, candidates)  # (pseudo-interpretations, candidates)
        nearest = np.argsort(-relevance, axis=1, kind="stable")[:, : self.passages]
        mean = relevance.mean(axis=0)
        best = sorted(np.unique(nearest), key=lambda index: -mean[index])[: self.passages]
        return [candidates[index].with_score(mean[index]) for index in best]


def named(numbers: Sequence[int], count: int) -> list[bool]:
    """Return for each of ``count`` numbered things whether a reply names its number; other numbers name nothing."""
    return [number in numbers for number in range(1, count + 1)]
