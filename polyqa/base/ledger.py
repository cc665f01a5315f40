"""Results of long work, kept as they end: whatever stops the work, what is in its ledger is not made again.

A ledger is a sqlite3 file of results by id, with the identity of the work that they come from. Each result is a
transaction of its own, on the disk when `Ledger.keep` returns: a kill loses nothing that was kept, a power cut at most
the result that was being written.

People read JSON lines. `exporting` writes them from the ledger every few seconds and at the end, always as a whole
file; then the ledger goes: it is there only while work goes on, and after a kill.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from polyqa.base.errors import PolyqaError
from polyqa.base.files import require_no_links, unwritable, write_atomically

_BETWEEN_EXPORTS = 2.0  # seconds
_SHARE = 20  # writing lines takes one part in so many of the time
_LONGEST = 120  # characters of a line in a message
T = TypeVar("T")


def differences(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in words how two identities differ; nothing if they are the same.

    >>> differences({"lm": "a", "seed": 0}, {"lm": "b", "seed": 0})
    'lm was a, is b'
    """
    return "; ".join(
        f"{name} was {earlier.get(name)}, is {now.get(name)}"
        for name in {**earlier, **now}
        if earlier.get(name) != now.get(name)
    )


def json_line(value: Mapping[str, Any]) -> str:
    """Return a JSON object as a line; half a character (a reply may be cut inside an emoji) becomes a ``?``."""
    return json.dumps(value, ensure_ascii=False).encode(errors="replace").decode() + "\n"


def read_lines(path: Path, parse: Callable[[bytes], T]) -> list[T]:
    """Return what the lines of a JSON-lines file hold; nothing if there is no file.

    The `PolyqaError` shows the first line for which ``parse`` raises a `ValueError` or `LookupError`.
    """
    lines = (path.read_bytes() if path.exists() else b"").split(b"\n")
    if not lines[-1]:
        lines.pop()
    values: list[T] = []
    for number, line in enumerate(lines, 1):
        try:
            values.append(parse(line))
        except (ValueError, LookupError, RecursionError) as error:
            raise _unreadable(path, number, line, error) from error
    return values


def _unreadable(path: Path, number: int, line: bytes, error: Exception) -> PolyqaError:
    why = str(error)
    if isinstance(error, ValidationError):
        problem = error.errors()[0]
        why = f"{'.'.join(map(str, problem['loc'])) or 'line'}: {problem['msg']}"
    return PolyqaError(
        f"{path}, line {number} is damaged, or is not of polyqa ({why}). Remove the line, and the command that wrote "
        f"the file makes it again: {line[:_LONGEST].decode(errors='replace')}"
    )


class Ledger:
    """Results by id, each a JSON object; made by `open_ledger`. Several threads may use it.

    Attributes
    ----------
    path
        The file.
    finished
        Whether it is not needed any more: then it is removed when it is closed.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.finished = False
        self._connection = connection
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield ids and results, in the order in which they were kept."""
        yield from self._read("SELECT id, result FROM results ORDER BY rowid")

    def get(self, id: str) -> dict[str, Any] | None:
        """Return a result, ``None`` if there is none."""
        return next((result for _, result in self._read("SELECT id, result FROM results WHERE id = ?", id)), None)

    def keep(self, id: str, result: Mapping[str, Any]) -> None:
        """Write down a result, in place of an earlier one of the same id.

        `PolyqaError` if the disk cannot take it; what was kept before stays.
        """
        self._write([(id, result)])

    def replace(self, results: Mapping[str, Mapping[str, Any]]) -> None:
        """Write down results in place of all that the ledger holds, all or none; see `keep`."""
        self._write(results.items(), "DELETE FROM results")

    def _write(self, results: Iterable[tuple[str, Mapping[str, Any]]], *first: str) -> None:
        rows = [(id, json.dumps(result)) for id, result in results]
        try:
            with self._lock, self._connection:
                for statement in ("BEGIN", *first):
                    self._connection.execute(statement)
                self._connection.executemany("INSERT OR REPLACE INTO results (id, result) VALUES (?, ?)", rows)
        except sqlite3.OperationalError as error:
            raise unwritable(self.path, error) from error
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error

    def _read(self, statement: str, *values: str) -> list[tuple[str, dict[str, Any]]]:
        try:
            rows = self._connection.execute(statement, values).fetchall()
            return [(str(id), json.loads(text)) for id, text in rows]
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            raise _damaged(self.path, error) from error


