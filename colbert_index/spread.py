"""A search that is spread over workers: each holds some shards of an index, and no machine holds all of it.

What is found, and every score, is as if one machine held all. Each worker takes the first two passes of a search (see
`SearchSettings`) over its own shards; of what all of them bring, as many passages go on as would on one machine. They
are among those that their worker has scored exactly already, but for few, for which it is asked again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.models.memory import Memory

from .compressed import Candidates, CompressedVectors
from .files import IndexFaultError
from .index import ColBERTIndex, each_query
from .retriever import Ranking, Retriever, ranked, require_positive, scored
from .rows import require_within
from .settings import SearchSettings

_KEPT = 50_000  # passages, and their sentence vectors
Request = tuple[str, tuple[Any, ...]]
"""A method of `Share` and its arguments."""


class Shares(Protocol):
    """The workers, wherever they are."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def ask(self, requests: Mapping[int, Request]) -> dict[int, Any]:
        """Return what each of some workers replies; all are asked at once.

        Raises
        ------
        PolyqaError
            If one cannot be asked, or fails.
        """
        ...


@dataclass(frozen=True)
class Held:
    """What a worker holds: positions (those of removed passages counted), passages, token vectors, its codec's hash."""

    positions: int
    passages: int
    tokens: int
    codec: str


class Share:
    """What a worker holds of an index, and what it is asked; positions are counted from its first shard.

    Parameters
    ----------
    index
        Path of the index.
    fingerprint
        That it must have.
    shards
        Which of its shards to hold.
    search_settings
        How thoroughly to search.
    """

    def __init__(self, index: str, fingerprint: str, shards: Sequence[int], search_settings: SearchSettings) -> None:
        self._index = _Part(index, fingerprint, shards, search_settings)
        self._index.bm25  # noqa: B018  loaded now, as the token vectors are below: the first question waits for nothing
        vectors = self._index.token_vectors
        self.held = Held(
            len(self._index.positions),
            len(self._index.passages),
            len(vectors.codes),
            vectors.codec,
        )

    def describe(self) -> Held:
        """Return what is held."""
        return self.held

    def nearest(self, queries: Sequence[NDArray[np.float32]], k: int) -> list[Candidates]:
        """Return what may be among the nearest passages of each query, given by its token vectors."""
        settings = self._index.search_settings
        return each_query(lambda query: self._index.token_vectors.search_part(query, k, settings), queries)

    def exact(self, asked: Sequence[tuple[NDArray[np.float32], NDArray[np.int64]]]) -> list[NDArray[np.float32]]:
        """Return the exact scores of some passages for each of some queries."""
        return [self._index.token_vectors.score(query, positions) for query, positions in asked]

    def by_words(self, queries: Sequence[str], k: int) -> list[list[tuple[int, float]]]:
        """Return BM25's best positions for each query, and their scores."""
        found = ranked(self._index.bm25, queries, k)
        return [[(self._index._position_of[one.pid], score) for one, score in own] for own in found]

    def passages(self, positions: Sequence[int]) -> list[Passage | None]:
        """Return the passages at some positions."""
        return [self._index.positions[position] for position in positions]

    def vectors(self, positions: Sequence[int]) -> list[NDArray[np.float16]]:
        """Return the sentence vectors of the passages at some positions."""
        return list(self._index._stored_vectors[positions])

    def position(self, pid: str) -> int | None:
        """Return where a passage stands; ``None`` if not here."""
        return self._index._position_of.get(pid)


