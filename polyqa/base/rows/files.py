"""Reads the rows of files and folders; of each format in its own way, and always with where a row stands."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polyqa.base.files import visible_files

from .memory import rows_of_json
from .record import Record, Shape, no_split, problem
from .tables import read_table
from .text import read_lines, read_text

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow")
"""Of the files that hold rows; all but the last two may be packed by gzip (``.jsonl.gz``)."""

_LINES = (".jsonl", ".ndjson")
_AROUND = 100
_SHARD = re.compile(r"-\d{5}-of-\d{5}\b.*")
_BEIR = ("corpus", "queries", "qrels")


def format_of(path: Path) -> str:
    """Return a file's suffix in small letters, without that of gzip."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]] or [""]
    return suffixes[0] if len(suffixes) == 2 and suffixes[1] == ".gz" else suffixes[-1]


def located(source: str | Path, split: str | None = None) -> tuple[Path, str | None]:
    """Return path and split of a source, which may be written ``FILE@SPLIT``.

    `PolyqaError` if it names nothing, another split than ``split``, or the home folder of nobody.
    """
    if not str(source).strip():
        raise problem("the source", "its name is empty")
    try:
        path = Path(source).expanduser()
    except RuntimeError as error:
        raise problem(source, f"the file cannot be read: {error}") from error
    file, _, own_split = str(path).rpartition("@")
    if not own_split or exists(path) or not file or not exists(Path(file)):
        return path, split
    return Path(file), one_split(source, own_split, split)


def one_split(source: object, own_split: str | None, split: str | None) -> str | None:
    """Return the split that a source names, or that is asked for; if these are two, it is an error."""
    if own_split and split not in (None, own_split):
        raise problem(source, f"this names the split {own_split!r}, but {split!r} is asked for")
    return own_split or split


def exists(path: Path) -> bool:
    """Tell whether there is such a file or folder."""
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that is too long, say, is none of a file
        return False


