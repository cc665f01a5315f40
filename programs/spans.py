"""Searching and reranking, seen by DSPy's callbacks: what MLflow, OpenTelemetry and loggers show between the calls.

Where no callback is set (``dspy.configure(callbacks=…)``) nothing but the search happens.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dspy
import numpy as np
from dspy.utils.callback import with_callbacks
from numpy.typing import NDArray

from polyqa import colbert_index
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import Reranker, Retriever

_PLACES = {"source", "section", "page", "line"}  # where a passage stands, not what it is about
_LONGEST = 40  # characters of what stands behind a title


class Retrieve(dspy.Retrieve):
    """A search, as a callback sees it: a `dspy.Retrieve` that is called with ``query`` and ``k``.

    Its outputs are the passages.
    """

    def __init__(self, retriever: Retriever, k: int) -> None:
        # Not that of `dspy.Retrieve`, which draws from the random numbers of all.
        self.stage, self.k = "", k
        self.callbacks: list[Any] = []
        self.retriever = retriever

    @with_callbacks
    def __call__(self, query: str, k: int | None = None) -> list[Passage]:
        """Search."""
        return self.retriever.search(query, k or self.k)


class Rerank:
    """Reranking, as a callback sees it: called with ``queries``, ``passages`` and ``k`` (``None``: they are scored)."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run = run

    @with_callbacks
    def __call__(self, *, queries: Sequence[str], passages: Sequence[Passage], k: int | None = None) -> Any:
        """Rerank."""
        return self._run()


def search(retriever: Retriever, query: str, k: int) -> list[Passage]:
    """Return the best ``k`` passages of a retriever, those of one title told apart by their metadata."""
    found: Any = Retrieve(retriever, k)(query=query, k=k) if hasattr(retriever, "search") else None
    if not isinstance(found, Sequence) or not all(isinstance(one, Passage) for one in found):
        raise PolyqaError(
            "A retriever has search(query, k), which returns a list of passages (polyqa.Passage), and a "
            f"{type(retriever).__name__} has not. Wrap it in a class that has, or give your program a method "
            "retrieve(question) of its own."
        )
    return told_apart(found)


def told_apart(passages: Sequence[Passage]) -> list[Passage]:
    """Return passages in which things of one name have what differs in their metadata behind the title.

    That is the first field that all passages of this title have as a short text, and not all the same. Addresses and
    paths are none.

    >>> pumps = [Passage(pid=name, title="Pump", text="It pumps.", metadata={"product": name}) for name in ("A1", "B2")]
    >>> [passage.title for passage in told_apart(pumps)]
    ['Pump (A1)', 'Pump (B2)']
    """
    groups = defaultdict[str, list[Passage]](list)
    for passage in passages:
        if passage.title and passage.metadata:
            groups[passage.title].append(passage)
    titles: dict[str, str] = {}
    for title, group in groups.items():
        for name in group[0].metadata:
            values = [value for one in group if isinstance(value := one.metadata.get(name), str)]
            short = name not in _PLACES and all(0 < len(value) <= _LONGEST and "/" not in value for value in values)
            if short and len(values) == len(group) and len(set(values)) > 1:
                titles |= {one.pid: f"{title} ({value})" for one, value in zip(group, values, strict=True)}
                break
    return [one.model_copy(update={"title": titles[one.pid]}) if one.pid in titles else one for one in passages]


def rerank(reranker: Reranker, query: str, passages: Sequence[Passage], k: int) -> list[Passage]:
    """Return the best ``k`` of some passages, see `polyqa.colbert_index.rerank`."""
    best = partial(colbert_index.rerank, reranker, query, passages, k)
    return Rerank(best)(queries=[query], passages=passages, k=k)


def rerank_found(reranker: Reranker, query: str, candidates: Sequence[Passage], k: int) -> list[Passage]:
    """Return the best ``k`` of the passages that a retriever found, see `polyqa.colbert_index.rerank_found`."""
    best = partial(colbert_index.rerank_found, reranker, query, candidates, k)
    return Rerank(best)(queries=[query], passages=candidates, k=k)


def scores(reranker: Reranker, queries: Sequence[str], passages: Sequence[Passage]) -> NDArray[np.float32]:
    """Return the scores of passages for queries, shape (queries, passages)."""
    return Rerank(partial(reranker.score, queries, passages))(queries=queries, passages=passages)
