"""VERDICT: verified diversification with consolidation (Lee et al., 2025, https://arxiv.org/abs/2502.10352)."""

from collections.abc import Sequence
from typing import Unpack

import dspy

from polyqa.base.values import Interpretation, Passage
from polyqa.colbert_index import Reranker, Retriever
from polyqa.lm.sampling import GREEDY_SAMPLING
from polyqa.models import Encoder
from polyqa.replies import gives_nothing
from polyqa.signatures import InterpretPassage, RelaxQuery, WriteLongFormAnswer

from .base import CallLimits, Program, Settings, write_answer
from .consolidation import Clusters, consolidate
from .spans import rerank_found, search
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
    (for each reading the ids of all passages of its cluster), ``outliers`` (readings that only one passage
    supports, dropped as noise), ``abstained`` (how many passages gave none) and ``relaxed_query``.

    It needs the setting ``encoder``, which is f of section 4.2.

    Parameters
    ----------
    retriever, reranker
        Find and order the universe.
    universe
        How many passages are asked (paper: 20).
    candidates
        How many passages the retriever pools before they are ordered.
    readings
        How many readings the answer is written from at most, those with the better passages first.
    """

    paper_sampling = GREEDY_SAMPLING
    per_reading = ("supports",)

    encoder: Encoder

    def __init__(
        self,
        retriever: Retriever,
        reranker: Reranker,
        *,
        universe: int = 20,
        candidates: int = 200,
        readings: int = 10,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        if self.encoder is None:
            raise ValueError("VERDICT clusters readings with an encoder: pass encoder=")
        if not 1 <= universe <= candidates:
            raise ValueError(f"need 1 <= universe <= candidates, got {universe} and {candidates}")
        if readings < 1:
            raise ValueError(f"readings must be at least 1, got {readings}")
        self.retriever = retriever
        self.reranker = reranker
        self.universe = universe
        self.candidates = candidates
        self.readings = readings
        self.relax = self.predictor(RelaxQuery)
        self.interpret = self.predictor(InterpretPassage)
        self.write = self.predictor(WriteLongFormAnswer)

    @property
    def call_limits(self) -> CallLimits:
        """The relaxed query, a reading of each passage at once, and the answer."""
        return CallLimits(calls=self.universe + 2, depth=3)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        relaxed = (yield from ask(self.relax, question=question)).relaxed_query
        # A language model that relaxes to nothing, or will not, leaves the question to search with.
        query = question if gives_nothing(relaxed) else relaxed
        universe = yield from work(self.retrieve, query)
        replies = yield from ask_all(
            [(self.interpret, {"question": question, "passage": passage.render()}) for passage in universe]
        )
        derived = self._derived(universe, replies)
        consolidated = yield from work(self._consolidate, derived)
        clusters = consolidated.clusters[: self.readings]
        readings = [derived[medoid] for medoid, *_ in clusters]
        by_pid = {passage.pid: passage for passage in universe}
        passages = [by_pid[pid] for pid in dict.fromkeys(str(reading.pid) for reading in readings)]
        answer = yield from write_answer(self.write, question, readings, passages)
        return dspy.Prediction(
            answer=answer,
            interpretations=readings,
            passages=passages,
            universe=universe,
            supports=[[str(derived[member].pid) for member in cluster] for cluster in clusters],
            outliers=[derived[index] for index in consolidated.outliers],
            abstained=len(universe) - len(derived),
            relaxed_query=relaxed,
        )

    def retrieve(self, question: str) -> list[Passage]:
        """Return the universe of a query (equation 7)."""
        return rerank_found(self.reranker, question, search(self.retriever, question, self.candidates), self.universe)

    @staticmethod
    def _derived(universe: Sequence[Passage], replies: Sequence[dspy.Prediction]) -> list[Interpretation]:
        """Return the readings of the passages that do not abstain (equation 8)."""
        return [
            Interpretation(question=reply.interpretation.strip(), answer=reply.short_answer.strip(), pid=passage.pid)
            for passage, reply in zip(universe, replies, strict=True)
            if not any(map(gives_nothing, (reply.interpretation, reply.short_answer)))
        ]

    def _consolidate(self, readings: Sequence[Interpretation]) -> Clusters:
        return consolidate(self.encoder.encode([f"{reading.question} {reading.answer}" for reading in readings]))