class _Part(ColBERTIndex):
    """An index of which only some shards are opened."""

    def __init__(self, index: str, fingerprint: str, shards: Sequence[int], search_settings: SearchSettings) -> None:
        super().__init__(index, fingerprint=fingerprint, search_settings=search_settings)
        self._shards = tuple(shards)

    @property
    def parts(self) -> list[Path]:
        every = super().parts
        return [every[number] for number in self._shards]

    @property
    def _counts(self) -> tuple[None, None]:
        return None, None  # only what all shares hold together is known


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
        held: list[Held] = self._ask_all("describe")
        whole = sum(one.passages for one in held), sum(one.tokens for one in held)
        if whole != self._counts:
            raise IndexFaultError(
                f"The workers hold {whole[0]:,} passages of the index at {self.path}, which has {len(self):,}: shards "
                "are missing, or were changed. Build it again."
            )
        if len({one.codec for one in held}) > 1:
            raise IndexFaultError(f"The shards of the index at {self.path} are of different builds. Build it again.")
        self._starts = np.cumsum([0, *(one.positions for one in held)])
        self._found: Memory[Passage | None] = Memory(_KEPT)
        self._places: Memory[int | None] = Memory(_KEPT)
        self._rows: Memory[NDArray[np.float16]] = Memory(_KEPT)

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
        every = (self.at([position])[0] for position in range(self._starts[-1]))
        return next(passage for passage in every if passage is not None)

    def passage(self, pid: str) -> Passage:
        """Return a passage by its id; `KeyError` if the index does not hold it."""
        position = self._place(pid)
        found = None if position is None else self.at([position])[0]
        if found is None:
            raise KeyError(pid)
        return found

    def position(self, passage: Passage) -> int | None:
        """Return the position of a passage, or ``None`` if this index holds no such id and text."""
        position = self._place(passage.pid)
        own = None if position is None else self.at([position])[0]
        return position if own is not None and (own.title, own.text) == (passage.title, passage.text) else None

    def vectors(self, encoder_name: str) -> Any:
        """Return the stored sentence vectors, if they are of this encoder; rows are fetched as they are asked for."""
        return _SpreadRows(self) if self.manifest.encoder == encoder_name else None

    def at(self, positions: Sequence[int]) -> list[Passage | None]:
        """Return the passages at some positions."""
        found = self._kept(self._found, "passages", positions)
        known = zip(positions, found, strict=True)
        self._places.put({passage.pid.encode(): position for position, passage in known if passage is not None})
        return found

    def rows_at(self, positions: Sequence[int]) -> list[NDArray[np.float16]]:
        """Return the sentence vectors at some positions."""
        return self._kept(self._rows, "vectors", positions)

    def by_words(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return BM25's best passages of each query."""
        replies: list[list[list[tuple[int, float]]]] = self._ask_all("by_words", list(queries), k)
        found: list[list[tuple[int, float]]] = [[] for _ in queries]
        for start, own in zip(self._starts[:-1].tolist(), replies, strict=True):
            for one, more in zip(found, own, strict=True):
                one += [(start + position, score) for position, score in more]
        return self._rankings([sorted(one, key=lambda of: -of[1])[:k] for one in found])

    def _nearest(self, queries: Sequence[NDArray[np.float32]], k: int) -> list[Ranking]:
        replies: list[list[Candidates]] = self._ask_all("nearest", list(queries), k)
        shifted = [
            [one._replace(positions=one.positions + start) for one in own]
            for start, own in zip(self._starts[:-1], replies, strict=True)
        ]
        passes = self.search_settings.passes(k)
        documents = [documents_of([own[number] for own in shifted], passes) for number in range(len(queries))]
        self._score_the_rest(queries, documents)
        return self._rankings([best_of(one, k) for one in documents])

    def _score_the_rest(self, queries: Sequence[NDArray[np.float32]], documents: Sequence[Candidates]) -> None:
        """Fill in the exact scores of passages that were not among the best of their worker."""
        asked: dict[int, list[tuple[int, NDArray[np.int64]]]] = {}  # worker → query, places in its documents
        for number, one in enumerate(documents):
            lacking = np.flatnonzero(np.isnan(one.exact))
            holders = self._holders(one.positions[lacking])
            for holder in np.unique(holders):
                asked.setdefault(int(holder), []).append((number, lacking[holders == holder]))
        requests: dict[int, Request] = {}
        for holder, own in asked.items():
            start = self._starts[holder]
            requests[holder] = (
                "exact",
                ([(queries[number], documents[number].positions[places] - start) for number, places in own],),
            )
        for holder, replies in self._ask(requests).items():
            for (number, places), scores in zip(asked[holder], replies, strict=True):
                documents[number].exact[places] = scores

    def _rankings(self, found: Sequence[Sequence[tuple[int, float]]]) -> list[Ranking]:
        every = dict.fromkeys(position for one in found for position, _ in one)
        passages = dict(zip(every, self.at(list(every)), strict=True))
        held = ([(passages[position], score) for position, score in one] for one in found)
        return [[(passage, score) for passage, score in one if passage is not None] for one in held]

    def _place(self, pid: str) -> int | None:
        return self._places.get([pid.encode()], [pid], self._find)[0]

    def _find(self, pids: Sequence[str]) -> list[int | None]:
        places: list[int | None] = []
        for pid in pids:
            replies = zip(self._starts[:-1].tolist(), self._ask_all("position", pid), strict=True)
            places.append(next((start + own for start, own in replies if own is not None), None))
        return places

    def _kept(self, memory: Memory[Any], method: str, positions: Sequence[int]) -> list[Any]:
        keys = [str(position).encode() for position in positions]
        fetch: Callable[[list[int]], list[Any]] = lambda wanted: self._fetch(method, wanted)  # noqa: E731  one type
        return memory.get(keys, list(positions), fetch)

    def _fetch(self, method: str, positions: Sequence[int]) -> list[Any]:
        """Return what a method of `Share` returns for each position."""
        wanted = np.asarray(positions, dtype=np.int64)
        require_within(wanted, int(self._starts[-1]), "passages")
        holders = self._holders(wanted)
        places = {int(holder): np.flatnonzero(holders == holder) for holder in np.unique(holders)}
        requests: dict[int, Request] = {
            holder: (method, ((wanted[own] - self._starts[holder]).tolist(),)) for holder, own in places.items()
        }
        found: list[Any] = [None] * len(wanted)
        for holder, replies in self._ask(requests).items():
            for place, reply in zip(places[holder], replies, strict=True):
                found[place] = reply
        return found

    def _holders(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._starts, positions, side="right") - 1

    def _ask_all(self, method: str, *arguments: Any) -> list[Any]:
        return list(self._ask(dict.fromkeys(range(len(self._shares)), (method, arguments))).values())

    def _ask(self, requests: Mapping[int, Request]) -> dict[int, Any]:
        return self._shares.ask(requests) if requests else {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "shares": self._shares}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(  # type: ignore[misc]
            Path(state["path"]),
            state["shares"],
            fingerprint=state["fingerprint"],
            search_settings=state["search_settings"],
        )


class _SpreadBM25(Retriever):
    """BM25 of a `SpreadIndex`."""

    def __init__(self, index: SpreadIndex) -> None:
        self._index = index

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Search for several queries; see `BM25Retriever.search_many`."""
        return scored(self.rank_many(queries, k))

    def rank_many(self, queries: Sequence[str], k: int = 10) -> list[Ranking]:
        """Search as `search_many` does; see `retriever.Ranks`."""
        require_positive(k)
        return self._index.by_words(queries, k) if queries else []


class _SpreadRows:
    """The sentence vectors of a `SpreadIndex`; see `rows.Rows`."""

    def __init__(self, index: SpreadIndex) -> None:
        self._index = index

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self._index._starts[-1]), len(self._index.rows_at([0])[0])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: ArrayLike) -> NDArray[np.float16]:
        """Return one row, shape (columns,), or several, shape (len(rows), columns)."""
        wanted = np.asarray(rows, dtype=np.int64)
        found = self._index.rows_at(wanted.ravel().tolist())
        columns = self.shape[1]
        return np.array(found, dtype=np.float16).reshape(*wanted.shape, columns)


def documents_of(parts: Sequence[Candidates], passes: tuple[int, int]) -> Candidates:
    """Return the passages that reach the third pass of a search, of those that parts of an index bring.

    Parameters
    ----------
    parts
        What each brings, with positions in the whole index.
    passes
        How many passages reach the second and the third pass.

    Returns
    -------
    Candidates
        Those that a search of the whole index would score exactly; the exact score of some may be NaN.
    """
    every = Candidates(
        np.concatenate([one.positions for one in parts]),
        np.concatenate([one.met for one in parts]),
        np.concatenate([one.near for one in parts]),
        np.concatenate([one.exact for one in parts]),
    )
    second, third = passes
    kept = np.lexsort((every.positions, -every.met))[:second]
    if len(kept) > third:
        kept = kept[np.lexsort((every.positions[kept], -every.near[kept]))[:third]]
    return Candidates(every.positions[kept], every.met[kept], every.near[kept], every.exact[kept])


def best_of(documents: Candidates, k: int) -> list[tuple[int, float]]:
    """Return positions and exact scores of the best, best first; of equal ones the earlier first."""
    order = np.lexsort((documents.positions, -documents.exact))[:k]
    return list(zip(documents.positions[order].tolist(), documents.exact[order].tolist(), strict=True))
