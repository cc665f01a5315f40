"""A file of JSON lines that survives a kill: what is in it is not made again."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from polyqa.signatures import PolyqaError

_SETTINGS = "settings"


class Append(Protocol):
    """Adds one line, in one write."""

    def __call__(self, line: dict[str, Any]) -> None:
        """Add it."""


def read_journal(path: Path, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a journal; none if there is no file.

    A last line without its end (the writer was killed) is cut off.

    Raises
    ------
    PolyqaError
        If it was written under other settings, or is no journal.
    """
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
    except ValueError as error:
        raise PolyqaError(f"{path} is damaged ({error}); remove it to start anew.") from error
    if not lines:
        return []
    earlier = lines[0].get(_SETTINGS) if isinstance(lines[0], dict) else None
    if not isinstance(earlier, dict):
        raise PolyqaError(f"{path} is no journal that polyqa began; choose another folder.")
    changed = [
        f"{name} was {earlier.get(name)}, is {new}" for name, new in settings.items() if earlier.get(name) != new
    ]
    if changed:
        raise PolyqaError(
            f"{path} was begun with other settings ({'; '.join(changed)}); remove it, or choose another folder."
        )
    return lines[1:]


@contextmanager
def appending(path: Path, settings: dict[str, Any]) -> Iterator[Append]:
    """Give a function that appends a line; a new file begins with the settings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def append(line: dict[str, Any]) -> None:
        os.write(file, (json.dumps(line, ensure_ascii=False) + "\n").encode())

    try:
        if os.fstat(file).st_size == 0:
            append({_SETTINGS: settings})
        yield append
    finally:
        os.close(file)