@contextmanager
def open_ledger(path: Path, identity: Mapping[str, Any]) -> Iterator[Ledger]:
    """Open a ledger, which is made if there is none, for this process alone.

    The identity is JSON data that names the work: results of other work are not taken for its own. `PolyqaError` if
    the ledger belongs to other work, is damaged, cannot be written, or another process has it.
    """
    connection = _connect(path)
    ledger = Ledger(path, connection)
    try:
        _check(path, connection, identity)
        yield ledger
    finally:
        connection.close()
        if ledger.finished:
            remove_ledger(path)


def _connect(path: Path) -> sqlite3.Connection:
    for suffix in ("", "-wal", "-shm"):
        require_no_links(path.with_name(path.name + suffix))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.OperationalError) as error:
        raise unwritable(path, error) from error


def _check(path: Path, connection: sqlite3.Connection, identity: Mapping[str, Any]) -> None:
    """Check that a ledger belongs to the work of this identity; a new one does from now on."""
    try:
        # Locked for this process alone, a write-ahead log needs no memory shared with others, which folders on a
        # network do not have.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS identity (json TEXT NOT NULL)")
        connection.execute("CREATE TABLE IF NOT EXISTS results (id TEXT PRIMARY KEY, result TEXT NOT NULL)")
        now = json.dumps(identity)
        stored = connection.execute("SELECT json FROM identity").fetchone()
        if stored is None:
            connection.execute("INSERT INTO identity (json) VALUES (?)", (now,))
        changed = "" if stored is None else differences(json.loads(stored[0]), json.loads(now))
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise PolyqaError(f"{path} is being written by another process; wait until it is done.") from error
        raise unwritable(path, error) from error
    except (sqlite3.DatabaseError, ValueError) as error:
        raise _damaged(path, error) from error
    if changed:
        raise PolyqaError(f"{path} was begun with other settings ({changed}); remove it, or choose another folder.")


def _damaged(path: Path, error: Exception) -> PolyqaError:
    return PolyqaError(f"{path} is damaged ({error}). Remove it to begin again.")


def remove_ledger(path: Path) -> None:
    """Remove a ledger that nobody has open, if it is there."""
    for suffix in ("-wal", "-shm", ""):  # a log without its ledger means nothing; the other way round it would be lost
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextmanager
def exporting(ledger: Ledger, path: Path, order: Sequence[str]) -> Iterator[Callable[[], None]]:
    """Write the results of a ledger as JSON lines while the block runs, and once more when it ends, however it ends.

    The file is replaced as a whole. Each line has the ``id`` of its result; the lines are in the order of the ids that
    are given, and results of others are left out. What the context gives is called after each result, and writes the
    file if it was not written for some seconds.
    """

    def write() -> None:
        """Write every line, not all at once in memory."""
        results = ((id, ledger.get(id)) for id in order)
        lines = (json_line({"id": id, **result}).encode() for id, result in results if result is not None)
        write_atomically(path, lines)

    due = 0.0

    def refresh() -> None:
        nonlocal due
        started = time.monotonic()
        if started >= due:
            write()
            ended = time.monotonic()
            due = ended + max(_BETWEEN_EXPORTS, _SHARE * (ended - started))

    try:
        yield refresh
    except BaseException:
        with suppress(PolyqaError):  # there is an error to tell already, and the ledger has everything
            write()
            ledger.finished = True
        raise
    write()
    ledger.finished = True
