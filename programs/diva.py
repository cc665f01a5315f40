"""DIVA: diversify, verify, adapt (In et al., 2024, https://arxiv.org/abs/2409.02361)."""

from collections.abc import Sequence
from typing import Unpack

import dspy

from polyqa.base.values import Passage, render_passages
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.calls import NO_READINGS, Fallback
from polyqa.lm.sampling import DIVA_SAMPLING
from polyqa.signatures import AnswerClosedBook, VerifyInterpretation, VerifyInterpretations

from .base import CallLimits
from .citation import cite
from .diversify import Answer, DiversifyingProgram, DiversifySettings, named
from .steps import CallTuple, Steps, ask, ask_all
from .worked_examples import worked_demos


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
    retriever, reranker, settings
        See `diversify.DiversifyingProgram`. With the default ``preset="lean"`` one call verifies all
        pseudo-interpretations, and readings and answer are asked for at the same time: three calls deep in place of
        the paper's five. The reply is thrown away where the passages turn out to be useless. With ``paper`` typing,
        inference and the answer from memory show the five worked examples of `worked_examples` (Tables 7, 8 and 12)
        until the program is compiled or a saved one is loaded.
    """

    paper_sampling = DIVA_SAMPLING

    def __init__(self, retriever: Retriever, reranker: Reranker, **settings: Unpack[DiversifySettings]) -> None:
        super().__init__(retriever, reranker, **settings)
        self.verify = self.predictor(VerifyInterpretations if self.lean else VerifyInterpretation)
        self.recall = self.predictor(AnswerClosedBook)
        if not self.lean:
            for predictor in (self.classify, self.infer, self.recall):
                predictor.demos = worked_demos(predictor.signature)

    @property
    def call_limits(self) -> CallLimits:
        """Typing, inference, verification, the answer from the passages, and the one from memory."""
        verifying = 1 if self.lean else self.max_interpretations
        return CallLimits(calls=4 + verifying, depth=4 if self.lean else 5)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question (Algorithm 1)."""
        typed, pseudo, passages = yield from self.diversified(question)
        checks = self.verifying(passages, question, pseudo) if passages else []
        inputs = {"passages": render_passages(passages), "question": question}
        early: list[CallTuple] = [(self.clarify, inputs, NO_READINGS)] if self.lean and passages else []
        replies = yield from ask_all([*checks, *early])
        verdicts = self.verdicts(replies[: len(checks)], len(pseudo))
        early_answers = [(reply.answer, cite(reply.interpretations, passages)) for reply in replies[len(checks) :]]
        answer = yield from self.adapt(question, passages, any(verdicts), early_answers)
        return self.prediction(answer, passages, typed, pseudo, verdicts)

    def verifying(self, passages: Sequence[Passage], question: str, interpretations: Sequence[str]) -> list[CallTuple]:
        """Return the calls that ask which interpretations passages answer: one for each, or one for all."""
        rendered = render_passages(passages)
        if self.lean:  # the passages are sent once, the reply is a few numbers
            return [(self.verify, {"passages": rendered, "question": question, "candidates": list(interpretations)})]
        return [(self.verify, {"passages": rendered, "question": reading}) for reading in interpretations]

    def verdicts(self, replies: Sequence[dspy.Prediction], count: int) -> list[bool]:
        """Return for each of ``count`` interpretations whether the passages answer it; none without replies."""
        if self.lean:
            return named(replies[0].answered if replies else (), count)
        return [reply.answerable == "Yes" for reply in replies] or [False] * count

    def adapt(self, question: str, passages: Sequence[Passage], useful: bool, early: Sequence[Answer]) -> Steps[Answer]:
        """Return the answer from the passages if they are useful, else the one from memory, which cites nothing.

        ``early`` holds the answer from the passages if it was asked for already. Where that fails, memory is left, too.
        """
        if useful:
            answered = early[0] if early else (yield from self.answer_from(question, passages, NO_READINGS))
            if answered[0]:
                return answered
        # Passages that did not pass are better than no answer at all.
        usable = [answer for answer in early if answer[0]]
        fallback = Fallback({"answer": ""}, "the answer comes from the passages after all") if usable else None
        recalled = yield from ask(self.recall, fallback=fallback, question=question)
        return (recalled.answer, []) if recalled.answer or not usable else usable[0]
