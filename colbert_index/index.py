"""The handle of an index: open, search, look inside."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyqa.embedded_models.forks import own_threads
from polyqa.embedded_models.loading import LOADING
from polyqa.embedded_models.memory import Memory, Shared
from polyqa.signatures import Passage
from polyqa.signatures.markup import html_block, html_facts, markdown_facts, tag

from .bm25 import BM25Retriever
from .files import (
    BM25,
    BM25_FILES,
    MANIFEST,
    PASSAGES,
    VECTORS,
    IndexFaultError,
    colbert_files,
    missing_files,
    read_manifest,
    read_passages,
    reading,
)
from .intact import require_terms, require_vectors, require_written
from .retriever import Retriever, require_positive
from .settings import IndexSettings, Manifest, SearchSettings
from .store import index_path
from .trust import trusted_checkpoint
from .versions import hold, version_in_force, versions

_QUERIES = 1_000
"""How many queries' token vectors are kept: 16 kB each."""
_SCORING = threading.BoundedSemaphore(os.cpu_count() or 1)
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
        self.search_settings = search_settings or SearchSettings()
        self._held = hold(self.path, fingerprint)
        self.manifest: Manifest = read_manifest(self.folder)
        if self.version is not None and not self.version.endswith(self.fingerprint):
            raise IndexFaultError(f"{self.folder / MANIFEST} is of another index. Build the index again.")
        if missing := missing_files(self.folder):
            raise IndexFaultError(
                f"The index at {self.path} is incomplete: {', '.join(missing)} missing. Build it again."
            )
        if fingerprint is not None and fingerprint != self.manifest.fingerprint:
            raise IndexFaultError(
                f"The index at {self.path} has changed: its fingerprint is {self.manifest.fingerprint}, "
                f"expected {fingerprint}."
            )
        self._lock = threading.RLock()
        self._warm = False
        self._queries: Memory[Any] = Memory(_QUERIES)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def folder(self) -> Path:
        """Where the files of the version lie that this handle holds; they stay as long as the handle does."""
        return self._held.folder

    @property
    def version(self) -> str | None:
        """The name of that version; ``None`` for an index that an older polyqa made."""
        return self._held.name

    @property
    def fingerprint(self) -> str:
        """The hash that names the content (see `settings.fingerprint`)."""
        return self.manifest.fingerprint

    @property
    def settings(self) -> IndexSettings:
        """How the index was built."""
        return self.manifest.settings

    def require_unchanged(self) -> None:
        """Check that the version that this handle holds is still the one in force.

        Raises
        ------
        IndexFaultError
            If passages were added or removed, or the index was replaced: open it again.
        """
        if version_in_force(self.path) != self.version or (self.version is None and not self._is_as_opened()):
            raise IndexFaultError(f"The index at {self.path} has changed since it was opened; open it again.")

    def _is_as_opened(self) -> bool:
        return read_manifest(self.folder).fingerprint == self.fingerprint

    def _require_files(self, names: Callable[[Path], Iterable[str]]) -> None:
        """Check files, named by a function of the folder, before they are loaded."""
        if self.version is None:
            self.require_unchanged()
        require_written(self.folder, names(self.folder))

    def __len__(self) -> int:
        return self.manifest.passages

    def __repr__(self) -> str:
        return f"ColBERTIndex({str(self.path)!r}, passages={len(self)}, fingerprint={self.fingerprint!r})"

    @cached_property
    def positions(self) -> list[Passage | None]:
        """The passages in the order of their positions; ``None`` where one was removed."""
        with self._lock:
            self._require_files(lambda _: [PASSAGES])
            passages = read_passages(self.folder / PASSAGES)
        if sum(passage is not None for passage in passages) != self.manifest.passages:
            raise IndexFaultError(
                f"{self.folder / PASSAGES} does not hold the {self.manifest.passages} passages that the "
                "manifest names. Build the index again."
            )
        return passages

    @property
    def passages(self) -> list[Passage]:
        """All passages, in corpus order."""
        return [passage for passage in self.positions if passage is not None]

    @cached_property
    def _position_of(self) -> Mapping[str, int]:
        return {passage.pid: i for i, passage in enumerate(self.positions) if passage is not None}

    def passage(self, pid: str) -> Passage:
        """Return a passage by its id; `KeyError` if the index does not hold it."""
        passage = self.positions[self._position_of[pid]]
        assert passage is not None
        return passage

    def vectors(self, encoder_name: str) -> NDArray[np.float16] | None:
        """Return the stored sentence vectors, shape (positions, dimensions), if they are of this encoder."""
        return self._stored_vectors if self.manifest.encoder == encoder_name else None

    @cached_property
    def _stored_vectors(self) -> NDArray[np.float16]:
        self._require_files(lambda _: [VECTORS])
        with reading(self.folder / VECTORS):
            loaded: NDArray[np.float16] = np.load(self.folder / VECTORS, mmap_mode="r")
        if loaded.ndim != 2 or len(loaded) != len(self.positions):
            raise IndexFaultError(f"{self.folder / VECTORS} does not match its passages. Build the index again.")
        return loaded

    def position(self, passage: Passage) -> int | None:
        """Return the position of a passage, or ``None`` if this index holds no such id and text."""
        position = self._position_of.get(passage.pid)
        if position is None:
            return None
        own = self.positions[position]
        return position if own is not None and (own.title, own.text) == (passage.title, passage.text) else None

    @cached_property
    def bm25(self) -> BM25Retriever:
        """BM25 over the same passages."""
        self._require_files(lambda _: BM25_FILES)
        with reading(self.folder / BM25):
            loaded = BM25Retriever.load(self.folder / BM25, self.passages)
        require_terms(self.folder, *loaded.terms, len(self.passages))
        return loaded

    @cached_property
    def searcher(self) -> Any:
        """colbert-ai's ``Searcher``, for what this class does not offer."""
        with self._lock:
            if "searcher" in self.__dict__:
                return self.__dict__["searcher"]
            with LOADING:
                return _open_searcher(self)

    def _rank_config(self, k: int) -> Any:
        from colbert.infra import ColBERTConfig

        chosen = self.search_settings
        return ColBERTConfig.from_existing(
            self.searcher.config,
            ColBERTConfig(
                ncells=min(chosen.ncells, len(self.searcher.ranker.codec.centroids)),
                centroid_score_threshold=chosen.centroid_score_threshold,
                ndocs=max(chosen.ndocs, 4 * k),
            ),
        )

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
            Per query at most ``k`` passages, best first. The score is the sum over query tokens of
            the best cosine similarity, in [0, query_maxlen]. An empty query finds nothing.
        """
        require_positive(k)
        asked = [index for index, query in enumerate(queries) if query.strip()]
        results: list[list[Passage]] = [[] for _ in queries]
        if not asked:
            return results
        own_threads()
        texts = [queries[index] for index in asked]
        encoded = self._queries.get(
            [text.encode(errors="surrogatepass") for text in texts], texts, self._encode_queries
        )
        config = self._rank_config(k)
        for vectors, index in zip(encoded, asked, strict=True):
            with _SCORING:
                positions, scores = self.searcher.ranker.rank(config, vectors)
            results[index] = [
                passage.with_score(score)
                for position, score in zip(positions[:k], scores[:k], strict=True)
                if (passage := self.positions[position]) is not None
            ]
        return results

    def _encode_queries(self, queries: list[str]) -> Any:
        """Return the token vectors of each query, each of shape (1, query_maxlen, dimensions)."""
        return self.searcher.checkpoint.queryFromText(queries, bsize=128, to_cpu=True).float().split(1)

    def warm_up(self) -> None:
        """Load what a search needs, if none was made yet: the first one then takes no longer than the next."""
        if not self._warm:
            for retriever in (self, self.bm25):
                retriever.search("warm up", 1)
            self._warm = True

    def info(self) -> dict[str, Any]:
        """Return what the manifest says, with the path, the version and its size on disk in bytes."""
        size = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        kept = {"version": self.version, "versions": len(versions(self.path))} if self.version else {}
        return {"name": self.name, "path": str(self.path), **kept, "bytes": size, **self.manifest.model_dump()}

    def to_dict(self) -> dict[str, Any]:
        """Return what `info` returns, as JSON data."""
        return self.info()

    def to_markdown(self) -> str:
        """Return what the index is, as a table in Markdown."""
        return markdown_facts(self.name, self._facts())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what the index is."""
        return html_block(tag("p", tag("b", self.name)), html_facts(self._facts()))

    def _facts(self) -> dict[str, str]:
        told, made = self.info(), self.settings
        return {
            "passages": f"{len(self):,}",
            "token vectors": f"{self.manifest.tokens:,}, {made.nbits} bits per dimension",
            "checkpoint": self.manifest.checkpoint,
            "passages, questions cut at": f"{made.doc_maxlen}, {made.query_maxlen} tokens",
            "sentence encoder": self.manifest.encoder or "none",
            "size": f"{told['bytes'] / 1e6:,.1f} MB",
            "fingerprint": self.fingerprint,
            "path": str(self.path),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "fingerprint": self.fingerprint,
            "search_settings": self.search_settings,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(  # type: ignore[misc]
            Path(state["path"]),
            fingerprint=state["fingerprint"],
            search_settings=state["search_settings"],
        )


def _open_searcher(index: ColBERTIndex) -> Any:
    from .engine import colbert_config, load_checkpoint, open_scorer, quiet

    folder = index.folder
    index._require_files(colbert_files)
    require_vectors(folder, len(index.positions), index.manifest.tokens)
    location = trusted_checkpoint(index.manifest, index.path)
    model = load_checkpoint(location, index.settings)
    with reading(folder), quiet():
        from colbert.searcher import Searcher

        # Searcher's own constructor would load the checkpoint again and look for a collection file.
        searcher = object.__new__(Searcher)
        searcher.verbose = 0
        searcher.index = str(folder)
        searcher.config = colbert_config(location, index.settings)
        searcher.checkpoint = model
        searcher.ranker = open_scorer(folder)
    return searcher
