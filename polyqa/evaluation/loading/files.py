"""Reads the records of a local file: JSON with or without splits, or one record a line."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .record import Record, excerpt, listed, problem

SUFFIXES = (".json", ".jsonl", ".ndjson")

_AROUND = 100
_QUESTION_KEYS = ("question", "utterance", "ambiguous_question")


def read_file(path: Path, split: str | None = None) -> list[Record]:
    """Return the records of a file; there may be none.

    Parameters
    ----------
    path
        ``.jsonl`` or ``.ndjson``: a record a line, blank lines are passed over. ``.json``: a list of
        records, an object of records by id, or an object of such lists or objects by split. UTF-8, a byte
        order mark is accepted.
    split
        Which split to take; may be left out where there is one at most.

    Raises
    ------
    PolyqaError
        If the file is missing, empty, a folder, not UTF-8 or not JSON (line and column are given), a key
        stands twice in an object, or there is no such split (the splits are listed).
    """
    text = _text(path)
    if not text.strip():
        raise problem(path, "the file is empty")
    if path.suffix.lower() == ".json":
        return list(_numbered(path, *_chosen(path, _decoded(path, text), split)))
    if split is not None:
        raise problem(path, f"a file of one record a line has no split {split!r}; leave the split out")
    # Other characters that end a line for Python may stand in a text, so `str.splitlines` will not do.
    lines = enumerate(io.StringIO(text, newline=None), 1)
    return [Record(f"{path}: line {n}", _decoded(path, line.rstrip("\n"), n)) for n, line in lines if line.strip()]


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except IsADirectoryError as error:
        raise problem(path, "this is a folder; name a .json or .jsonl file in it") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise problem(path, f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if path.suffix.lower() not in SUFFIXES:
        raise problem(path, f"unknown suffix {path.suffix!r}; questions are read from {', '.join(SUFFIXES)}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise problem(path, f"the file is not UTF-8 text ({error.reason} at byte {error.start})") from error


def _decoded(path: Path, text: str, line: int | None = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = f"line {line or error.lineno}, column {error.colno}"
        near = text[max(0, error.pos - _AROUND) : error.pos + _AROUND].strip()
        hint = "; a file of one record a line is named .jsonl" if error.msg == "Extra data" else ""
        raise problem(path, f"{place}: not JSON ({error.msg}{hint})", near) from error
    except (RecursionError, ValueError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else error
        where = path if line is None else f"{path}: line {line}"
        raise problem(where, f"this cannot be taken as JSON ({what})", text.strip()[: 2 * _AROUND]) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of decoded pairs; of questions with one id, `json` would keep only the last."""
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"the key {key!r} stands twice in one object")
        made[key] = value
    return made


def _chosen(path: Path, data: Any, split: str | None) -> tuple[str, Any]:
    """Return what messages call the records, and the list or object that holds them."""
    if _is_record(data):
        raise problem(path, "expected a list or an object of records, got one record", excerpt(data))
    if not isinstance(data, dict | list):
        raise problem(path, f"expected a list or an object of records, got {type(data).__name__}", excerpt(data))
    if isinstance(data, list) or not data or any(_is_record(value) for value in data.values()):
        if split is not None:
            raise problem(path, f"the file has no splits, so no {split!r}; leave the split out")
        return str(path), data
    if split is None and len(data) == 1:
        split = next(iter(data))
    if split is None or split not in data:
        what = "name a split" if split is None else f"there is no split {split!r}"
        raise problem(path, f"{what}; there are {listed(data)}")
    records = data[split]
    if _is_record(records) or not isinstance(records, dict | list):
        kind = type(records).__name__
        raise problem(path, f"split {split!r}: expected a list or an object of records, got {kind}", excerpt(records))
    return f"{path}: split {split!r}", records


def _numbered(path: Path, origin: str, records: dict[str, Any] | list[Any]) -> Iterator[Record]:
    if isinstance(records, list):
        yield from (Record(f"{origin}: record {number}", value) for number, value in enumerate(records, 1))
    else:
        yield from (Record(f"{path}: question {key!r}", value, key) for key, value in records.items())


def _is_record(value: Any) -> bool:
    """Tell a record from an object of records; a record may be broken."""
    return isinstance(value, dict) and (
        any(isinstance(value.get(key), str) for key in _QUESTION_KEYS) or isinstance(value.get("qa_pairs"), list)
    )
