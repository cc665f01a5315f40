"""The handle of an index: open, search, look inside."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyqa.base.copies import Shared
from polyqa.base.cores import usable_cores
from polyqa.base.errors import PolyqaError
from polyqa.base.html import shortened
from polyqa.base.text import well_formed
from polyqa.base.values import Passage
from polyqa.models.loading import LOADING
from polyqa.models.memory import Memory, locked_property
from polyqa.models.running import own_threads

from .bm25 import BM25Retriever
from .compressed import CompressedVectors, Rows, Selection
from .files import (
    BM25,
    BM25_FILES,
    MANIFEST,
    PASSAGES,
    VECTORS,
    IndexFaultError,
    colbert_files,
    missing_files,
    parts_of,
    read_manifest,
    read_passages,
    reading,
    require_terms,
    require_vectors,
    require_written,
)
from .filters import Filter, Kind
from .query_encoder import Encode, load_query_encoder
from .retriever import MergedRetriever, Retriever, require_positive
from .settings import Manifest, SearchSettings
from .store import index_path
from .trust import trusted_checkpoint
from .versions import hold, version_in_force, versions

_QUERIES = 1_000
"""How many queries' token vectors are kept: 16 kB each."""
_CORES = len(usable_cores())
_SCORING = threading.BoundedSemaphore(_CORES)
"""Held while passages are scored: more threads than cores take the cache and the cores from each other."""


