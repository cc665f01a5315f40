"""DIVA: diversify, verify, adapt (In et al., 2024, https://arxiv.org/abs/2409.02361)."""

from collections.abc import Sequence
from typing import Unpack

import dspy

from polyqa.base.values import Coverage, Interpretation, Passage, render_passages
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.calls import NO_READINGS, Fallback
from polyqa.lm.sampling import DIVA_SAMPLING
from polyqa.questions import QuestionRetriever
from polyqa.signatures import AnswerClosedBook

from .base import CallLimits
from .citation import cite
from .diversify import DiversifyingProgram, DiversifySettings
from .steps import CallTuple, Steps, ask, ask_all, ask_while, work
from .verification import OneByOne, Together
from .worked_examples import worked_demos

Answer = tuple[str, list[Interpretation]]
"""A long answer, and the readings that it tells."""


class DIVA(DiversifyingProgram):
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
    retriever, reranker, asked, settings
        See `diversify.DiversifyingProgram`. With the default ``preset="lean"`` one call verifies all
        pseudo-interpretations, and readings and answer are asked for at the same time: three calls deep in place of
        the paper's five. The reply is thrown away where the passages turn out to be useless. With ``paper`` typing,
        inference and the answer from memory show the five worked examples of `worked_examples` (Tables 7, 8 and 12)
        until the program is compiled or a saved one is loaded.
    """

    paper_sampling = DIVA_SAMPLING

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        asked: QuestionRetriever | None = None,
        **settings: Unpack[DiversifySettings],
    ) -> None:
        super().__init__(retriever, reranker, asked, **settings)
        self.verify = self.predictor(self.verification.signature)
        self.recall = self.predictor(AnswerClosedBook)
        if not self.lean:
            for predictor in (self.classify, self.infer, self.recall):
                predictor.demos = worked_demos(predictor.signature)

    @property
    def verification(self) -> OneByOne:
        """How pseudo-interpretations are verified: one by one as published, or together."""
        return Together() if self.lean else OneByOne()

    @property
    def call_limits(self) -> CallLimits:
        """Typing, inference, verification, the answer from the passages, and the one from memory."""
        verifying = 1 if self.lean else self.max_interpretations
        return CallLimits(
            calls=self.diversifying_calls + verifying + 2, depth=self.diversifying_calls + (2 if self.lean else 3)
        )

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question (Algorithm 1)."""
        (typed,), candidates = yield from ask_while([(self.classify, {"question": question})], self.search, question)
        pseudo = yield from self.infer_from(question, typed)
        passages = yield from work(self.covering, candidates, pseudo)
        checks = self.verification.calls(self.verify, passages, question, pseudo) if passages else []
        early = self.early_answer(question, passages)
        replies = yield from ask_all([*checks, *early])
        verdicts = self.verification.verdicts(replies[: len(checks)], len(pseudo))
        known = [(reply.answer, cite(reply.interpretations, passages)) for reply in replies[len(checks) :]]
        answer, readings = yield from self.adapt(question, passages, any(verdicts), known)
        return dspy.Prediction(
            answer=answer,
            interpretations=readings,
            passages=passages,
            coverage=Coverage.from_verdicts(verdicts),
            ambiguity=typed.ambiguity_types,
            reason=typed.reason,
            pseudo_interpretations=pseudo,
            verdicts=verdicts,
        )

    def early_answer(self, question: str, passages: Sequence[Passage]) -> list[CallTuple]:
        """Return the call for readings and answer that ``lean`` makes before the passages are verified."""
        inputs = {"passages": render_passages(passages), "question": question}
        return [(self.clarify, inputs, NO_READINGS)] if self.lean and passages else []

    def adapt(self, question: str, passages: Sequence[Passage], useful: bool, known: Sequence[Answer]) -> Steps[Answer]:
        """Return the answer from the passages if they are useful, else the one from memory, which cites nothing.

        ``known`` holds the answer from the passages if it was asked for already; if it failed, its text is empty.
        """
        if useful:
            answered = known[0] if known else (yield from self.answer_from(question, passages))
            if answered[0]:
                return answered
        # Passages that did not pass are better than no answer at all.
        usable = [answer for answer in known if answer[0]]
        fallback = Fallback({"answer": ""}, "the answer comes from the passages after all") if usable else None
        recalled = yield from ask(self.recall, fallback=fallback, question=question)
        return (recalled.answer, []) if recalled.answer or not usable else usable[0]
