"""The router: one answer where there is one, every reading where there are several."""

from collections.abc import Sequence
from typing import Literal, Unpack

import dspy

from polyqa.colbert_index import Reranker, Retriever
from polyqa.metrics.agreement import agree
from polyqa.signatures import AmbiguityType, Interpretation, LocateAnswer, Passage, render_passages
from polyqa.signatures.lenient import is_null

from .base import write_answer
from .citation import cite
from .diva import DIVA, DIVASettings
from .steps import Steps, ask, ask_all, work

Rule = Literal["both", "typing", "spread", "never"]


class Auto(DIVA):
    """Decide whether a question is ambiguous in this corpus, and answer it the short or the long way.

    Two calls go out at once: the ambiguity is typed (DIVA's first step), and one answer is located in the K
    passages nearest to the question, which also tells whether these passages give another. A question
    with one answer goes the short way: the located answer, told from its passage; three calls in all.
    Every other question goes DIVA's way, with what the router knows: readings that agree on one answer
    are one reading, the located answer's reading comes first, and where DIVA would fall back on the
    language model's memory because no pseudo-interpretation is answered, the located answer is told.

    Its prediction has DIVA's fields (``pseudo_interpretations`` and ``verdicts`` are empty after the
    short way, where ``coverage`` is that of the one question), ``universe`` (after the long way: all passages that
    were read), ``ambiguous`` (whether more than one answer was
    given) and ``answers`` (the distinct short answers, the likeliest first: the short form for SituatedQA
    or NQ).

    Parameters
    ----------
    retriever, reranker, settings
        See `diva.DIVA`.
    rule
        What decides that a question is plain: the ``spread`` of answers over the passages, the ``typing``
        alone, ``both`` (they must agree), or ``never``, which sends all questions the long way. What
        a question can mean in this corpus only the corpus tells, hence the default; typing sees no passage.
    """

    def __init__(
        self, retriever: Retriever, reranker: Reranker, *, rule: Rule = "spread", **settings: Unpack[DIVASettings]
    ) -> None:
        super().__init__(retriever, reranker, **settings)
        if rule not in ("both", "typing", "spread", "never"):
            raise ValueError(f"rule is both, typing, spread or never, got {rule!r}")
        self.rule: Rule = rule
        self.locate = self.predictor(LocateAnswer)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        near = yield from work(self.retrieve, question)
        typed, located = yield from ask_all(
            [
                (self.classify, {"question": question}),
                (self.locate, {"passages": render_passages(near), "question": question}),
            ]
        )
        found = self._located(question, located, near)
        if found and self._plain(typed, located):
            answer = yield from write_answer(self.write, question, found, near)
            return self._told(typed, [], near, [], answer, found)
        pseudo = yield from self.infer_from(question, typed)
        passages = diversified = yield from work(self.diversify, question, pseudo)
        verdicts = yield from self.verify_all(pseudo, passages)
        if self._useful(verdicts):
            extracted = yield from ask(self.extract, passages=render_passages(passages), question=question)
            readings = self._distinct(cite(extracted.interpretations, passages), found)
        else:
            readings, passages = found, near
        if readings:
            answer = yield from write_answer(self.write, question, readings, passages)
        else:
            answer = (yield from ask(self.recall, question=question)).answer
        prediction = self._told(typed, pseudo, passages, verdicts, answer, readings)
        prediction.universe = list({passage.pid: passage for passage in (*near, *diversified)}.values())
        return prediction

    def _plain(self, typed: dspy.Prediction, located: dspy.Prediction) -> bool:
        one_meaning = AmbiguityType.NONE in typed.ambiguity_types
        one_answer = located.settled == "Yes"
        return {
            "both": one_meaning and one_answer,
            "typing": one_meaning,
            "spread": one_answer,
            "never": False,
        }[self.rule]

    @staticmethod
    def _located(question: str, located: dspy.Prediction, near: Sequence[Passage]) -> list[Interpretation]:
        if is_null(located.short_answer):
            return []
        source = None if is_null(located.source) else located.source
        return cite([Interpretation(question=question, answer=located.short_answer.strip(), pid=source)], near)

    @staticmethod
    def _distinct(readings: Sequence[Interpretation], found: Sequence[Interpretation]) -> list[Interpretation]:
        """Return the readings, the one with the located answer first; one if they agree on one answer."""
        likeliest = [one.answer for one in found]
        ordered = sorted(readings, key=lambda one: not (likeliest and agree(one.answer, likeliest)))
        if len(ordered) > 1 and all(agree(one.answer, [ordered[0].answer]) for one in ordered):
            return ordered[:1]
        return ordered

    def _told(
        self,
        typed: dspy.Prediction,
        pseudo: list[str],
        passages: list[Passage],
        verdicts: list[bool],
        answer: str,
        readings: list[Interpretation],
    ) -> dspy.Prediction:
        answers: list[str] = []
        for one in readings:
            if not agree(one.answer, answers):
                answers.append(one.answer)
        prediction = self._prediction(typed, pseudo, passages, verdicts, answer, readings)
        prediction.ambiguous = len(answers) > 1
        prediction.answers = answers
        return prediction
