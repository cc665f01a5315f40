"""Diversify-then-Verify: the workflow that VERDICT (section 3.2) compares itself with."""

import asyncio
from collections.abc import Sequence
from functools import partial

import dspy

from polyqa.signatures import Interpretation, Passage

from .concurrency import gather_all, run_all
from .diva import DIVA


class DiversifyThenVerify(DIVA):
    """DIVA with verification of every pair of pseudo-interpretation and passage.

    Pseudo-interpretations are inferred without passages (VERDICT's equation 1), each brings its top
    passages (equation 2), their union is pruned to K as DIVA does (appendix D), and every pair of
    pseudo-interpretation and passage is verified on its own, all at once (equation 3): I × K calls in place
    of DIVA's I. Passages that no pseudo-interpretation needs are dropped; the readings are extracted and
    the answer is written from the others (equation 4). If none is left the answer comes from the language
    model alone, as in DIVA.

    Its prediction has DIVA's fields and ``universe``, the passages that were verified; ``passages`` are those
    that passed, or all if none did, and ``verdicts`` say which pseudo-interpretations any passage answers.
    For the parameters see `diva.DIVA`.
    """

    def forward(self, question: str) -> dspy.Prediction:
        """Answer a question."""
        typed = self.classify(question=question)
        pseudo = self._usable(question, self.infer(question=question, reason=typed.reason).pseudo_interpretations)
        passages = self.diversify(question, pseudo)
        replies = run_all([partial(self.verify, **pair) for pair in self._pairs(pseudo, passages)])
        verdicts, kept = self._reduce(pseudo, passages, replies)
        if kept and self._useful(verdicts):
            answer, readings = self.answer_from(question, kept)
        else:
            answer, readings = self.recall(question=question).answer, list[Interpretation]()
        prediction = self._prediction(typed, pseudo, kept or passages, verdicts, answer, readings)
        prediction.universe = passages
        return prediction

    async def aforward(self, question: str) -> dspy.Prediction:
        """See `forward`."""
        typed = await self.classify.acall(question=question)
        inferred = await self.infer.acall(question=question, reason=typed.reason)
        pseudo = self._usable(question, inferred.pseudo_interpretations)
        passages = await asyncio.to_thread(self.diversify, question, pseudo)
        replies = await gather_all([partial(self.verify.acall, **pair) for pair in self._pairs(pseudo, passages)])
        verdicts, kept = self._reduce(pseudo, passages, replies)
        if kept and self._useful(verdicts):
            answer, readings = await self.aanswer_from(question, kept)
        else:
            answer, readings = (await self.recall.acall(question=question)).answer, list[Interpretation]()
        prediction = self._prediction(typed, pseudo, kept or passages, verdicts, answer, readings)
        prediction.universe = passages
        return prediction

    @staticmethod
    def _pairs(pseudo: Sequence[str], passages: Sequence[Passage]) -> list[dict[str, object]]:
        # Passage by passage, so that calls with the same beginning follow each other.
        return [{"passages": [passage.render()], "question": one} for passage in passages for one in pseudo]

    @staticmethod
    def _reduce(
        pseudo: Sequence[str], passages: Sequence[Passage], replies: Sequence[dspy.Prediction]
    ) -> tuple[list[bool], list[Passage]]:
        """Return which pseudo-interpretations are answered anywhere, and the passages that answer any."""
        answered = [reply.answerable == "Yes" for reply in replies]
        rows = [answered[start : start + len(pseudo)] for start in range(0, len(answered), len(pseudo))]
        verdicts = [any(row[index] for row in rows) for index in range(len(pseudo))]
        return verdicts, [passage for passage, row in zip(passages, rows, strict=True) if any(row)]
