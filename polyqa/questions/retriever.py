"""Passages through questions: SIXPAQ's retrieval of diverse passages (section 3.2)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
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
        How questions become passages, and how questions are ranked (`QuestionDatabase.search`).
    depth
        The paper's k of ``count``, 50.
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
        ranked = self.database.ranked(queries, ranking=self.ranking)
        return [self._passages(self._deciding(self._usable(questions), k), k) for questions in ranked]

    def questions(self, query: str, k: int) -> list[FoundQuestion]:
        """Return the ``k`` nearest questions of those that were made from passages which the index may find."""
        (questions,) = self.database.ranked([query], ranking=self.ranking)
        return list(islice(self._usable(questions), k))

    def _usable(self, questions: Iterable[FoundQuestion]) -> Iterator[FoundQuestion]:
        """Yield the questions of passages that the index may find, each with only these and the answers in them."""
        for question in questions:
            if self.index.condition is None:
                yield question
                continue
            pairs = zip(question.answers, question.pids, strict=True)
            if told := [(answer, pid) for answer, pid in pairs if self.index.may_find(pid)]:
                answers, pids = zip(*told, strict=True)
                yield question.model_copy(update={"answers": answers, "pids": pids})

    def _deciding(self, questions: Iterator[FoundQuestion], k: int) -> list[FoundQuestion]:
        """Return the questions that decide which are the first ``k`` passages."""
        if self.by == "count":
            return list(islice(questions, self.depth))
        taken: list[FoundQuestion] = []
        passages: set[str] = set()
        for question in questions:
            if len(passages) >= k and question.score < taken[-1].score:
                break
            taken.append(question)
            passages.update(question.pids)
        return taken

    def _passages(self, questions: Sequence[FoundQuestion], k: int) -> list[Passage]:
        scores = _scores(questions, self.by)
        passages = {pid: self.index.passage(pid) for pid in scores}
        place = {pid: self.index.position(passage) or 0 for pid, passage in passages.items()}
        order = sorted(scores, key=lambda pid: (-scores[pid][0], -scores[pid][1], place[pid]))
        return [passages[pid].with_score(scores[pid][0]) for pid in order[:k]]


def _scores(questions: Sequence[FoundQuestion], by: By) -> dict[str, tuple[float, float]]:
    """Return, for each passage of the questions, its score and what decides between equals."""
    best: dict[str, float] = {}
    count: Counter[str] = Counter()
    for question in questions:
        for pid in dict.fromkeys(question.pids):
            best[pid] = max(best.get(pid, question.score), question.score)
            count[pid] += 1
    if by == "count":
        return {pid: (float(count[pid]), best[pid]) for pid in best}
    return {pid: (score, 0.0) for pid, score in best.items()}
