"""Reads the files of a folder as they lie there, and says what was read."""

import hashlib
import os
import queue
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.base.files import visible_files
from polyqa.base.rows import SUFFIXES, exists, format_of, is_saved
from polyqa.base.text import counted, well_formed
from polyqa.base.values import Passage
from polyqa.colbert_index.corpus import content_id, repeated_id, with_id

from .converting import FORMATS
from .corpora import is_ready
from .splitting import Splitter, split_passages
from .worker import Worker, reason_against

_ABOUT_A_CORPUS = re.compile(r"(?i)(readme|licen[cs]e|notice|changelog|dataset|citation|qrels|dataset_infos?)\b.*")
_AHEAD = 4  # files per worker whose passages wait to be taken


def holds_documents(path: Path) -> bool:
    """Return whether a file or folder is to be converted; else it is a corpus for `read_corpus`.

    A folder that holds ready corpora and nothing beside them but what describes them, such as a README, is a corpus.
    """
    if not exists(path) or not path.is_dir():
        return path.suffix.lower() in FORMATS and not is_ready(path)
    if is_saved(path):
        return False
    files = [
        file for file in visible_files(path, lambda place, error: None) if not _ABOUT_A_CORPUS.fullmatch(file.name)
    ]
    ready = [file for file in files if format_of(file) in SUFFIXES]
    documents = (file for file in files if file.suffix.lower() in FORMATS)
    return not ready or any(not (file.suffix.lower() in SUFFIXES and is_ready(file)) for file in documents)


