"""The router: one answer where there is one, every reading where there are several."""

from collections.abc import Sequence
from typing import Unpack

import dspy

from polyqa.base.values import Interpretation, Passage, render_passages
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.calls import NO_READINGS
from polyqa.metrics.agreement import agree, repeats
from polyqa.metrics.text import several
from polyqa.replies import gives_nothing, is_null
from polyqa.signatures import AnswerClosedBook, LocateAnswer, VerifyInterpretation, VerifyReadings, WriteLongFormAnswer

from .base import CallLimits, write_answer
from .citation import cite, number_citations
from .diversify import DiversifyingProgram, DiversifySettings, named
from .steps import CallTuple, Steps, ask, ask_all, work


class Auto(DiversifyingProgram):
    """Decide whether a question is ambiguous in this corpus, and answer it the short or the long way.

    Two calls go out at once: the ambiguity is typed (DIVA's first step), and one answer is located in the K
    passages nearest to the question, which also tells whether these passages give another. A question
    with one answer goes the short way: the located answer, told from its passage; three calls in all.
    Every other question goes DIVA's way, with what the router knows: the passages nearest to the question come
    first, and of those that the pseudo-interpretations add half as many more; what is verified is not the
    guesses but the readings that were found, each in the passage that it cites, and only those that hold are
    told; readings that agree on one answer are one reading, the located answer's reading comes first, and where
    DIVA would fall back on the language model's memory because nothing is verified, the located answer is told.

    Its prediction has DIVA's fields (``verdicts`` has one bool for each reading that was found, one ``False`` if
    none was, and ``coverage`` says how many of these hold; ``verdicts`` and ``pseudo_interpretations`` are empty
    after the short way, where ``coverage`` is that of the one question), ``universe`` (after the long way: all
    passages that were retrieved), ``ambiguous`` (whether readings with different answers were given) and
    ``answers`` (the distinct short answers, the likeliest first: the short form for SituatedQA or NQ; those that one
    reading has between semicolons are several).

    Parameters
    ----------
    retriever, reranker, settings
        See `diversify.DiversifyingProgram`. With the default ``preset="lean"`` one reply gives readings and answer, one
        call verifies all readings, and the answer is written again only if some reading does not hold.
    """

    def __init__(self, retriever: Retriever, reranker: Reranker, **settings: Unpack[DiversifySettings]) -> None:
        super().__init__(retriever, reranker, **settings)
        self.verify = self.predictor(VerifyReadings if self.lean else VerifyInterpretation)
        self.recall = self.predictor(AnswerClosedBook)
        self.locate = self.predictor(LocateAnswer, brief=self.lean)
        if self.lean:  # of a plain question, and where not all readings hold
            self.write = self.predictor(WriteLongFormAnswer, brief=True)

    @property
    def call_limits(self) -> CallLimits:
        """Typing and location at once, inference, readings, verification, and the answer written again."""
        return CallLimits(calls=5 + (1 if self.lean else self.max_interpretations), depth=5)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        candidates = yield from work(self.search, question)
        near = yield from work(self.nearest, question, candidates)
        typed, reply = yield from ask_all(
            [
                (self.classify, {"question": question}),
                (self.locate, {"passages": render_passages(near), "question": question}),
            ]
        )
        located = self._located(question, reply, near)
        if located and reply.settled == "Yes":  # what it can mean here the passages tell; typing sees none
            answer = yield from write_answer(self.write, question, located, near)
            prediction = self.prediction((answer, located), near, typed, [], [True])
            self._tell_answers(prediction)
            prediction.verdicts = []  # it was located, not verified
            return prediction
        pseudo = yield from self.infer_from(question, typed)
        diversified = yield from work(self.covering, candidates, pseudo)
        near_pids = {passage.pid for passage in near}
        passages = [*near, *[passage for passage in diversified if passage.pid not in near_pids][: self.passages // 2]]
        extracted, written = yield from self._extract(question, passages)
        readings = self._distinct(extracted, located)[: self.max_interpretations]
        verdicts = (yield from self.verify_readings(question, readings, passages)) or [False]
        verified = [reading for reading, holds in zip(readings, verdicts, strict=False) if holds]
        readings = verified or located
        if written and len(readings) == len(extracted) == len(verified) > 0:
            answer = written
        elif readings:
            answer = yield from write_answer(self.write, question, readings, passages)
        else:
            answer = (yield from ask(self.recall, question=question)).answer
        prediction = self.prediction((answer, readings), passages, typed, pseudo, verdicts)
        self._tell_answers(prediction)
        prediction.universe = list({passage.pid: passage for passage in (*near, *diversified)}.values())
        return prediction

    def _extract(self, question: str, passages: Sequence[Passage]) -> Steps[tuple[list[Interpretation], str]]:
        """Return the cited readings of the passages and, with ``lean``, the answer that came with them."""
        if not passages:
            return [], ""
        predictor = self.clarify if self.lean else self.extract
        rendered = render_passages(passages)
        reply = yield from ask(predictor, fallback=NO_READINGS, passages=rendered, question=question)
        return cite(reply.interpretations, passages), reply.answer if self.lean else ""

    def verify_readings(
        self, question: str, readings: Sequence[Interpretation], passages: Sequence[Passage]
    ) -> Steps[list[bool]]:
        """Return for each reading whether the passage that it cites answers it; all passages where it cites none."""
        by_pid = {passage.pid: passage for passage in passages}
        if self.lean and readings:
            cited = {reading.pid for reading in readings}
            if cited <= by_pid.keys():  # the others were read once, and are not judged by
                passages = [passage for passage in passages if passage.pid in cited]
            rendered, numbered = render_passages(passages), number_citations(readings, passages)
            reply = yield from ask(self.verify, passages=rendered, question=question, interpretations=numbered)
            return named(reply.supported, len(readings))
        calls: list[CallTuple] = []
        for reading in readings:
            cited_passages = [by_pid[reading.pid]] if reading.pid in by_pid else passages
            calls.append((self.verify, {"passages": render_passages(cited_passages), "question": reading.question}))
        return [reply.answerable == "Yes" for reply in (yield from ask_all(calls))]

    @staticmethod
    def _located(question: str, located: dspy.Prediction, near: Sequence[Passage]) -> list[Interpretation]:
        if gives_nothing(located.short_answer):
            return []
        source = None if is_null(located.source) else located.source
        return cite([Interpretation(question=question, answer=located.short_answer.strip(), pid=source)], near)

    @staticmethod
    def _distinct(readings: Sequence[Interpretation], located: Sequence[Interpretation]) -> list[Interpretation]:
        """Return the readings, the one with the located answer first; one if they agree on one answer."""
        likeliest = [reading.answer for reading in located]
        ordered = sorted(readings, key=lambda reading: not (likeliest and agree(reading.answer, likeliest)))
        if len(ordered) > 1 and all(repeats(reading.answer, [ordered[0].answer]) for reading in ordered):
            return ordered[:1]
        return ordered

    def keep_readings(self, prediction: dspy.Prediction, places: Sequence[int]) -> None:
        """Leave some readings in a prediction; the others do not make the question ambiguous."""
        super().keep_readings(prediction, places)
        self._tell_answers(prediction)

    @staticmethod
    def _tell_answers(prediction: dspy.Prediction) -> None:
        """Say whether the question is ambiguous here, with its distinct short answers."""
        distinct = _unlike([reading.answer for reading in prediction.interpretations])
        prediction.ambiguous = len(distinct) > 1
        prediction.answers = _unlike([part for answers in distinct for part in several(answers)])


def _unlike(answers: Sequence[str]) -> list[str]:
    """Return the answers that do not repeat an earlier one."""
    distinct: list[str] = []
    for answer in answers:
        if not repeats(answer, distinct):
            distinct.append(answer)
    return distinct
