"""A search that is spread over workers: each holds some shards of an index, and no machine holds all of it.

The passages found, and their scores, are as if one machine held all. Each worker takes the first two passes of a search
(see `SearchSettings`) over its own shards; of what all of them bring, as many passages go on as would on one machine,
and the worker that holds a passage scores it exactly.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.models.memory import Memory

from .compressed import Candidates, CompressedVectors, Selection, require_within
from .files import IndexFaultError
from .filters import Filter
from .index import ColBERTIndex, each_query
from .retriever import Ranking, Ranks, Retriever, ranked, require_positive
from .settings import SearchSettings

_KEPT = 50_000  # passages, each with its sentence vector
Request = tuple[str, tuple[Any, ...]]
"""A method of `Share` and its arguments."""


class Shares(Protocol):
    """The workers, wherever they are; see `polyqa.cluster.Workers`."""

    def __len__(self) -> int: ...

    def ask(self, requests: Mapping[int, Request]) -> dict[int, Any]:
        """Return what each of some workers replies; all are asked at once. `PolyqaError` if one fails."""
        ...


class ShareSize(NamedTuple):
    """Size of a worker's share (positions include those of removed passages), and its codec's hash."""

    positions: int
    passages: int
    tokens: int
    codec: str


class Entry(NamedTuple):
    """What stands at a position: a passage, unless it was removed, and its sentence vector, if any is stored."""

    passage: Passage | None
    vector: NDArray[np.float16] | None


class Share:
    """What a worker holds of an index; positions are counted from its first shard.

    Parameters
    ----------
    index
        Path of the index.
    fingerprint
        That it must have.
    shards
        Numbers of the shards to hold.
    search_settings
        How thoroughly to search.
    """

    def __init__(self, index: str, fingerprint: str, shards: Sequence[int], search_settings: SearchSettings) -> None:
        self._index = ColBERTIndex(index, fingerprint=fingerprint, search_settings=search_settings, shards=shards)
        self._index.bm25  # noqa: B018  loaded now, as the token vectors are below: the first question waits for nothing
        vectors = self._index.token_vectors
        self.size = ShareSize(len(self._index.positions), len(self._index.passages), len(vectors.codes), vectors.codec)

    def __call__(self, request: Request) -> Any:
        """Return what the named method replies."""
        method, arguments = request
        return getattr(self, method)(*arguments)

    def describe(self) -> ShareSize:
        """Return how much is held."""
        return self.size

    def matching(self, asked: Filter) -> NDArray[np.bool_]:
        """Return which positions fulfil a condition."""
        return self._index._matching(asked)

    def candidates(
        self, queries: Sequence[NDArray[np.float32]], k: int, selection: Selection | None = None
    ) -> list[Candidates]:
        """Return what may be among the nearest passages of each query, given by its token vectors."""
        index = self._index
        return each_query(
            lambda query: index.token_vectors.candidates(query, k, index.search_settings, selection), queries
        )

    def exact(
        self, queries: Sequence[NDArray[np.float32]], positions: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float32]]:
        """Return, for each query, the exact scores of the passages at its positions."""
        return list(map(self._index.token_vectors.score, queries, positions))

    def by_words(
        self, queries: Sequence[str], k: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[list[tuple[int, float]]]:
        """Return BM25's best positions for each query, and their scores."""
        retriever = self._index.bm25 if allowed is None else self._index.bm25_among(allowed)
        rankings = ranked(retriever, queries, k)
        return [[(self._index._position_of[passage.pid], score) for passage, score in row] for row in rankings]

    def entries(self, positions: Sequence[int]) -> list[Entry]:
        """Return what stands at some positions."""
        passages = [self._index.positions[position] for position in positions]
        if self._index.manifest.encoder is None:
            return [Entry(passage, None) for passage in passages]
        return list(map(Entry, passages, self._index._stored_vectors[positions]))

    def position(self, pid: str) -> int | None:
        """Return where a passage stands; ``None`` if not here."""
        return self._index._position_of.get(pid)