class Documents:
    """The passages of a folder of files, or of one file; they are read while they are taken.

    What cannot be read is left out and named in `summary`. Ready corpora among the files keep their passages and ids.

    Parameters
    ----------
    path
        Of a folder, with its subfolders, or a file. Hidden files are not read.
    splitter
        How long the passages are; by default as long as a default index reads.
    unchanged
        Hashes of files, by their path in the folder, that need not be read again.

    Attributes
    ----------
    files
        The hash of every file that was read, by its path in the folder.
    skipped
        Those of them that were not read again, being unchanged.
    left_out
        Why a file, or a subfolder with all its files, was not read, by its path in the folder; the summary names the
        first ten.
    ids
        The ids of the passages of every file that was read, by its path in the folder.
    passages
        How many passages there are; one that stands in several files is taken once.

    Raises
    ------
    PolyqaError
        If there is no such folder or file, or a package of the extra `documents` is missing; while it is read, if
        nothing in it can be, or two different passages share an id.

    Examples
    --------
    ::

        documents = Documents("handbook/")
        index = build_index(documents, "handbook")
        print(documents.summary())
    """

    NAMED = 10

    def __init__(
        self, path: str | Path, splitter: Splitter | None = None, *, unchanged: Mapping[str, str] | None = None
    ) -> None:
        needs("kreuzberg", extra="documents", for_="Reading documents")
        self.path = Path(path).expanduser()
        if not exists(self.path):
            raise PolyqaError(f"{self.path} is neither a folder nor a file.")
        self.splitter = splitter or Splitter()
        self.unchanged = unchanged or {}
        self.files: dict[str, str] = {}
        self.skipped: set[str] = set()
        self.left_out: dict[str, str] = {}
        self.ids: dict[str, list[str]] = {}
        self.passages = 0
        self._others: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Passage]:
        self.files, self.skipped, self.left_out, self.ids = {}, set(), {}, {}
        self.passages, self._others = 0, Counter()
        root = self.path if self.path.is_dir() else self.path.parent
        seen: dict[str, tuple[str, str]] = {}  # id to file and hash
        for source, passages in self._converted(root):
            self.ids[source] = [passage.pid for passage in passages]
            for passage in passages:
                content = content_id(passage)
                if passage.pid not in seen:
                    seen[passage.pid] = source, content
                    self.passages += 1
                    yield passage
                elif seen[passage.pid][1] != content:
                    raise repeated_id(passage.pid, seen[passage.pid][0], source)
        if not self.files:
            raise PolyqaError(f"{self.path} holds no file that can be read: {self.summary()}.")

    def _converted(self, root: Path) -> Iterator[tuple[str, list[Passage]]]:
        """Yield the passages of each file that can be read, in the order of their paths."""
        workers = min(4, os.cpu_count() or 1)
        idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        started = [Worker(self.splitter) for _ in range(workers)]
        for worker in started:
            idle.put(worker)

        def convert(path: Path, source: str) -> list[Passage] | str:
            worker = idle.get()
            try:
                return worker.passages(path, source)
            finally:
                idle.put(worker)

        waiting: list[tuple[str, str, Future[list[Passage] | str]]] = []
        with ThreadPoolExecutor(workers) as pool:
            try:
                for path in visible_files(self.path, self._unread) if self.path.is_dir() else [self.path]:
                    source = well_formed(path.relative_to(root).as_posix())
                    if fault := self._refused(path, root):
                        if fault != "other":
                            self.left_out[source] = fault
                        continue
                    try:
                        digest = _digest(path)
                    except OSError as error:  # no permission, or gone since the folder was listed
                        self.left_out[source] = f"cannot be read ({error.strerror})"
                        continue
                    if self.unchanged.get(source) == digest:
                        self.files[source] = digest
                        self.skipped.add(source)
                        continue
                    waiting.append((source, digest, pool.submit(convert, path, source)))
                    if len(waiting) > _AHEAD * workers:
                        yield from self._taken(*waiting.pop(0))
                for each in waiting:
                    yield from self._taken(*each)
            finally:
                for _, _, future in waiting:
                    future.cancel()
                for worker in started:
                    worker.close()

    def _taken(
        self, source: str, digest: str, future: "Future[list[Passage] | str]"
    ) -> Iterator[tuple[str, list[Passage]]]:
        passages = future.result()
        if isinstance(passages, str):
            self.left_out[source] = passages
            return
        self.files[source] = digest
        ready = any(passage.pid for passage in passages)
        yield source, list(split_passages(passages, self.splitter) if ready else map(with_id, passages))

    def _unread(self, folder: Path, error: OSError) -> None:
        """Note that a subfolder cannot be read."""
        place = well_formed(folder.relative_to(self.path).as_posix())
        self.left_out[place] = f"cannot be read ({error.strerror})"

    def _refused(self, path: Path, root: Path) -> str | None:
        if path.suffix.lower() not in FORMATS and format_of(path) not in SUFFIXES:
            if path == self.path:
                return f"has no format that is read: {', '.join(sorted({*FORMATS.values()}))}"
            if not path.is_dir():
                self._others[path.suffix.lower() or path.name] += 1
            return "other" if not path.is_dir() else "is a link to a folder"
        return reason_against(path, root)

    def summary(self) -> str:
        """Return what was read, in one line, with what was left out and why."""
        kinds = Counter(
            FORMATS.get(Path(source).suffix.lower(), Path(source).suffix[1:].upper()) for source in self.files
        )
        parts = [
            f"read {counted(len(self.files), 'file')}"
            + (f": {', '.join(f'{number:,} {kind}' for kind, number in kinds.most_common())}" if kinds else ""),
            *([f"{len(self.skipped):,} of them unchanged"] if self.skipped else []),
            counted(self.passages, "passage"),
        ]
        if self._others:
            suffixes = ", ".join(suffix for suffix, _ in self._others.most_common(4))
            parts.append(f"{counted(self._others.total(), 'file')} of other formats ({suffixes})")
        if self.left_out:
            named = [f"{source} {reason}" for source, reason in self.left_out.items()]
            more = [f"and {len(named) - self.NAMED:,} more"] if len(named) > self.NAMED else []
            parts.append(f"{counted(len(named), 'file')} left out: {', '.join([*named[: self.NAMED], *more])}")
        return "; ".join(parts)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
