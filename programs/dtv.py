"""Diversify-then-Verify: the workflow that VERDICT (section 3.2) compares itself with."""

from collections.abc import Sequence
from typing import Any

import dspy

from polyqa.base.values import Passage

from .diva import DIVA, said_yes
from .sampling import GREEDY_SAMPLING
from .steps import Steps, ask_all, ask_while, work


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

    paper_sampling = GREEDY_SAMPLING

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        (typed,), candidates = yield from ask_while([(self.classify, {"question": question})], self.search, question)
        pseudo = yield from self.infer_from(question, typed)
        passages = yield from work(self.covering, candidates, pseudo)
        rows = yield from self._verify_pairs(question, pseudo, passages)
        verdicts = [any(row[index] for row in rows) for index in range(len(pseudo))]
        kept = [passage for passage, row in zip(passages, rows, strict=True) if any(row)]
        useful = bool(kept) and self._useful(verdicts)
        answer, readings = yield from self.answer_or_recall(question, kept, useful)
        prediction = self._prediction(typed, pseudo, kept or passages, verdicts, answer, readings)
        prediction.universe = passages
        return prediction

    def _verify_pairs(
        self, question: str, pseudo: Sequence[str], passages: Sequence[Passage]
    ) -> Steps[list[list[bool]]]:
        """Return for each passage whether it answers each pseudo-interpretation; ``lean`` asks once per passage."""
        if self.lean:
            given = {"question": question, "candidates": list(pseudo)}
            replies = yield from ask_all([(self.verify, {"passages": [one.render()], **given}) for one in passages])
            return [said_yes(reply.answered, len(pseudo)) for reply in replies]
        # Passage by passage, so that calls with the same beginning follow each other.
        pairs: list[tuple[dspy.Module, dict[str, Any]]] = [
            (self.verify, {"passages": [passage.render()], "question": one}) for passage in passages for one in pseudo
        ]
        answered = [reply.answerable == "Yes" for reply in (yield from ask_all(pairs))]
        return [answered[start : start + len(pseudo)] for start in range(0, len(answered), len(pseudo))]
