"""Files that are whole or absent: written beside, then renamed."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import TrainingError


def write_text(path: Path, text: str) -> None:
    """Write a file at once; a process that dies leaves the old one or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    work = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        work.write_text(text, encoding="utf-8")
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def read_lines(path: Path, *keys: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file.

    Parameters
    ----------
    keys
        What every object must have.

    Raises
    ------
    TrainingError
        If the file is absent, a line is no JSON object, or lacks a key.
    """
    try:
        stream = path.open(encoding="utf-8")
    except OSError as error:
        raise TrainingError(f"{path} cannot be read: {error.strerror}. Check the path.") from error
    with stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except ValueError as error:
                raise TrainingError(f"{path}, line {number} is no JSON: {error}.") from error
            if not isinstance(found, dict) or any(key not in found for key in keys):
                raise TrainingError(f"{path}, line {number} needs the keys {', '.join(keys)}.")
            yield found