class ColBERTIndex(Shared, Retriever):
    """An index on disk, opened for searching.

    Opening reads the manifest; the model and the vectors are loaded by the first search. The handle keeps what it
    opened, whatever is written to the index meanwhile (see `versions`). It may be used by many threads.
    `copy.deepcopy` returns the handle itself (optimizers copy programs), and a pickle holds only the path and the
    fingerprint.

    Parameters
    ----------
    index
        A name in `store.index_home`, or a path.
    search_settings
        How thoroughly to search.
    fingerprint
        If given, the index must have it.

    Attributes
    ----------
    path, name
        The folder of the index, and its name.
    folder, version
        Where the files of the version lie that this handle holds, which stay as long as the handle does; its name.
    parts
        The folders that hold passages and vectors: `folder`, or those of the shards.
    manifest
        What the version says of itself; its fingerprint, settings and columns are attributes of the handle, too.
    condition
        What the passages fulfil that this handle finds, see `where`; ``None`` if it finds all.

    Raises
    ------
    IndexFaultError
        If there is no index, the folder is foreign or incomplete, or the fingerprint differs.
    """

    def __init__(
        self,
        index: str | Path,
        *,
        search_settings: SearchSettings | None = None,
        fingerprint: str | None = None,
    ) -> None:
        self.path = index_path(index).absolute()
        self.name = self.path.name
        self.search_settings = search_settings or SearchSettings()
        self._held = hold(self.path, fingerprint)
        self.folder = self._held.folder
        self.version = self.folder.name
        self.manifest: Manifest = read_manifest(self.folder)
        self.parts = parts_of(self.folder, self.manifest.shards)
        self.fingerprint, self.settings = self.manifest.fingerprint, self.manifest.settings
        self.columns: Mapping[str, Kind] = self.manifest.columns
        self.condition: str | None = None
        self._allowed: NDArray[np.bool_] | None = None
        if not self.version.endswith(self.fingerprint):
            raise IndexFaultError(f"{self.folder / MANIFEST} is of another index. Build the index again.")
        if missing := missing_files(self.folder):
            from polyqa.base.rows import listed

            raise IndexFaultError(f"The index at {self.path} is incomplete: {listed(missing)} missing. Build it again.")
        if fingerprint not in (None, self.fingerprint):
            raise IndexFaultError(
                f"The index at {self.path} has changed: its fingerprint is {self.fingerprint}, expected {fingerprint}."
            )
        self._lock = threading.RLock()
        self._warm = False
        self._queries: Memory[NDArray[np.float32]] = Memory(_QUERIES)

    def where(self, condition: str) -> Self:
        """Return a handle of the same index that finds only the passages whose metadata fulfil a condition.

        They are chosen before the search: of ``k`` that are asked for, ``k`` are found if there are as many. What is
        loaded is shared with this handle.

        Parameters
        ----------
        condition
            An expression of SQLite's SQL over `columns`, ``pid`` and ``title``, such as
            ``product = 'Falcon' and date >= 2024-01-01``. A passage without a value in a column fulfils no comparison
            with it. It may come from a stranger, see `filters`.

        Raises
        ------
        PolyqaError
            If the condition cannot be used, or no passage fulfils it.
        """
        # Alone: in one text with the handle's own a stranger's brackets could end that.
        allowed = Filter(condition, self.columns).matching(self.positions)
        both = condition
        if self._allowed is not None:
            allowed, both = allowed & self._allowed, f"({self.condition}) and ({condition})"
        if not allowed.any():
            raise PolyqaError(f"No passage of {self.name} fulfils the condition {shortened(both, 80)!r}.")
        self.warm_up()
        filtered = object.__new__(type(self))
        vars(filtered).update(vars(self), condition=both, _allowed=allowed)
        vars(filtered).pop("bm25", None)
        return filtered

    def require_unchanged(self) -> None:
        """Raise `IndexFaultError` if passages were added or removed since, or the index was replaced."""
        if version_in_force(self.path) != self.version:
            raise IndexFaultError(
                f"The index at {self.path} has changed since it was opened, as by another command: open it again, or "
                "run the command again."
            )

    def _require_files(self, names: Callable[[Path], Iterable[str]]) -> None:
        """Check files of each part, named by a function of its folder, before they are loaded."""
        inside = ((part, name) for part in self.parts for name in names(part))
        require_written(self.folder, [(part / name).relative_to(self.folder).as_posix() for part, name in inside])

    def __len__(self) -> int:
        return self.manifest.passages if self._allowed is None else int(np.count_nonzero(self._allowed))

    def __repr__(self) -> str:
        where = "" if self.condition is None else f", where={self.condition!r}"
        return f"ColBERTIndex({str(self.path)!r}, passages={len(self)}, fingerprint={self.fingerprint!r}{where})"

    @locked_property
    def positions_of_parts(self) -> list[list[Passage | None]]:
        """The passages of each part, in the order of their positions; ``None`` where one was removed."""
        self._require_files(lambda _: [PASSAGES])
        parts = [read_passages(part / PASSAGES) for part in self.parts]
        expected = self.manifest.passages
        if expected != sum(passage is not None for part in parts for passage in part):
            where = self.folder if len(parts) > 1 else self.folder / PASSAGES
            raise IndexFaultError(
                f"{where} does not hold the {expected} passages that the manifest names. Build the index again."
            )
        return parts

    @cached_property
    def positions(self) -> list[Passage | None]:
        """The passages in the order of their positions, one shard after the other; ``None`` where one was removed."""
        return [*chain.from_iterable(self.positions_of_parts)]

    @property
    def stored(self) -> dict[str, Passage]:
        """All passages by their ids, those too that the condition of this handle leaves out."""
        return {passage.pid: passage for passage in self.positions if passage is not None}

    @property
    def passages(self) -> list[Passage]:
        """All passages that can be found, in corpus order."""
        allowed = repeat(True) if self._allowed is None else self._allowed
        pairs = zip(self.positions, allowed, strict=False)
        return [passage for passage, may in pairs if passage is not None and may]

    @cached_property
    def _position_of(self) -> Mapping[str, int]:
        return {passage.pid: i for i, passage in enumerate(self.positions) if passage is not None}

    def may_find(self, pid: str) -> bool:
        """Return whether a passage of the index fulfils the condition, if there is one."""
        return self._allowed is None or bool(self._allowed[self._position_of[pid]])

    def passage(self, pid: str) -> Passage:
        """Return a passage by its id; `KeyError` if the index does not hold it."""
        passage = self.positions[self._position_of[pid]]
        assert passage is not None
        return passage

    def vectors(self, encoder_name: str) -> Rows | None:
        """Return the stored sentence vectors, one for each position, if they are of this encoder."""
        same = self.manifest.encoder in (encoder_name, str(Path(encoder_name).absolute()))
        return self._stored_vectors if same else None

    @cached_property
    def _stored_vectors(self) -> Rows:
        self._require_files(lambda _: [VECTORS])
        loaded: list[NDArray[np.float16]] = []
        for part, positions in zip(self.parts, self.positions_of_parts, strict=True):
            with reading(part / VECTORS):
                loaded.append(np.load(part / VECTORS, mmap_mode="r"))
            if loaded[-1].ndim != 2 or len(loaded[-1]) != len(positions) or loaded[-1].shape[1:] != loaded[0].shape[1:]:
                raise IndexFaultError(f"{part / VECTORS} does not match its passages. Build the index again.")
        return Rows(loaded)

    def position(self, passage: Passage) -> int | None:
        """Return the position of a passage, or ``None`` if this index holds no such id and text."""
        position = self._position_of.get(passage.pid)
        if position is None:
            return None
        stored = self.positions[position]
        return position if stored is not None and stored.text == passage.text else None

    @cached_property
    def bm25(self) -> Retriever:
        """BM25 over the same passages; how rare a term is, is counted in each shard."""
        retrievers, positions = self._bm25_of_parts, self.positions_of_parts
        if self._allowed is not None:
            parts = np.split(self._allowed, np.cumsum([len(part) for part in positions])[:-1])
            retrievers = [
                bm25.among(allowed[[passage is not None for passage in part]])
                for bm25, allowed, part in zip(retrievers, parts, positions, strict=True)
            ]
        return retrievers[0] if len(retrievers) == 1 else MergedRetriever(retrievers)

    @cached_property
    def _bm25_of_parts(self) -> list[BM25Retriever]:
        self._require_files(lambda _: BM25_FILES)
        loaded: list[BM25Retriever] = []
        for part, positions in zip(self.parts, self.positions_of_parts, strict=True):
            passages = [passage for passage in positions if passage is not None]
            with reading(part / BM25):
                loaded.append(BM25Retriever.load(part / BM25, passages))
            require_terms(part, *loaded[-1].terms, len(passages))
        return loaded

    @locked_property
    def query_encoder(self) -> Encode:
        """What encodes queries, see `query_encoder.load_query_encoder`."""
        with LOADING:
            return load_query_encoder(trusted_checkpoint(self.manifest, self.path), self.settings)

    @locked_property
    def token_vectors(self) -> CompressedVectors:
        """The compressed token vectors, read into memory."""
        self._require_files(colbert_files)
        counts = [len(positions) for positions in self.positions_of_parts]
        require_vectors(self.folder, self.parts, counts, self.manifest.tokens)
        with reading(self.folder):
            return CompressedVectors(self.parts)

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Passage]]:
        """Search for several queries; they are encoded in one batch.

        Parameters
        ----------
        queries
            Questions; one longer than ``query_maxlen`` tokens is cut.
        k
            How many passages, at least 1.

        Returns
        -------
        list of list of Passage
            Per query the ``k`` best passages, or all if there are fewer, best first. The score is the sum over query
            tokens of the best cosine similarity, in [0, query_maxlen]. An empty query finds nothing.
        """
        require_positive(k)
        nonempty = [index for index, query in enumerate(queries) if query.strip()]
        results: list[list[Passage]] = [[] for _ in queries]
        if not nonempty:
            return results
        own_threads()
        texts = [well_formed(queries[index]) for index in nonempty]
        encoded = self._queries.get(texts, lambda missing: self.query_encoder(missing))
        for index, found in zip(nonempty, self._nearest(encoded, k), strict=True):
            results[index] = found
        return results

    def _nearest(self, queries: Sequence[NDArray[np.float32]], k: int) -> list[list[Passage]]:
        """Return the best passages of each query, which is given by its token vectors; several at once in threads."""
        vectors, selection = self.token_vectors, Selection.of(self._allowed, k, self.search_settings)

        def search(query: NDArray[np.float32]) -> list[tuple[int, float]]:
            with _SCORING:
                return vectors.search(query, k, self.search_settings, selection)

        if len(queries) == 1:
            rows = [search(queries[0])]
        else:
            with ThreadPoolExecutor(min(len(queries), _CORES)) as pool:
                rows = list(pool.map(search, queries))
        found = ([(self.positions[position], score) for position, score in row] for row in rows)
        return [[passage.with_score(score) for passage, score in row if passage is not None] for row in found]

    def warm_up(self) -> None:
        """Load what a search needs, if none was made yet: the first one then takes no longer than the next."""
        if not self._warm:
            for retriever in (self, self.bm25):
                retriever.search("warm up", 1)
            self._warm = True

    def info(self) -> dict[str, Any]:
        """Return what the manifest says, with the path, the version and its size on disk in bytes."""
        size = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        numbered = {"version": self.version, "versions": len(versions(self.path))}
        return {"name": self.name, "path": str(self.path), **numbered, "bytes": size, **self.manifest.model_dump()}

    def __getstate__(self) -> dict[str, Any]:
        return {
            "index": str(self.path),
            "fingerprint": self.fingerprint,
            "search_settings": self.search_settings,
            "condition": self.condition,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        condition = state.pop("condition")
        self.__init__(**{**state, "index": Path(state["index"])})  # type: ignore[misc]
        if condition is not None:
            vars(self).update(vars(self.where(condition)))