def read_rows(path: Path, shape: Shape, split: str | None = None) -> Iterator[Record]:
    """Yield the rows of a file or a folder; there may be none.

    Parameters
    ----------
    path
        ``.jsonl``, ``.ndjson``: a row a line, blank lines are passed over. ``.json``: see `rows_of_json`; or a row a
        line. ``.csv``, ``.tsv``: see `read_table`. ``.parquet``, ``.arrow``. A folder of such files, or one that
        `datasets` saved (``save_to_disk``), or one of BEIR: its corpus or its queries.
    shape
        What the rows look like.
    split
        Which split to take; may be left out where there is one at most.

    Raises
    ------
    PolyqaError
        If there is no such file or split, the format is unknown, or something cannot be read; it names the place.
    """
    try:
        path.stat()
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise problem(path, f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if is_saved(path):
        yield from _saved(path, shape, split)
    elif path.is_dir():
        yield from _folder(path, shape, split)
    else:
        yield from _file(path, shape, split)


def _file(path: Path, shape: Shape, split: str | None) -> Iterator[Record]:
    kind = format_of(path)
    if kind not in SUFFIXES:
        raise problem(path, f"unknown suffix {kind!r}; {shape.what} are read from {', '.join(SUFFIXES)}")
    if split is not None and kind != ".json":
        raise problem(path, f"a file of this format has no splits, so no {split!r}; leave the split out")
    if kind in _LINES:
        rows = _json_lines(path)
    elif kind == ".json":
        rows = _json(path, shape, split)
    elif kind == ".parquet":
        rows = _parquet(path)
    elif kind == ".arrow":
        rows = _arrow(path)
    else:
        rows = read_table(path, shape, "\t" if kind == ".tsv" else None)
    yield from rows


def _json_lines(path: Path) -> Iterator[Record]:
    for number, line in read_lines(path):
        if line.strip():
            yield Record(f"{path}: line {number}", _decoded(path, line, number))


def _json(path: Path, shape: Shape, split: str | None) -> Iterator[Record]:
    text = read_text(path)
    if not text.strip():
        raise problem(path, "the file is empty")
    first, end, rest = text.partition("\n")
    if end and rest.strip() and first.startswith("{") and first.rstrip().endswith("}"):  # a row a line
        if split is not None:
            raise problem(path, f"a file of one record a line has no split {split!r}; leave the split out")
        yield from _json_lines(path)
    else:
        yield from rows_of_json(_decoded(path, text), shape, split, str(path))


def _decoded(path: Path, text: str, line: int | None = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object if line is None else None)
    except json.JSONDecodeError as error:
        place = f"line {line or error.lineno}, column {error.colno}"
        near = text[max(0, error.pos - _AROUND) : error.pos + _AROUND].strip()
        hint = "; a file of one record a line is named .jsonl" if error.msg == "Extra data" else ""
        raise problem(path, f"{place}: not JSON ({error.msg}{hint})", near) from error
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        where = path if line is None else f"{path}: line {line}"
        raise problem(where, f"this cannot be taken as JSON ({reason})", text.strip()[: 2 * _AROUND]) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of decoded pairs; of rows with one id, `json` would keep only the last."""
    by_key: dict[str, Any] = {}
    for key, value in pairs:
        if key in by_key:
            raise ValueError(f"the key {key!r} stands twice in one object")
        by_key[key] = value
    return by_key


def _parquet(path: Path) -> Iterator[Record]:
    import pyarrow.parquet
    from pyarrow import ArrowException, types

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            fields = [field for field in file.schema_arrow if not _is_vector(field.type, types)]
            for batch in file.iter_batches(columns=[field.name for field in fields]):
                for row in batch.to_pylist():
                    number += 1
                    yield Record(f"{path}: record {number}", row)
    except (ArrowException, OSError) as error:
        raise problem(path, f"this is not a Parquet file ({' '.join(str(error).split())[:120]})") from error


def _is_vector(kind: Any, types: Any) -> bool:
    """Tell a column of embeddings, which nobody asks for here, and which take longer than all the rest."""
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return lists and types.is_floating(kind.value_type)


def _arrow(path: Path) -> Iterator[Record]:
    import datasets
    from pyarrow import ArrowException

    try:
        rows = datasets.Dataset.from_file(str(path))
    except (ArrowException, OSError) as error:
        raise problem(path, f"this is not an Arrow file of datasets ({' '.join(str(error).split())[:120]})") from error
    yield from (Record(f"{path}: record {number}", row) for number, row in enumerate(rows, 1))


def is_saved(path: Path) -> bool:
    """Tell whether a folder is a data set that `datasets` saved."""
    return (path / "dataset_dict.json").is_file() or (path / "state.json").is_file()


def _saved(path: Path, shape: Shape, split: str | None) -> Iterator[Record]:
    import datasets

    try:
        data = datasets.load_from_disk(str(path))
    except (OSError, ValueError) as error:
        raise problem(path, f"this data set cannot be read ({' '.join(str(error).split())[:120]})") from error
    yield from rows_of_json(data, shape, split, str(path))


def _folder(path: Path, shape: Shape, split: str | None) -> Iterator[Record]:
    parts = [(file, _part(file, path)) for file in _files_of(path)]
    files = [file for file, part in parts if part == shape.part] or [file for file, part in parts if part is None]
    if not files:
        documents = "; documents are read by polyqa.documents.Documents" * (shape.what == "passages")
        read = f"they are read from {', '.join(SUFFIXES)} (or .gz)"
        raise problem(path, f"this folder holds no {shape.what}; {read}{documents}")
    names = dict.fromkeys(map(_split_name, files))
    if split is not None and split not in names and len(files) == 1:  # the splits stand in the file
        yield from _file(files[0], shape, split)
        return
    if split not in names if split is not None else len(names) > 1 and shape.part != "corpus":
        raise no_split(path, split, names)
    for file in files:
        if split in (None, _split_name(file)):
            yield from _file(file, shape, None)


def _files_of(folder: Path) -> list[Path]:
    """Return the files of a known format in a folder and its subfolders, by name, without hidden ones."""

    def unreadable(place: Path, error: OSError) -> None:
        raise problem(place, f"this folder cannot be read ({error.strerror})")

    files = (file for file in visible_files(folder, unreadable) if format_of(file) in SUFFIXES and file.is_file())
    return [file for file in files if file.name not in ("dataset_infos.json", "hub.json")]  # notes of where it is from


def _split_name(file: Path) -> str:
    return _SHARD.sub("", file.name).split(".")[0].lower()


def _part(file: Path, folder: Path) -> str | None:
    """Return which part of a folder of BEIR a file is: one of its name, or in a subfolder of its name."""
    names = [*file.relative_to(folder).parts[:-1], _split_name(file)]
    return next((name.lower() for name in names if name.lower() in _BEIR), None)
