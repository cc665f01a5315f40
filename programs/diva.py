"""DIVA: diversify, verify, adapt (In et al., 2024, https://arxiv.org/abs/2409.02361)."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Unpack

import dspy
import numpy as np

from polyqa.base.values import Coverage, Interpretation, Passage, render_passages
from polyqa.colbert_index import Reranker, Retriever
from polyqa.questions import QuestionRetriever
from polyqa.signatures import (
    AnswerClosedBook,
    InferPseudoInterpretations,
    TypeAmbiguity,
    VerifyInterpretation,
    VerifyInterpretations,
)

from .base import GroundedProgram, RetrievalSettings
from .citation import cite
from .pseudo_interpretations import from_questions
from .sampling import DIVA_SAMPLING
from .spans import scores
from .stand_ins import NOTHING_FOUND, StandIn
from .steps import Call, Steps, ask, ask_ahead, ask_all, ask_while, work
from .worked_examples import worked_demos

Pseudo = Literal["lm", "questions"]
_SIMILAR = 20  # generated questions
_NOT_RECALLED = StandIn({"answer": ""}, "the passages are asked after all")


class DIVASettings(RetrievalSettings, total=False):
    """DIVA's settings, for programs that extend it."""

    max_interpretations: int
    useful_at: float
    pseudo: Pseudo


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
    retriever, reranker, settings
        See `base.GroundedProgram`; the reranker is both R of equation 4 and Enc of equation 5. With the default
        ``preset="lean"`` one call verifies all pseudo-interpretations, and readings and answer are asked for at the
        same time: three calls deep in place of the paper's five. The reply is thrown away where the passages turn out
        to be useless. With ``paper`` typing, inference and the answer from memory show the five worked examples of
        `worked_examples` (Tables 7, 8 and 12) until the program is compiled or a saved one is loaded.
    asked
        A database of generated questions with its index; needed for ``pseudo="questions"``, together with the encoder.
    max_interpretations
        How many pseudo-interpretations are used at most; the paper sets no limit, its examples have
        two to six.
    useful_at
        From which share of answered pseudo-interpretations on the passages are used, in (0, 1]. The
        default 0 is the paper's rule: one is enough.
    pseudo
        Where pseudo-interpretations come from: the ``lm`` (the paper), or the generated ``questions`` nearest to the
        asked one (`pseudo_interpretations.from_questions`), which saves a call. Where no question is near the asked one
        is the only pseudo-interpretation.
    """

    paper_sampling = DIVA_SAMPLING
    shows_examples: ClassVar[bool] = True
    """Whether ``preset="paper"`` shows worked examples; a subclass that is no published system says no."""

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        asked: QuestionRetriever | None = None,
        *,
        max_interpretations: int = 10,
        useful_at: float = 0.0,
        pseudo: Pseudo = "lm",
        **settings: Unpack[RetrievalSettings],
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        if max_interpretations < 1:
            raise ValueError(f"max_interpretations must be at least 1, got {max_interpretations}")
        if not 0.0 <= useful_at <= 1.0:
            raise ValueError(f"useful_at must lie in [0, 1], got {useful_at}")
        if pseudo not in ("lm", "questions"):
            raise ValueError(f"pseudo is lm or questions, got {pseudo!r}")
        if pseudo == "questions" and (asked is None or self.encoder is None):
            raise ValueError("pseudo='questions' takes a database of generated questions and an encoder")
        self.max_interpretations = max_interpretations
        self.useful_at = useful_at
        self.pseudo: Pseudo = pseudo
        self.asked = asked
        self.classify = self.predictor(TypeAmbiguity)
        self.infer = self.predictor(InferPseudoInterpretations)
        self.verify = self.predictor(VerifyInterpretations if self.lean else VerifyInterpretation)
        self.recall = self.predictor(AnswerClosedBook)
        if self.shows_examples and not self.lean:
            for predictor in (self.classify, self.infer, self.recall):
                predictor.demos = worked_demos(predictor.signature)

    def diversify(self, question: str, pseudo_interpretations: Sequence[str]) -> list[Passage]:
        """Search, and return the K passages that best cover the pseudo-interpretations (equations 4 and 5)."""
        return self.covering(self.search(question), pseudo_interpretations)

    def covering(self, candidates: Sequence[Passage], pseudo_interpretations: Sequence[str]) -> list[Passage]:
        """Return those K of some passages that best cover the pseudo-interpretations (equations 4 and 5)."""
        if not candidates:
            return []
        relevance = scores(self.reranker, pseudo_interpretations, candidates)
        nearest = np.argsort(-relevance, axis=1, kind="stable")[:, : self.passages]
        union = np.unique(nearest)
        mean = relevance.mean(axis=0)
        kept = sorted(union, key=lambda index: -mean[index])[: self.passages]
        return [candidates[index].with_score(mean[index]) for index in kept]

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        (typed,), candidates = yield from ask_while([(self.classify, {"question": question})], self.search, question)
        pseudo = yield from self.infer_from(question, typed)
        passages = yield from work(self.covering, candidates, pseudo)
        if self.lean and passages:
            verdicts, answer, interpretations = yield from self.verify_and_answer(question, pseudo, passages)
        else:
            verdicts = yield from self.verify_all(pseudo, passages)
            answer, interpretations = yield from self.answer_or_recall(question, passages, self._useful(verdicts))
        return self._prediction(typed, pseudo, passages, verdicts, answer, interpretations)

    def infer_from(self, question: str, typed: dspy.Prediction) -> Steps[list[str]]:
        """Return the pseudo-interpretations; where there are none the question is the only one."""
        if self.pseudo == "questions":
            return (yield from work(self.similar_questions, question)) or [question]
        inferred = yield from ask(self.infer, question=question, reason=typed.reason)
        return list(inferred.pseudo_interpretations)[: self.max_interpretations] or [question]

    def similar_questions(self, question: str) -> list[str]:
        """Return the generated questions that stand for readings of a question, nearest first."""
        assert self.asked is not None
        assert self.encoder is not None
        found = self.asked.database.search(question, _SIMILAR, ranking=self.asked.ranking)
        return from_questions(found, self.encoder, most=self.max_interpretations)

    def verify_and_answer(
        self, question: str, pseudo: Sequence[str], passages: Sequence[Passage]
    ) -> Steps[tuple[list[bool], str, list[Interpretation]]]:
        """Verify, and answer from the passages meanwhile; return verdicts, answer and readings.

        The answer from the passages is not waited for where they are useless. The one from memory takes its place; if
        that cannot be had, the passages are asked after all.
        """
        shown = render_passages(passages)

        def verdicts_of(verified: dspy.Prediction) -> list[bool]:
            return said_yes(verified.answered, len(pseudo))

        verified, both = yield from ask_ahead(
            (self.verify, {"passages": shown, "question": question, "candidates": list(pseudo)}),
            Call(self.clarify, {"passages": shown, "question": question}, otherwise=NOTHING_FOUND),
            lambda verified: self._useful(verdicts_of(verified)),
        )
        verdicts = verdicts_of(verified)
        if both is None or not both.answer:
            recalled = yield from ask(self.recall, otherwise=_NOT_RECALLED if both is None else None, question=question)
            if recalled.answer or both is not None:
                return verdicts, recalled.answer, []
            both = yield from ask(self.clarify, passages=shown, question=question)
        return verdicts, both.answer, cite(both.interpretations, passages)

    def verify_all(self, pseudo: Sequence[str], passages: Sequence[Passage]) -> Steps[list[bool]]:
        """Return for each pseudo-interpretation whether the passages answer it; no call is made without passages."""
        if not passages:
            return [False] * len(pseudo)
        shown = render_passages(passages)
        calls: list[tuple[dspy.Module, dict[str, Any]]] = [
            (self.verify, {"passages": shown, "question": one}) for one in pseudo
        ]
        replies = yield from ask_all(calls)
        return [reply.answerable == "Yes" for reply in replies]

    def answer_or_recall(
        self, question: str, passages: Sequence[Passage], useful: bool
    ) -> Steps[tuple[str, list[Interpretation]]]:
        """Return answer and readings from the passages if they are useful, else the answer from memory, uncited."""
        if useful:
            return (yield from self.answer_from(question, passages))
        recalled = yield from ask(self.recall, question=question)
        return recalled.answer, []

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
            # `auto` verifies nothing where it has located the one answer of a plain question.
            coverage=Coverage.from_verdicts(verdicts) if verdicts else Coverage.USEFUL,
            ambiguity=typed.ambiguity_types,
            reason=typed.reason,
            pseudo_interpretations=pseudo,
            verdicts=verdicts,
        )


def said_yes(numbers: Sequence[int], count: int) -> list[bool]:
    """Return for each of so many numbered things whether a reply names its number; other numbers name nothing."""
    return [number in numbers for number in range(1, count + 1)]
