"""Reads the files of a folder as they lie there, and says what was read."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from pydantic import BaseModel

from polyqa.base.cores import usable_cores
from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs
from polyqa.base.files import file_hash, visible_files
from polyqa.base.rows import SUFFIXES, exists, format_of, is_saved
from polyqa.base.text import counted, well_formed
from polyqa.base.values import Passage
from polyqa.colbert_index.corpus import distinct, with_id
from polyqa.colbert_index.versions import VERSIONS, is_index

from .converting import FORMATS, is_ready
from .namesakes import titles_of, told_apart
from .splitting import Splitter, split_passages
from .worker import Worker, reason_against

_ABOUT_A_CORPUS = re.compile(r"(?i)(readme|licen[cs]e|notice|changelog|dataset|citation|qrels|dataset_infos?)\b.*")


def holds_documents(path: Path) -> bool:
    """Return whether a file or folder is to be converted; else it is a corpus for `read_corpus`.

    A folder that holds ready corpora and nothing beside them but what describes them, such as a README, is a corpus.
    """
    if not exists(path) or not path.is_dir():
        return path.suffix.lower() in FORMATS and not is_ready(path)
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
    """A file that was read: its hash, the ids of its passages, and the titles of its documents in plain words.

    Ready passages and mails have no titles here.
    """

    digest: str
    ids: list[str] = []
    titles: list[str] = []


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
        Files as they were read before, by their path in the folder. One with the same hash is not read again, unless
        the titles of its documents are those of files that are new, were changed or are gone.

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
        self.path = Path(path).expanduser()
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
        listed = dict(self._listed(root))
        read = self._converted([file for file in listed.items() if file[0] not in self.skipped])
        read |= self._converted([(source, listed[source]) for source in self._namesakes(listed)])
        told = told_apart({source: read[source] for source in listed if source in read}, self.splitter)
        for passage in distinct(self._with_ids(told)):
            self.passages += 1
            yield passage
        if not self.files:
            raise PolyqaError(f"{self.path} holds no file that can be read: {self.summary()}.")

    def _with_ids(self, files: Mapping[str, Sequence[Passage]]) -> Iterator[tuple[str, Passage]]:
        """Yield the passages of each file, with their ids, behind its path; note the ids."""
        for source, passages in files.items():
            ready = any(passage.pid for passage in passages)
            passages = list(split_passages(passages, self.splitter) if ready else map(with_id, passages))
            self.files[source].ids = [passage.pid for passage in passages]
            yield from ((source, passage) for passage in passages)

    def _listed(self, root: Path) -> Iterator[tuple[str, Path]]:
        """Yield the files that may be read, in the order of their paths; note which need not be read again."""
        for path in visible_files(self.path, self._unread, _is_index) if self.path.is_dir() else [self.path]:
            source = well_formed(path.relative_to(root).as_posix())
            if fault := self._refused(path, root):
                if fault != "other":
                    self.left_out[source] = fault
                continue
            try:
                digest = file_hash(path)
            except OSError as error:  # no permission, or gone since the folder was listed
                self.left_out[source] = f"cannot be read ({error.strerror})"
                continue
            before = self.before.get(source)
            if before is not None and before.digest == digest:
                self.files[source] = before.model_copy()
                self.skipped.add(source)
            else:
                self.files[source] = ReadFile(digest=digest)
            yield source, path

    def _namesakes(self, listed: Mapping[str, Path]) -> list[str]:
        """Return unchanged files that must be read again, as files that share their titles came, changed or went."""
        both = chain(self.before.items(), self.files.items())
        touched = {title for source, file in both if source not in self.skipped for title in file.titles}
        again: set[str] = set()
        while more := {source for source in self.skipped if touched & {*self.before[source].titles}}:
            touched |= {title for source in more for title in self.before[source].titles}
            self.skipped -= more
            again |= more
        return [source for source in listed if source in again]

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
                        del self.files[source]
                    else:
                        read[source] = passages
                        self.files[source].titles = titles_of(source, passages)
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
        if path.suffix.lower() not in FORMATS and format_of(path) not in SUFFIXES:
            if path == self.path:
                return f"has no format that is read: {', '.join(sorted({*FORMATS.values()}))}"
            if not path.is_dir():
                self._others[path.suffix.lower() or path.name] += 1
            return "other" if not path.is_dir() else "is a link to a folder"
        return reason_against(path, root if self.path.is_dir() else path.resolve().parent)

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
