"""VERDICT: verified diversification with consolidation (Lee et al., 2025, https://arxiv.org/abs/2502.10352)."""

from collections.abc import Sequence
from typing import Unpack

import dspy

from polyqa.base.values import Interpretation, Passage
from polyqa.colbert_index import Reranker, Retriever
from polyqa.models import Encoder
from polyqa.replies import is_null, looks_like_refusal
from polyqa.signatures import InterpretPassage, RelaxQuery, WriteLongFormAnswer

from .base import Program, Settings, write_answer
from .consolidation import Clusters, Strictness, consolidate
from .sampling import GREEDY_SAMPLING
from .spans import rerank, search
from .steps import Steps, ask, ask_all, work


class VERDICT(Program):
    """Ask every passage for the one reading that it answers, cluster the readings, keep the medoids.

    Algorithm 1 of the paper: (1) the query is relaxed (equation 6); (2) its top passages are the universe
    (equation 7); (3) each passage is asked, alone and all at once, for one reading of the question with its
    answer, or abstains (equation 8); (4) question and answer are embedded together and clustered; of each
    cluster the medoid is kept, with the passage that it came from (section 4.2). What the paper leaves to
    the application is the long answer: it is written from the kept readings and their passages.

    Its prediction has ``answer``, ``interpretations`` (each with the passage that it was derived from),
    ``passages`` (those of the readings, in their order), ``universe`` (all that were asked), ``supports``
    (for each reading the ids of all passages of its cluster), ``outliers`` (readings that consolidation
    dropped), ``abstained`` (how many passages gave none) and ``relaxed_query``.

    Parameters
    ----------
    retriever, reranker
        Find and order the universe.
    encoder
        f of section 4.2, and for kNN demos; needed.
    universe
        How many passages are asked (paper: 20).
    candidates
        How many passages the retriever pools before they are ordered.
    strictness
        Of the clustering, see `consolidation.consolidate`.
    embed_answers
        Whether question and answer are embedded together (the default of the paper) or the question alone
        (Table 4).
    keep_outliers
        Keep the readings that only one passage supports, instead of dropping them as noise. For corpora in
        which every fact stands once.
    readings
        How many readings the answer is written from at most, those with the better passages first.
    """

    paper_sampling = GREEDY_SAMPLING

    encoder: Encoder

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        *,
        universe: int = 20,
        candidates: int = 200,
        strictness: Strictness = "default",
        embed_answers: bool = True,
        keep_outliers: bool = False,
        readings: int = 10,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        if self.encoder is None:
            raise ValueError("VERDICT clusters readings with an encoder: pass encoder=")
        if not 1 <= universe <= candidates:
            raise ValueError(f"need 1 <= universe <= candidates, got {universe} and {candidates}")
        if strictness not in ("default", "conservative"):
            raise ValueError(f"strictness is default or conservative, got {strictness!r}")
        if readings < 1:
            raise ValueError(f"readings must be at least 1, got {readings}")
        self.retriever = retriever
        self.reranker = reranker
        self.universe = universe
        self.candidates = candidates
        self.strictness: Strictness = strictness
        self.embed_answers = embed_answers
        self.keep_outliers = keep_outliers
        self.readings = readings
        self.relax = self.predictor(RelaxQuery)
        self.interpret = self.predictor(InterpretPassage)
        self.write = self.predictor(WriteLongFormAnswer)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        relaxed = (yield from ask(self.relax, question=question)).relaxed_query
        universe = yield from work(self.retrieve, relaxed or question)
        replies = yield from ask_all(
            [(self.interpret, {"question": question, "passage": passage.render()}) for passage in universe]
        )
        found = self._derived(universe, replies)
        clusters = yield from work(self._consolidate, found)
        readings, passages = self._kept(found, clusters, universe)
        answer = yield from write_answer(self.write, question, readings, passages)
        return self._prediction(answer, found, clusters, readings, passages, universe, relaxed)

    def retrieve(self, question: str) -> list[Passage]:
        """Return the universe of a query (equation 7)."""
        return rerank(self.reranker, question, search(self.retriever, question, self.candidates), self.universe)

    @staticmethod
    def _derived(universe: Sequence[Passage], replies: Sequence[dspy.Prediction]) -> list[Interpretation]:
        return [
            Interpretation(question=reply.interpretation.strip(), answer=reply.short_answer.strip(), pid=passage.pid)
            for passage, reply in zip(universe, replies, strict=True)
            if not any(is_null(said) or looks_like_refusal(said) for said in (reply.interpretation, reply.short_answer))
        ]

    def _consolidate(self, found: Sequence[Interpretation]) -> Clusters:
        texts = [f"{one.question} {one.answer}" if self.embed_answers else one.question for one in found]
        return consolidate(self.encoder.encode(texts), strictness=self.strictness)

    def _kept(
        self, found: Sequence[Interpretation], clusters: Clusters, universe: Sequence[Passage]
    ) -> tuple[list[Interpretation], list[Passage]]:
        kept = [cluster[0] for cluster in clusters.clusters]
        if self.keep_outliers:
            kept = sorted([*kept, *clusters.outliers])
        readings = [found[index] for index in kept][: self.readings]
        by_pid = {passage.pid: passage for passage in universe}
        return readings, [by_pid[pid] for pid in dict.fromkeys(one.pid for one in readings) if pid is not None]

    def _prediction(
        self,
        answer: str,
        found: Sequence[Interpretation],
        clusters: Clusters,
        readings: Sequence[Interpretation],
        passages: Sequence[Passage],
        universe: Sequence[Passage],
        relaxed: str,
    ) -> dspy.Prediction:
        members = {id(found[cluster[0]]): cluster for cluster in clusters.clusters}
        supports = [
            [str(found[index].pid) for index in members[id(one)]] if id(one) in members else [str(one.pid)]
            for one in readings
        ]
        told = {id(one) for one in readings}
        return dspy.Prediction(
            answer=answer,
            interpretations=list(readings),
            passages=list(passages),
            universe=list(universe),
            supports=supports,
            outliers=[found[index] for index in clusters.outliers if id(found[index]) not in told],
            abstained=len(universe) - len(found),
            relaxed_query=relaxed,
        )