class SpreadIndex(ColBERTIndex):
    """An index whose shards lie with workers; it is searched as any other, and a program takes it as one.

    This process reads the manifest and encodes questions. Passages and sentence vectors come from the workers as they
    are found, and the latest 50,000 are kept. A pickle holds what is needed to ask the same workers.

    Parameters
    ----------
    index
        Name or path.
    shares
        The workers, the first shards first.
    fingerprint, search_settings
        See `ColBERTIndex`; the workers have settings of their own, which must be the same.

    Raises
    ------
    IndexFaultError
        If the workers do not hold just this index.
    """

    def __init__(
        self,
        index: str | Path,
        shares: Shares,
        *,
        fingerprint: str | None = None,
        search_settings: SearchSettings | None = None,
    ) -> None:
        super().__init__(index, fingerprint=fingerprint, search_settings=search_settings)
        self._shares = shares
        sizes: list[ShareSize] = self._ask_all("describe")
        passages, tokens = sum(share.passages for share in sizes), sum(share.tokens for share in sizes)
        if (passages, tokens) != self._counts:
            raise IndexFaultError(
                f"The workers hold {passages:,} passages of the index at {self.path}, which has {len(self):,}: shards "
                "are missing, or were changed. Build it again."
            )
        if len({share.codec for share in sizes}) > 1:
            raise IndexFaultError(f"The shards of the index at {self.path} are of different builds. Build it again.")
        self._starts = np.cumsum([0, *(share.positions for share in sizes)])
        self._entries: Memory[Entry] = Memory(_KEPT)
        self._places: Memory[int | None] = Memory(_KEPT)

    @property
    def positions_of_parts(self) -> list[list[Passage | None]]:
        """Not here: `PolyqaError`."""
        raise self._elsewhere()

    @property
    def token_vectors(self) -> CompressedVectors:
        """Not here: `PolyqaError`."""
        raise self._elsewhere()

    def _elsewhere(self) -> PolyqaError:
        return PolyqaError(
            f"The passages of {self.name} lie with {len(self._shares)} workers; what reads all of them takes the index "
            "itself: ColBERTIndex(…)."
        )

    @property
    def bm25(self) -> Retriever:
        """BM25 over the same passages, by the same workers."""
        return _SpreadBM25(self)

    def first_passage(self) -> Passage:
        """Return the first passage."""
        passages = (self.entries([position])[0].passage for position in range(self._starts[-1]))
        return next(passage for passage in passages if passage is not None)

    def passage(self, pid: str) -> Passage:
        """Return a passage by its id; `KeyError` if the index does not hold it."""
        position = self._place(pid)
        passage = None if position is None else self.entries([position])[0].passage
        if passage is None:
            raise KeyError(pid)
        return passage

    def position(self, passage: Passage) -> int | None:
        """Return the position of a passage, or ``None`` if this index holds no such id and text."""
        position = self._place(passage.pid)
        held = None if position is None else self.entries([position])[0].passage
        return position if held is not None and held.text == passage.text else None

    def vectors(self, encoder_name: str) -> Any:
        """Return the stored sentence vectors, if they are of this encoder; rows are fetched as they are asked for."""
        return _SpreadRows(self) if self.manifest.encoder == encoder_name else None

    def entries(self, positions: Sequence[int]) -> list[Entry]:
        """Return what stands at some positions."""
        keys = [str(position).encode() for position in positions]
        entries = self._entries.get(keys, list(positions), self._fetch)
        known = zip(positions, entries, strict=True)
        self._places.put({passage.pid.encode(): at for at, (passage, _) in known if passage is not None})
        return entries

    def _matching(self, asked: Filter) -> NDArray[np.bool_]:
        return np.concatenate(self._ask_all("matching", asked))

    def may_find(self, pid: str) -> bool:
        """Return whether a passage of the index fulfils the condition, if there is one."""
        return self._allowed is None or bool(self._allowed[self._place(pid)])

    def _allowed_of_shares(self) -> list[NDArray[np.bool_] | None]:
        """Return which passages each worker may find."""
        if self._allowed is None:
            return [None] * len(self._shares)
        return list(np.split(self._allowed, self._starts[1:-1]))

    def by_words(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return BM25's best passages of each query."""
        requests: dict[int, Request] = {
            number: ("by_words", (list(queries), k, allowed))
            for number, allowed in enumerate(self._allowed_of_shares())
        }
        replies: list[list[list[tuple[int, float]]]] = list(self._ask(requests).values())
        pooled: list[list[tuple[int, float]]] = [[] for _ in queries]
        for start, rows in zip(self._starts[:-1].tolist(), replies, strict=True):
            for pool, row in zip(pooled, rows, strict=True):
                pool += [(start + position, score) for position, score in row]
        return self._rankings([sorted(pool, key=lambda hit: -hit[1])[:k] for pool in pooled])

    def _nearest(self, queries: Sequence[NDArray[np.float32]], k: int) -> list[Ranking]:
        least = Selection.of(self._allowed, k, self.search_settings).least
        requests: dict[int, Request] = {
            number: ("candidates", (list(queries), k, Selection(allowed, least)))
            for number, allowed in enumerate(self._allowed_of_shares())
        }
        replies: list[list[Candidates]] = list(self._ask(requests).values())
        shifted = [
            [part._replace(positions=part.positions + start) for part in parts]
            for start, parts in zip(self._starts[:-1], replies, strict=True)
        ]
        passes = self.search_settings.passes(k)
        documents = [documents_of(parts, passes, least) for parts in zip(*shifted, strict=True)]
        scores = self._exact(queries, documents)
        return self._rankings([best_of(*pair, k) for pair in zip(documents, scores, strict=True)])

    def _exact(
        self, queries: Sequence[NDArray[np.float32]], documents: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float32]]:
        """Return, for each query, the exact scores of its documents, which the workers that hold them give."""
        scores = [np.empty(len(positions), np.float32) for positions in documents]
        holders = [self._holders(positions) for positions in documents]
        requests: dict[int, Request] = {
            number: (
                "exact",
                (
                    list(queries),
                    [at[held == number] - self._starts[number] for at, held in zip(documents, holders, strict=True)],
                ),
            )
            for number in range(len(self._shares))
        }
        for number, replies in self._ask(requests).items():
            for score, held, reply in zip(scores, holders, replies, strict=True):
                score[held == number] = reply
        return scores

    def _rankings(self, hits: Sequence[Sequence[tuple[int, float]]]) -> list[Ranking]:
        every = list(dict.fromkeys(position for row in hits for position, _ in row))
        passages = {at: entry.passage for at, entry in zip(every, self.entries(every), strict=True)}
        rankings = ([(passages[position], score) for position, score in row] for row in hits)
        return [[(passage, score) for passage, score in row if passage is not None] for row in rankings]

    def _place(self, pid: str) -> int | None:
        def look_up(pids: Sequence[str]) -> list[int | None]:
            places: list[int | None] = []
            for one in pids:
                replies = zip(self._starts[:-1].tolist(), self._ask_all("position", one), strict=True)
                places.append(next((start + at for start, at in replies if at is not None), None))
            return places

        return self._places.get([pid.encode()], [pid], look_up)[0]

    def _fetch(self, positions: Sequence[int]) -> list[Entry]:
        wanted = np.asarray(positions, dtype=np.int64)
        require_within(wanted, int(self._starts[-1]), "passages")
        holders = self._holders(wanted)
        requests: dict[int, Request] = {
            int(holder): ("entries", ((wanted[holders == holder] - self._starts[holder]).tolist(),))
            for holder in np.unique(holders)
        }
        replies = {holder: iter(entries) for holder, entries in self._ask(requests).items()}
        return [next(replies[holder]) for holder in holders.tolist()]

    def _holders(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._starts, positions, side="right") - 1

    def _ask_all(self, method: str, *arguments: Any) -> list[Any]:
        return list(self._ask(dict.fromkeys(range(len(self._shares)), (method, arguments))).values())

    def _ask(self, requests: Mapping[int, Request]) -> dict[int, Any]:
        return self._shares.ask(requests) if requests else {}

    def __getstate__(self) -> dict[str, Any]:
        whole = super().__getstate__()
        del whole["shards"]
        return {**whole, "shares": self._shares}


