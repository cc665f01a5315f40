"""Reads a corpus: JSONL, TSV or Parquet files, or passages made in Python."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from polyqa.base.errors import PolyqaError
from polyqa.base.files import visible_files
from polyqa.base.values import Passage

CorpusSource = str | Path | Iterable[Passage | Mapping[str, Any] | str]

_ID_KEYS = ("pid", "id", "_id", "docid", "passage_id")
_TEXT_KEYS = ("text", "passage", "contents", "content", "body")
_LONGEST_FIELD = 1 << 30
_NAMED = ".jsonl, .tsv or .parquet"
_HEADER = {*_ID_KEYS, *_TEXT_KEYS, "title"}


def read_corpus(source: CorpusSource) -> list[Passage]:
    """Read the passages of a corpus.

    Parameters
    ----------
    source
        A path of a file or of a folder of files, or an iterable of passages, mappings or plain texts, such as a data
        set of `datasets` that streams. A ``.jsonl`` file holds one
        object a line with ``id`` (or ``pid``, ``_id``), ``title`` (optional) and ``text``; a ``.tsv``
        file holds ``id<TAB>text`` or ``id<TAB>text<TAB>title`` (the order of DPR's and ColBERT's
        collections), or names its columns in a header line; a ``.parquet`` file has such columns.
        Passages without an id are numbered. A record with ``documents`` in place of a text (a question of RAMDocs)
        holds a passage in each: the first of record 3 is ``3-1``.

    Raises
    ------
    PolyqaError
        If the file is missing, empty or of another format, a line is broken (its number is given),
        a passage has no text, or two passages share an id.
    """
    passages: list[Passage] = []
    seen: dict[str, str] = {}
    for where, passage in iter_corpus(source):
        if passage.pid in seen:
            raise PolyqaError(
                f"{where}: the id {passage.pid!r} already stands at {seen[passage.pid]}; ids must be unique."
            )
        seen[passage.pid] = where
        passages.append(passage)
    return passages


def iter_corpus(source: CorpusSource) -> Iterator[tuple[str, Passage]]:
    """Yield where each passage of a corpus stands, and the passage, while it is read.

    Raises
    ------
    PolyqaError
        See `read_corpus`; but ids may stand twice.
    """
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        records: Iterable[tuple[str, Any]] = chain.from_iterable(map(_records, _files(path)))
        origin = str(path)
    else:
        records = ((f"passage {number}", record) for number, record in enumerate(source, 1))
        origin = "the list of passages"
    number = -1
    for number, (where, record) in enumerate(chain.from_iterable(map(_documents, count(1), records))):
        yield where, _passage(where, record, number)
    if number < 0:
        raise PolyqaError(f"{origin} holds no passage; there is nothing to index.")


def _documents(number: int, placed: tuple[str, Any]) -> list[tuple[str, Any]]:
    """Return the documents of a question as records with ids; any other record as it is."""
    where, record = placed
    documents = record.get("documents") if isinstance(record, Mapping) else None
    if not isinstance(documents, list) or record.keys() & {*_TEXT_KEYS}:
        return [placed]
    own = next((record[key] for key in _ID_KEYS if record.get(key)), number)
    numbered = [(f"{own}-{place}", document) for place, document in enumerate(documents, 1)]
    return [
        (f"{where}, document {name}", {"id": name, **document} if isinstance(document, Mapping) else document)
        for name, document in numbered
    ]


def _files(path: Path) -> list[Path]:
    """Return the files of a corpus: one, or those of a folder that have a corpus's format, by name."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise PolyqaError(f"{path} is not a file; give documents, a corpus in {_NAMED} format, or a folder of them.")

    def unreadable(place: Path, error: OSError) -> None:
        raise PolyqaError(f"{place} cannot be read ({error.strerror}).")

    files = [one for one in visible_files(path, unreadable) if one.suffix.lower() in _FORMATS and one.is_file()]
    if not files:
        raise PolyqaError(f"{path} holds no file in {_NAMED} format.")
    return files


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    kind = path.suffix.lower()
    if kind not in _FORMATS:
        raise PolyqaError(f"{path}: unknown corpus format {kind or 'without a suffix'!r}; use {_NAMED}.")
    try:
        yield from _FORMATS[kind](path)
    except UnicodeDecodeError as error:
        raise PolyqaError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}).") from error


def _jsonl(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield f"{path}:{number}", json.loads(line)
            except (ValueError, RecursionError) as error:
                reason = getattr(error, "msg", error)
                raise PolyqaError(f"{path}:{number}: not a JSON object ({reason}): {line.strip()[:80]!r}") from error


def _tsv(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        columns: Sequence[str] = ("id", "text", "title")
        csv.field_size_limit(_LONGEST_FIELD)
        first = True
        for number, row in enumerate(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            if not row or not any(cell.strip() for cell in row):
                continue
            header, first = first, False
            if header and {cell.strip().lower() for cell in row} <= _HEADER:
                columns = [cell.strip().lower() for cell in row]
                continue
            if not 2 <= len(row) <= len(columns):
                raise PolyqaError(
                    f"{path}:{number}: {len(row)} columns, expected {' <TAB> '.join(columns)}: {row[0][:60]!r}"
                )
            yield f"{path}:{number}", dict(zip(columns, row, strict=False))


def _parquet(path: Path) -> Iterator[tuple[str, Any]]:
    import pyarrow.parquet
    from pyarrow import ArrowException

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = [name for name in file.schema_arrow.names if name in _HEADER]
            for batch in file.iter_batches(columns=columns):
                for record in batch.to_pylist():
                    number += 1
                    yield f"{path}:{number}", record
    except (ArrowException, OSError) as error:
        raise PolyqaError(f"{path} is not a Parquet file ({' '.join(str(error).split())[:120]}).") from error


_FORMATS: Mapping[str, Callable[[Path], Iterator[tuple[str, Any]]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".tsv": _tsv,
    ".parquet": _parquet,
}


def _passage(where: str, record: Any, number: int) -> Passage:
    if isinstance(record, Passage):
        return _checked(where, record)
    if isinstance(record, str):
        record = {"text": record}
    if not isinstance(record, Mapping):
        raise PolyqaError(f"{where}: expected an object with id, title and text, got {type(record).__name__}.")
    text = next((record[key] for key in _TEXT_KEYS if record.get(key) is not None), None)
    if not isinstance(text, str):
        raise PolyqaError(f"{where}: no text; keys are {', '.join(map(str, record)) or 'none'}, 'text' is needed.")
    pid = next((record[key] for key in _ID_KEYS if record.get(key) is not None), number)
    title = record.get("title") or ""
    return _checked(where, Passage(pid=str(pid), title=str(title).strip(), text=text))


def _checked(where: str, passage: Passage) -> Passage:
    if not passage.pid.strip():
        raise PolyqaError(f"{where}: the id is empty; leave it out to have passages numbered.")
    try:
        f"{passage.pid}{passage.title}{passage.text}".encode()
    except UnicodeEncodeError as error:
        raise PolyqaError(f"{where}: passage {passage.pid!r} holds half a character ({error.reason}).") from error
    if not passage.text.strip():
        raise PolyqaError(f"{where}: passage {passage.pid!r} has an empty text.")
    return passage
