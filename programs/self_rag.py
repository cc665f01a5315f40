"""Self-RAG, prompted (Asai et al., 2024, https://arxiv.org/abs/2310.11511)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import dspy

from polyqa.base.values import Interpretation, Passage, Support
from polyqa.colbert_index import Reranker, Retriever
from polyqa.metrics.text import several
from polyqa.replies import clean_readings, is_null
from polyqa.signatures import AnswerClosedBook, CritiqueSegment, DecideRetrieval, DraftSegment

from .base import CallLimits, RetrievalSettings, RetrievingProgram
from .steps import Steps, ask, ask_all, ask_while, work

_MARGIN = 0.5  # how far from the best score a segment is kept
_RELEVANT, _SUPPORTED, _USEFUL = 1.0, 1.0, 0.5  # w_rel, w_sup and w_use of the paper
_SUPPORT = {Support.FULLY: 1.0, Support.PARTIALLY: 0.5, Support.NO: 0.0}


@dataclass(frozen=True)
class _Segment:
    """What a relevant passage gave: a segment of the answer with its readings, IsSup and IsUse."""

    passage: Passage
    text: str
    readings: tuple[Interpretation, ...]
    support: Support
    usefulness: int

    @property
    def score(self) -> float:
        """The critique score (equations 3 and 4)."""
        return _RELEVANT + _SUPPORTED * _SUPPORT[self.support] + _USEFUL * (self.usefulness - 3) / 2


class SelfRAG(RetrievingProgram):
    """Retrieve on demand, answer from each passage on its own, and let critiques choose what is said.

    Algorithm 1 of the paper with prompts in place of reflection tokens:

    1. Retrieve: should passages be looked up? If not, the answer comes from the language model alone. The paper looks
       them up in any case where an answer has to cite them, on ASQA, and so does ``preset="lean"``, the default.
    2. IsRel and a segment: for each of the K passages, all at once, whether it is relevant, and a segment of
       the answer from this passage alone. A passage that is not relevant goes no further.
    3. IsSup and IsUse: for each segment, all at once, how far its passage supports it, and how useful it is
       from 1 to 5.
    4. A segment scores (equations 3 and 4, section 3.3)

           w_rel · rel + w_sup · sup + w_use · use

       with rel = 1, sup = 1, 0.5 or 0 for Fully, Partially or No, and use = −1, −0.5, 0, 0.5 or 1. Labels take
       the place of the tokens' probabilities, and the probability of the segment is left out: most language
       models that are served do not tell them.

    The paper writes one segment after the other by a beam search in which each continues those before. An
    ambiguous question needs its readings, not the best continuation of one: here every passage is drafted from
    once, segments without support are dropped (the paper's hard constraint), and of the others all within
    0.5 of the best score are kept, best first; equal scores keep the passages' order, and a segment
    whose answers were all given before is dropped. The answer is these segments one after the other. If none
    is left, the answer comes from the language model alone, as the paper's does after passages that are
    irrelevant. Drafting and judging are two calls: in one, a model marks what it is just writing.

    Its prediction has ``answer``, ``interpretations`` (of the kept segments, cited; empty after a closed-book
    answer), ``passages`` (the K that were retrieved, best first; empty if none were), ``retrieved`` (whether they
    were looked up), ``scores`` (one per passage, ``None`` where it is not relevant), ``supports`` and
    ``usefulness`` (likewise) and ``kept`` (the ids of the passages whose segments make the answer).

    Parameters
    ----------
    retriever, reranker, settings
        See `base.RetrievingProgram`.
    """

    def __init__(self, retriever: Retriever, reranker: Reranker, **settings: Unpack[RetrievalSettings]) -> None:
        super().__init__(retriever, reranker, **settings)
        if not self.lean:
            self.decide = self.predictor(DecideRetrieval)
        self.draft = self.predictor(DraftSegment)
        self.critique = self.predictor(CritiqueSegment)
        self.recall = self.predictor(AnswerClosedBook)

    @property
    def call_limits(self) -> CallLimits:
        """Segments, critiques and the answer from memory; before them, unless ``lean``, whether to retrieve."""
        deciding = 0 if self.lean else 1
        return CallLimits(calls=deciding + 2 * self.most_passages + 1, depth=deciding + 3)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        retrieved, passages = yield from self.retrieve_if_needed(question)
        replies = yield from ask_all(
            [(self.draft, {"question": question, "passage": passage.render()}) for passage in passages]
        )
        # A passage that gave no segment counts as not relevant.
        drafts = [
            (passage, " ".join(reply.segment.split()), reply.readings)
            for passage, reply in zip(passages, replies, strict=True)
            if reply.relevant == "Yes" and not is_null(reply.segment)
        ]
        critiques = yield from ask_all(
            [
                (self.critique, {"question": question, "passage": passage.render(), "segment": text})
                for passage, text, _ in drafts
            ]
        )
        judged = [
            _Segment(
                passage,
                text,
                tuple(reading.model_copy(update={"pid": passage.pid}) for reading in readings),
                Support(critique.support),
                critique.usefulness,
            )
            for (passage, text, readings), critique in zip(drafts, critiques, strict=True)
        ]
        chosen = self._choose(judged)
        answer = " ".join(one.text for one in chosen)
        if not chosen:
            answer = (yield from ask(self.recall, question=question)).answer
        by_pid = {one.passage.pid: one for one in judged}
        in_order = [by_pid.get(passage.pid) for passage in passages]
        return dspy.Prediction(
            answer=answer,
            interpretations=clean_readings(reading for one in chosen for reading in one.readings),
            passages=passages,
            retrieved=retrieved,
            scores=[one and one.score for one in in_order],
            supports=[one and one.support for one in in_order],
            usefulness=[one and one.usefulness for one in in_order],
            kept=[one.passage.pid for one in chosen],
        )

    def retrieve_if_needed(self, question: str) -> Steps[tuple[bool, list[Passage]]]:
        """Return whether passages are needed, and the K passages; none if not."""
        if self.lean:
            return True, (yield from work(self.retrieve, question))
        # Searched before it is known whether it is needed: the index is searched while the decision is awaited.
        (decided,), passages = yield from ask_while([(self.decide, {"question": question})], self.retrieve, question)
        needed = decided.needs_passages == "Yes"
        return needed, passages if needed else []

    @staticmethod
    def _choose(judged: Sequence[_Segment]) -> list[_Segment]:
        """Return the segments that make the answer, best first."""
        supported = [one for one in judged if one.support is not Support.NO]
        best = max((one.score for one in supported), default=0.0)
        chosen: list[_Segment] = []
        earlier: set[str] = set()
        for one in sorted(supported, key=lambda one: -one.score):
            answers = {" ".join(part.lower().split()) for reading in one.readings for part in several(reading.answer)}
            # A segment without readings gives nothing to compare: it stands for itself.
            if one.score >= best - _MARGIN and not (answers and answers <= earlier):
                chosen.append(one)
                earlier |= answers
        return chosen
