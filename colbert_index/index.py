"""The handle of an index: open, search, look inside."""

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyqa.embedded_models.memory import Shared
from polyqa.signatures import Passage

from .bm25 import BM25Retriever
from .checkpoint import resolve_checkpoint
from .files import (
    BM25,
    PASSAGES,
    VECTORS,
    IndexFaultError,
    missing_files,
    read_manifest,
    read_passages,
    reading,
)
from .retriever import Retriever, require_positive
from .settings import IndexSettings, Manifest, SearchSettings
from .store import index_path


class ColBERTIndex(Shared, Retriever):
    """An index on disk, opened for searching.

    Opening reads the manifest; the model and the vectors are loaded by the first search. A handle
    may be used by many threads. `copy.deepcopy` returns the handle itself (optimizers copy programs),
    and a pickle holds only the path and the fingerprint.

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
        self.manifest: Manifest = read_manifest(self.path)
        if missing := missing_files(self.path):
            raise IndexFaultError(
                f"The index at {self.path} is incomplete: {', '.join(missing)} missing. Build it again."
            )
        if fingerprint is not None and fingerprint != self.manifest.fingerprint:
            raise IndexFaultError(
                f"The index at {self.path} has changed: its fingerprint is {self.manifest.fingerprint}, "
                f"expected {fingerprint}."
            )
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def fingerprint(self) -> str:
        """The hash that names the content (see `settings.fingerprint`)."""
        return self.manifest.fingerprint

    @property
    def settings(self) -> IndexSettings:
        """How the index was built."""
        return self.manifest.settings

    def require_unchanged(self) -> None:
        """Check that the folder still holds what it held when this handle was opened.

        Raises
        ------
        IndexFaultError
            If passages were added or removed, or the index was replaced: open it again.
        """
        current = read_manifest(self.path).fingerprint
        if current != self.fingerprint:
            raise IndexFaultError(f"The index at {self.path} has changed since it was opened; open it again.")

    def __len__(self) -> int:
        return self.manifest.passages

    def __repr__(self) -> str:
        return f"ColBERTIndex({str(self.path)!r}, passages={len(self)}, fingerprint={self.fingerprint!r})"

    @cached_property
    def positions(self) -> list[Passage | None]:
        """The passages in the order of their positions; ``None`` where one was removed."""
        with self._lock:
            self.require_unchanged()
            passages = read_passages(self.path / PASSAGES)
        if sum(passage is not None for passage in passages) != self.manifest.passages:
            raise IndexFaultError(
                f"{self.path / PASSAGES} does not hold the {self.manifest.passages} passages that the "
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
        self.require_unchanged()
        with reading(self.path / VECTORS):
            loaded: NDArray[np.float16] = np.load(self.path / VECTORS, mmap_mode="r")
        if loaded.ndim != 2 or len(loaded) != len(self.positions):
            raise IndexFaultError(f"{self.path / VECTORS} does not match its passages. Build the index again.")
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
        self.require_unchanged()
        with reading(self.path / BM25):
            return BM25Retriever.load(self.path / BM25, self.passages)

    @cached_property
    def searcher(self) -> Any:
        """colbert-ai's ``Searcher``, for what this class does not offer."""
        with self._lock:
            if "searcher" in self.__dict__:
                return self.__dict__["searcher"]
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
        encoded = self.searcher.checkpoint.queryFromText([queries[index] for index in asked], bsize=128, to_cpu=True)
        config = self._rank_config(k)
        for row, index in enumerate(asked):
            positions, scores = self.searcher.ranker.rank(config, encoded[row : row + 1].float())
            results[index] = [
                passage.with_score(score)
                for position, score in zip(positions[:k], scores[:k], strict=True)
                if (passage := self.positions[position]) is not None
            ]
        return results

    def info(self) -> dict[str, Any]:
        """Return what the manifest says, with the path and the size on disk in bytes."""
        size = sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())
        return {"name": self.name, "path": str(self.path), "bytes": size, **self.manifest.model_dump()}

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
    from .engine import colbert_config, load_checkpoint, quiet

    index.require_unchanged()
    location = resolve_checkpoint(index.manifest.checkpoint)
    model = load_checkpoint(location, index.settings)
    with reading(index.path), quiet():
        from colbert.search.index_storage import IndexScorer
        from colbert.searcher import Searcher

        # Searcher's own constructor would load the checkpoint again and look for a collection file.
        searcher = object.__new__(Searcher)
        searcher.verbose = 0
        searcher.index = str(index.path)
        searcher.config = colbert_config(location, index.settings)
        searcher.checkpoint = model
        searcher.ranker = IndexScorer(str(index.path), use_gpu=False)
    return searcher
