"""The router: one answer where there is one, every reading where there are several."""

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import dspy

from polyqa.base.values import AmbiguityType, Interpretation, Passage, render_passages
from polyqa.colbert_index import Reranker, Retriever
from polyqa.metrics.agreement import agree
from polyqa.metrics.text import several
from polyqa.questions import QuestionRetriever
from polyqa.replies import is_null
from polyqa.signatures import LocateAnswer, VerifyReadings, WriteLongFormAnswer

from .base import write_answer
from .citation import cite, number_citations
from .diva import DIVA, DIVASettings, said_yes
from .sampling import NO_SAMPLING
from .stand_ins import NOTHING_FOUND
from .steps import Steps, ask, ask_all, work

Rule = Literal["both", "typing", "spread", "never"]


class Auto(DIVA):
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
    retriever, reranker, asked, settings
        See `diva.DIVA`. With the default ``preset="lean"`` one reply gives readings and answer, one call verifies all
        readings, and the answer is written again only if some reading does not hold.
    rule
        What decides that a question is plain: the ``spread`` of answers over the passages, the ``typing``
        alone, ``both`` (they must agree), or ``never``, which sends all questions the long way. What
        a question can mean in this corpus only the corpus tells, hence the default; typing sees no passage.
    """

    paper_sampling = NO_SAMPLING
    shows_examples = False  # nothing of its own is published, and the examples know no plain question

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        asked: QuestionRetriever | None = None,
        *,
        rule: Rule = "spread",
        **settings: Unpack[DIVASettings],
    ) -> None:
        super().__init__(retriever, reranker, asked, **settings)
        if rule not in ("both", "typing", "spread", "never"):
            raise ValueError(f"rule is both, typing, spread or never, got {rule!r}")
        self.rule: Rule = rule
        self.locate = self.predictor(LocateAnswer, brief=self.lean)
        if self.lean:
            self.verify = self.predictor(VerifyReadings)
            # of a plain question, and where not all readings hold
            self.write = self.predictor(WriteLongFormAnswer, brief=True)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        candidates = yield from work(self.search, question)
        near = yield from work(self.nearest, question, candidates)
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
        diversified = yield from work(self.covering, candidates, pseudo)
        known = {passage.pid for passage in near}
        passages = [*near, *[new for new in diversified if new.pid not in known][: self.passages // 2]]
        readings: list[Interpretation] = []
        extracted, told = list[Interpretation](), ""
        if passages:
            reply = yield from ask(
                self.clarify if self.lean else self.extract,
                otherwise=NOTHING_FOUND,
                passages=render_passages(passages),
                question=question,
            )
            extracted, told = cite(reply.interpretations, passages), reply.answer if self.lean else ""
            readings = self._distinct(extracted, found)[: self.max_interpretations]
        verdicts = yield from self.verify_readings(question, readings, passages)
        held = [reading for reading, holds in zip(readings, verdicts, strict=True) if holds]
        readings = held if self._useful(verdicts) else found
        if told and readings and len(readings) == len(extracted) == len(held):
            answer = told
        elif readings:
            answer = yield from write_answer(self.write, question, readings, passages)
        else:
            answer = (yield from ask(self.recall, question=question)).answer
        prediction = self._told(typed, pseudo, passages, verdicts or [False], answer, readings)
        prediction.universe = list({passage.pid: passage for passage in (*near, *diversified)}.values())
        return prediction

    def verify_readings(
        self, question: str, readings: Sequence[Interpretation], passages: Sequence[Passage]
    ) -> Steps[list[bool]]:
        """Return for each reading whether the passage that it cites answers it; all passages where it cites none."""
        if self.lean and readings:
            needed = {reading.pid for reading in readings}
            if needed <= {passage.pid for passage in passages}:  # the others were read once, and are not judged by
                passages = [passage for passage in passages if passage.pid in needed]
            shown, numbered = render_passages(passages), number_citations(readings, passages)
            reply = yield from ask(self.verify, passages=shown, question=question, interpretations=numbered)
            return said_yes(reply.supported, len(readings))
        by_pid = {passage.pid: passage for passage in passages}
        calls: list[tuple[dspy.Module, dict[str, Any]]] = []
        for reading in readings:
            cited = by_pid.get(reading.pid or "")
            calls.append(
                (
                    self.verify,
                    {"passages": render_passages([cited] if cited else passages), "question": reading.question},
                )
            )
        replies = yield from ask_all(calls)
        return [reply.answerable == "Yes" for reply in replies]

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
        distinct = _unlike([one.answer for one in readings])
        prediction = self._prediction(typed, pseudo, passages, verdicts, answer, readings)
        prediction.ambiguous = len(distinct) > 1
        prediction.answers = _unlike([part for one in distinct for part in several(one)])
        return prediction


def _unlike(answers: Sequence[str]) -> list[str]:
    """Return the answers that do not agree with an earlier one."""
    kept: list[str] = []
    for answer in answers:
        if not agree(answer, kept):
            kept.append(answer)
    return kept
