"""The router: one answer where there is one, every reading where there are several."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Literal

import dspy

from polyqa.colbert_index import Reranker, Retriever
from polyqa.embedded_models import Encoder
from polyqa.metrics.agreement import agree
from polyqa.signatures import AmbiguityType, Coverage, Interpretation, LocateAnswer, Passage, render_passages
from polyqa.signatures.lenient import is_null

from .citation import cite
from .concurrency import gather_all, run_all
from .diva import DIVA
from .grounded import writing_inputs
from .knn import KNNPredict

Rule = Literal["both", "typing", "spread", "never"]


class Auto(DIVA):
    """Decide whether a question is ambiguous in this corpus, and answer it on the short or the long road.

    Two calls go out at once: the ambiguity is typed (DIVA's first step), and one answer is located in the K
    passages nearest to the question, which also tells whether these passages give another. A question
    with one answer takes the short road: the located answer, told from its passage; three calls in all.
    Every other question takes DIVA's road, with what the router knows: readings that agree on one answer
    are one reading, the located answer's reading comes first, and where DIVA would fall back on the
    language model's memory because no pseudo-interpretation is answered, the located answer is told.

    Its prediction has DIVA's fields (``pseudo_interpretations`` and ``verdicts`` are empty on the short
    road, where ``coverage`` is that of the one question), ``universe`` (on the long road: all passages that
    were read), ``ambiguous`` (whether more than one answer was
    given) and ``answers`` (the distinct short answers, the likeliest first: the short form for SituatedQA
    or NQ).

    Parameters
    ----------
    retriever, reranker, encoder, passages, candidates, max_interpretations, useful_at
        See `diva.DIVA`.
    rule
        What decides that a question is plain: the ``spread`` of answers over the passages, the ``typing``
        alone, ``both`` (they must agree), or ``never``, which sends all questions down the long road. What
        a question can mean in this corpus only the corpus tells, hence the default; typing sees no passage.
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
        rule: Rule = "spread",
    ) -> None:
        super().__init__(
            retriever,
            reranker,
            encoder=encoder,
            passages=passages,
            candidates=candidates,
            max_interpretations=max_interpretations,
            useful_at=useful_at,
        )
        if rule not in ("both", "typing", "spread", "never"):
            raise ValueError(f"rule is both, typing, spread or never, got {rule!r}")
        self.rule: Rule = rule
        self.locate = KNNPredict(LocateAnswer, encoder=encoder)

    def forward(self, question: str) -> dspy.Prediction:
        """Answer a question."""
        near = self.retrieve(question)
        shown = render_passages(near)
        typed, located = run_all(
            [partial(self.classify, question=question), partial(self.locate, passages=shown, question=question)]
        )
        found = self._located(question, located, near)
        if found and self._plain(typed, located):
            written = self.write(**writing_inputs(question, found, near))
            return self._short(typed, written.answer, found, near)
        pseudo = self._usable(question, self.infer(question=question, reason=typed.reason).pseudo_interpretations)
        passages = diversified = self.diversify(question, pseudo)
        verdicts = self._verdicts(pseudo, run_all(self._verifications(self.verify, pseudo, passages)))
        if self._useful(verdicts):
            readings = self.extract(passages=render_passages(passages), question=question).interpretations
            readings = self._distinct(cite(readings, passages), found)
        else:
            readings, passages = found, near
        if readings:
            answer = self.write(**writing_inputs(question, readings, passages)).answer
        else:
            answer = self.recall(question=question).answer
        prediction = self._long(typed, pseudo, passages, verdicts, answer, readings)
        prediction.universe = list({passage.pid: passage for passage in (*near, *diversified)}.values())
        return prediction

    async def aforward(self, question: str) -> dspy.Prediction:
        """See `forward`."""
        near = await asyncio.to_thread(self.retrieve, question)
        shown = render_passages(near)
        typed, located = await gather_all(
            [
                partial(self.classify.acall, question=question),
                partial(self.locate.acall, passages=shown, question=question),
            ]
        )
        found = self._located(question, located, near)
        if found and self._plain(typed, located):
            written = await self.write.acall(**writing_inputs(question, found, near))
            return self._short(typed, written.answer, found, near)
        inferred = await self.infer.acall(question=question, reason=typed.reason)
        pseudo = self._usable(question, inferred.pseudo_interpretations)
        passages = diversified = await asyncio.to_thread(self.diversify, question, pseudo)
        checks = self._verifications(self.verify.acall, pseudo, passages)
        verdicts = self._verdicts(pseudo, await gather_all(checks))
        if self._useful(verdicts):
            extracted = await self.extract.acall(passages=render_passages(passages), question=question)
            readings = self._distinct(cite(extracted.interpretations, passages), found)
        else:
            readings, passages = found, near
        if readings:
            answer = (await self.write.acall(**writing_inputs(question, readings, passages))).answer
        else:
            answer = (await self.recall.acall(question=question)).answer
        prediction = self._long(typed, pseudo, passages, verdicts, answer, readings)
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

    def _short(
        self, typed: dspy.Prediction, answer: str, found: Sequence[Interpretation], near: Sequence[Passage]
    ) -> dspy.Prediction:
        prediction = self._long(typed, [], near, [], answer, found)
        prediction.coverage = Coverage.USEFUL
        return prediction

    def _long(
        self,
        typed: dspy.Prediction,
        pseudo: Sequence[str],
        passages: Sequence[Passage],
        verdicts: Sequence[bool],
        answer: str,
        readings: Sequence[Interpretation],
    ) -> dspy.Prediction:
        answers: list[str] = []
        for one in readings:
            if not agree(one.answer, answers):
                answers.append(one.answer)
        return dspy.Prediction(
            answer=answer,
            interpretations=list(readings),
            passages=list(passages),
            coverage=Coverage.from_verdicts(verdicts) if verdicts else Coverage.USELESS,
            ambiguity=typed.ambiguity_types,
            reason=typed.reason,
            pseudo_interpretations=list(pseudo),
            verdicts=list(verdicts),
            ambiguous=len(answers) > 1,
            answers=answers,
        )
