"""Files that are whole or absent: written beside, then renamed."""

import contextlib
import json
import os
import shutil
import tempfile
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


@contextlib.contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Give an empty folder to fill, which then takes the target's place; after an error the target is as before."""
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield work
        for path in [work, *work.iterdir()]:  # what tempfile and safetensors make, nobody else may read
            path.chmod(0o755 if path.is_dir() else 0o644)
        shutil.rmtree(target, ignore_errors=True)
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


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