class _SpreadBM25(Ranks):
    """BM25 of a `SpreadIndex`."""

    def __init__(self, index: SpreadIndex) -> None:
        self._index = index

    def rank_many(self, queries: Sequence[str], k: int = 10) -> list[Ranking]:
        """Search for several queries; see `BM25Retriever.rank_many`."""
        require_positive(k)
        return self._index.by_words(queries, k) if queries else []


class _SpreadRows:
    """The sentence vectors of a `SpreadIndex`; see `compressed.Rows`."""

    def __init__(self, index: SpreadIndex) -> None:
        self._index = index
        (first,) = index.entries([0])
        self.shape = int(index._starts[-1]), 0 if first.vector is None else len(first.vector)

    def __getitem__(self, rows: ArrayLike) -> NDArray[np.float16]:
        """Return one row, shape (columns,), or several, shape (len(rows), columns)."""
        wanted = np.asarray(rows, dtype=np.int64)
        vectors = [entry.vector for entry in self._index.entries(wanted.ravel().tolist())]
        return np.array(vectors, dtype=np.float16).reshape(*wanted.shape, self.shape[1])


def documents_of(parts: Sequence[Candidates], passes: tuple[int, int], least: int = 0) -> NDArray[np.int64]:
    """Return the positions of the passages that reach the third pass of a search of the whole index.

    Parameters
    ----------
    parts
        The candidates of each part of the index, with positions in the whole.
    passes
        How many passages reach the second and the third pass.
    least
        See `compressed.Selection`.
    """
    positions, met, near = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    in_cells = met > -np.inf
    if np.count_nonzero(in_cells) >= least:
        positions, met, near = positions[in_cells], met[in_cells], near[in_cells]
    second, third = passes
    best = np.lexsort((positions, -met))[:second]
    if len(best) > third:
        best = best[np.lexsort((positions[best], -near[best]))[:third]]
    documents: NDArray[np.int64] = positions[best]
    return documents


def best_of(positions: NDArray[np.int64], scores: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    """Return the positions and scores of the best, best first; of equal ones the earlier first."""
    order = np.lexsort((positions, -scores))[:k]
    return list(zip(positions[order].tolist(), scores[order].tolist(), strict=True))
