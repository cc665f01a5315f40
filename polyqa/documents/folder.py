"""Reads the files of a folder as they lie there, and says what was read."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic import BaseModel

from polyqa.base.cores import usable_cores
from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.base.files import file_hash, visible_files
from polyqa.base.folders import expanded
from polyqa.base.rows import SUFFIXES, exists, format_of, is_saved
from polyqa.base.text import counted, well_formed
from polyqa.base.values import Passage
from polyqa.colbert_index.corpus import distinct, with_id
from polyqa.colbert_index.versions import VERSIONS, is_index

from .converting import FORMATS, SAVE_AS, is_ready
from .namesakes import told_apart
from .splitting import Splitter, split_passages
from .worker import Worker, reason_against

_ABOUT_A_CORPUS = re.compile(r"(?i)(readme|licen[cs]e|notice|changelog|dataset|citation|qrels|dataset_infos?)\b.*")


def holds_documents(path: Path) -> bool:
    """Return whether a file or folder is to be converted; else it is a corpus for `read_corpus`.

    A folder that holds ready corpora and nothing beside them but what describes them, such as a README, is a corpus.
    """
    if not exists(path) or not path.is_dir():
        named = exists(path) or path.suffix.lower() in {*FORMATS, *SAVE_AS}  # else it may be FILE@SPLIT
        return named and not is_ready(path)
    if is_saved(path):
        return False
    files = [
        file
        for file in visible_files(path, lambda place, error: None, _is_index)
        if not _ABOUT_A_CORPUS.fullmatch(file.name) and file.parent.name.lower() != "qrels"
    ]
    ready = [file for file in files if format_of(file) in SUFFIXES]
    documents = (file for file in files if file.suffix.lower() in FORMATS)
    return not ready or any(not (file.suffix.lower() in SUFFIXES and is_ready(file)) for file in documents)


def _is_index(folder: Path) -> bool:
    """Return whether a folder is an index, which may lie beside what it was built of."""
    return is_index(folder) and (folder / VERSIONS).is_dir()


class ReadFile(BaseModel):
    """A file that was read: its hash, and its passages, those of documents without ids and not yet told apart."""

    digest: str
    passages: list[Passage]


class Documents:
    """The passages of a folder of files, or of one file; they are read when the first one is taken.

    What cannot be read is left out and named in `summary`. Ready corpora among the files keep their passages and ids.

    Parameters
    ----------
    path
        Of a folder, with its subfolders, or a file. Hidden files are not read, nor are polyqa's indexes.
    splitter
        How long the passages are; by default as long as a default index reads.
    before
        Files as they were read before, by their path in the folder. One with the same hash is not read again.

    Attributes
    ----------
    files
        The files that were read, by their paths in the folder.
    skipped
        Those of them that were not read again, being unchanged.
    left_out
        Why a file, or a subfolder with all its files, was not read, by its path in the folder; the summary names the
        first ten.
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
        self, path: str | Path, splitter: Splitter | None = None, *, before: Mapping[str, ReadFile] | None = None
    ) -> None:
        needs("kreuzberg", extra="documents", for_="Reading documents")
        self.path = expanded(path)
        if not exists(self.path):
            raise PolyqaError(f"{self.path} is neither a folder nor a file.")
        self.splitter = splitter or Splitter()
        self.before = before or {}
        self._begin()

    def _begin(self) -> None:
        self.files: dict[str, ReadFile] = {}
        self.skipped: set[str] = set()
        self.left_out: dict[str, str] = {}
        self.passages = 0
        self._others: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Passage]:
        self._begin()
        root = self.path if self.path.is_dir() else self.path.parent
        listed = {source: (path, digest) for source, path, digest in self._listed(root)}
        self.skipped = {
            source
            for source, (_, digest) in listed.items()
            if source in self.before and self.before[source].digest == digest
        }
        new = self._converted([(source, path) for source, (path, _) in listed.items() if source not in self.skipped])
        for source, (_, digest) in listed.items():
            if source in self.skipped:
                self.files[source] = self.before[source]
            elif source in new:
                self.files[source] = ReadFile(digest=digest, passages=new[source])
        passages_by_source = told_apart({source: file.passages for source, file in self.files.items()}, self.splitter)
        for passage in distinct(self._with_ids(passages_by_source)):
            self.passages += 1
            yield passage
        if not self.files:
            raise PolyqaError(f"{self.path} holds no file that can be read: {self.summary()}.")

    def _with_ids(self, files: Mapping[str, Sequence[Passage]]) -> Iterator[tuple[str, Passage]]:
        """Yield the passages of each file, with their ids, behind its path."""
        for source, passages in files.items():
            ready = any(passage.pid for passage in passages)
            for passage in split_passages(passages, self.splitter) if ready else map(with_id, passages):
                yield source, passage

    def _listed(self, root: Path) -> Iterator[tuple[str, Path, str]]:
        """Yield the files that may be read, in the order of their paths, with their hashes."""
        for path in visible_files(self.path, self._unread, _is_index) if self.path.is_dir() else [self.path]:
            source = well_formed(path.relative_to(root).as_posix())
            if fault := self._refused(path, root):
                if fault != "other":
                    self.left_out[source] = fault
                continue
            try:
                yield source, path, file_hash(path)
            except OSError as error:  # no permission, or gone since the folder was listed
                self.left_out[source] = f"cannot be read ({error.strerror})"

    def _converted(self, files: Sequence[tuple[str, Path]]) -> dict[str, list[Passage]]:
        """Return the passages of each file that can be read, those of documents without ids."""
        started = [Worker(self.splitter) for _ in range(min(4, len(usable_cores())))]
        idle = [*started]  # as many as threads

        def convert(source: str, path: Path) -> list[Passage] | str:
            worker = idle.pop()
            try:
                return worker.passages(path, source)
            finally:
                idle.append(worker)

        read: dict[str, list[Passage]] = {}
        with ThreadPoolExecutor(len(started)) as pool:
            waiting = [(source, pool.submit(convert, source, path)) for source, path in files]
            try:
                for source, future in waiting:
                    if isinstance(passages := future.result(), str):
                        self.left_out[source] = passages
                    else:
                        read[source] = passages
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for worker in started:
                    worker.close()
        return read

    def _unread(self, folder: Path, error: OSError) -> None:
        """Note that a subfolder cannot be read."""
        place = well_formed(folder.relative_to(self.path).as_posix())
        self.left_out[place] = f"cannot be read ({error.strerror})"

    def _refused(self, path: Path, root: Path) -> str | None:
        suffix = path.suffix.lower()
        if suffix in SAVE_AS:
            return f"has a format that is not read: save it as {SAVE_AS[suffix]}"
        if suffix not in FORMATS and format_of(path) not in SUFFIXES:
            if path == self.path:
                return f"has no format that is read: {', '.join(sorted({*FORMATS.values(), 'Arrow', 'Parquet'}))}"
            if not path.is_dir():
                self._others[suffix or path.name] += 1
            return "other" if not path.is_dir() else "is a link to a folder"
        return reason_against(path, root if self.path.is_dir() else path.resolve().parent)

    def summary(self) -> str:
        """Return what was read, in one line, with what was left out and why."""
        formats = [format_of(Path(source)) for source in self.files]
        kinds = Counter(FORMATS.get(suffix, suffix[1:].upper()) for suffix in formats)
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
            reasons = [f"{source} {reason}" for source, reason in self.left_out.items()]
            remainder = [f"and {len(reasons) - self.NAMED:,} more"] if len(reasons) > self.NAMED else []
            parts.append(f"{counted(len(reasons), 'file')} left out: {', '.join([*reasons[: self.NAMED], *remainder])}")
        return "; ".join(parts)
