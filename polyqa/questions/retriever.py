"""Passages through questions: SIXPAQ's retrieval of diverse passages (section 3.2)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, Retriever
from polyqa.colbert_index.retriever import require_positive

from .database import QuestionDatabase, Ranking
from .types import FoundQuestion

By = Literal["max", "count"]


@dataclass(frozen=True)
class QuestionRetriever(Retriever):
    """Ranks passages by the questions that were made from them.

    With GEN(p) the questions made from passage p and f the score of a question q' for the query x:

    - ``max`` (equation 1): s(x, p) = max over q' in GEN(p) of f(x, q');
    - ``count`` (equation 2): s(x, p) = how many of the ``depth`` best questions are in GEN(p); passages
      with as many are ordered by ``max``.

    What is equal then stands in the order of the passages in the index. A passage without questions is
    never found; ``count`` finds only passages of the best ``depth`` questions.

    Parameters
    ----------
    database
        The questions.
    index
        Has the passages' texts; the database must be opened with it.
    by, ranking
        How questions become passages, and how questions are ranked (`QuestionDatabase.search_many`).
    depth
        The papers' k of ``count``, 50.
    """

    database: QuestionDatabase
    index: ColBERTIndex
    by: By = "max"
    ranking: Ranking = "dense"
    depth: int = 50

    def __post_init__(self) -> None:
        if self.by not in ("max", "count"):
            raise ValueError(f"by is max or count, not {self.by!r}")
        if self.depth < 1:
            raise ValueError(f"depth must be at least 1, got {self.depth}")

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Return at most ``k`` passages for each query, best first; the score is that of equation 1 or 2."""
        require_positive(k)
        if self.by == "count":
            return [self._passages(self.questions(query, self.depth), k) for query in queries]
        depth = max(self.depth, 2 * k)
        ranked = self.database.search_many(queries, depth, ranking=self.ranking)
        return [
            self._passages(self._deep_enough(query, found, depth, k), k)
            for query, found in zip(queries, ranked, strict=True)
        ]

    def questions(self, query: str, k: int) -> list[FoundQuestion]:
        """Return the ``k`` nearest questions of those that were made from passages which the index may find."""
        depth = k
        while True:
            found = self.database.search(query, depth, ranking=self.ranking)
            usable = self._usable(found)
            if len(usable) >= k or len(found) < depth:
                return usable[:k]
            depth *= 4

    def _deep_enough(self, query: str, found: list[FoundQuestion], depth: int, k: int) -> list[FoundQuestion]:
        """Search deeper until the last question can no longer bring one of the first ``k`` passages."""
        while len(found) == depth:
            best = _scores(self._usable(found), "max")
            settled = sum(score > found[-1].score for score, _ in best.values())
            if settled >= k:
                break
            depth *= 4
            found = self.database.search(query, depth, ranking=self.ranking)
        return self._usable(found)

    def _usable(self, found: Sequence[FoundQuestion]) -> list[FoundQuestion]:
        """Return the questions that were made from passages which the index may find, with only those passages."""
        if self.index.condition is None:
            return list(found)
        chosen = (tuple(filter(self.index.may_find, question.pids)) for question in found)
        return [
            question.model_copy(update={"pids": pids}) for question, pids in zip(found, chosen, strict=True) if pids
        ]

    def _passages(self, found: Sequence[FoundQuestion], k: int) -> list[Passage]:
        scores = _scores(found, self.by)
        passages = {pid: self.index.passage(pid) for pid in scores}
        place = {pid: self.index.position(passage) or 0 for pid, passage in passages.items()}
        order = sorted(scores, key=lambda pid: (-scores[pid][0], -scores[pid][1], place[pid]))
        return [passages[pid].with_score(scores[pid][0]) for pid in order[:k]]


def _scores(found: Sequence[FoundQuestion], by: By) -> dict[str, tuple[float, float]]:
    """Return, for each passage of the questions, its score and what decides between equals."""
    best: dict[str, float] = {}
    count: Counter[str] = Counter()
    for question in found:
        for pid in dict.fromkeys(question.pids):
            best[pid] = max(best.get(pid, question.score), question.score)
            count[pid] += 1
    if by == "count":
        return {pid: (float(count[pid]), best[pid]) for pid in best}
    return {pid: (score, 0.0) for pid, score in best.items()}
