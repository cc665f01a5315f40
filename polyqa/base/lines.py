"""A file of JSON lines that only grows: every line has a checksum, and no kill leaves more than one broken line.

A line is a JSON object whose last key, ``crc``, is the CRC-32 of the line without it, in hexadecimal: a line that was
damaged, by a disk or an editor, is told from one that is whole. Lines of polyqa 0.1 and older have none; they are read
where they stand before all lines that have one.

What a kill leaves: every line that was added, and at most one broken line at the end, which the next start cuts off.
What a power cut leaves: every line that was on the disk. The file is synced with the first line that comes a second or
more after the last sync, and when it is closed: a cut costs the lines of a burst that began less than a second after a
sync, which the system would have written down by itself within half a minute or so.
"""

import errno
import json
import os
import re
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from polyqa.base.files import sync, sync_folder, unwritable, write_whole

_CHECKSUM = re.compile(rb'(, |\{)"crc": "([0-9a-f]{8})"\}\r?$')
_LONGEST_CHECKSUM = 32  # bytes
_BETWEEN_SYNCS = 1.0  # seconds
_TOLD = 10  # numbers of damaged lines in a warning
T = TypeVar("T")


class DamageWarning(UserWarning):
    """Told of lines that are lost: they are left out, and what they held is made again."""


def with_checksum(data: str) -> str:
    r"""Return a JSON object as a line with its checksum.

    >>> with_checksum('{"id": "q1"}')
    '{"id": "q1", "crc": "a841cf0b"}\n'
    """
    between = "" if data == "{}" else ", "
    return f'{data[:-1]}{between}"crc": "{zlib.crc32(data.encode()):08x}"}}\n'


def _find_checksum(data: bytes) -> re.Match[bytes] | None:
    return _CHECKSUM.search(data, max(len(data) - _LONGEST_CHECKSUM, 0))


def _without_checksum(data: bytes, found: re.Match[bytes]) -> bytes:
    """Return a line without its checksum; a `ValueError` if that does not fit."""
    content = data[: found.start()] + (b"{}" if found[1] == b"{" else b"}")
    if zlib.crc32(content) != int(found[2], 16):
        raise ValueError("it has changed since it was written: its checksum does not fit")
    return content


@dataclass(frozen=True)
class Line(Generic[T]):
    """A line that is whole: its number from 1, its bytes without the end, and what it says."""

    number: int
    data: bytes
    value: T


@dataclass(frozen=True)
class Fault:
    """A line that is not: its number, its bytes, and what is wrong."""

    number: int
    data: bytes
    error: ValueError


@dataclass(frozen=True)
class Lines(Generic[T]):
    """What a file holds.

    Attributes
    ----------
    path
        The file.
    whole, faults
        Its lines.
    torn
        What stands at the end and is the beginning of a line: its writer was killed, or is writing it.
    unended
        Whether a last line is whole but for its end.
    own
        Whether any line has a checksum, be it a wrong one: polyqa wrote this file, and nobody else did.
    """

    path: Path
    whole: list[Line[T]]
    faults: list[Fault]
    torn: bytes
    unended: bool
    own: bool

    def warn(self) -> None:
        """Tell on one line what is left out, if anything is."""
        lost = ["the last line was not written to its end"] if self.torn else []
        if self.faults:
            numbers = [str(fault.number) for fault in self.faults[:_TOLD]]
            more = ["…"] if len(self.faults) > _TOLD else []
            damaged = "1 line is" if len(self.faults) == 1 else f"{len(self.faults)} lines are"
            lost.insert(0, f"{damaged} damaged ({', '.join(numbers + more)})")
        if lost:
            told = f"{self.path}: {', and '.join(lost)}; {len(self.whole)} good lines are kept."
            warnings.warn(told, DamageWarning, stacklevel=3)

    def repair(self) -> None:
        """Take what is no line out of the file, so that lines can be added.

        Raises
        ------
        PolyqaError
            If the file cannot be written.
        """
        try:
            if self.faults:
                write_whole(self.path, b"".join(line.data + b"\n" for line in self.whole))
            elif self.torn:
                os.truncate(self.path, self.path.stat().st_size - len(self.torn))
            elif self.unended:
                with self.path.open("ab") as file:
                    file.write(b"\n")
        except OSError as error:
            raise unwritable(self.path, error) from error


def read_lines(path: Path, read: Callable[[bytes], T]) -> Lines[T]:
    """Return the lines of a file; none if there is no file.

    Parameters
    ----------
    read
        Returns what a line says, given without its checksum; raises a `ValueError` if that is nothing.
    """
    every = (path.read_bytes() if path.exists() else b"").split(b"\n")
    last = every.pop()  # nothing, if it has its end
    whole: list[Line[T]] = []
    faults: list[Fault] = []
    own = False
    for number, data in enumerate([*every, last] if last else every, 1):
        found = _find_checksum(data)
        try:
            if found is not None:
                own = True
                content = _without_checksum(data, found)
            elif own:
                raise ValueError("it has no checksum, and a line before it has one")
            else:
                content = data
            whole.append(Line(number, data, read(content)))
        except ValueError as error:
            faults.append(Fault(number, data, error))
    # A JSON object without its end is no JSON, so that a whole last line is known even where its end is lacking.
    torn = bool(last and faults and faults[-1].number > len(every) and not _is_object(last))
    if torn:
        faults.pop()
    return Lines(path, whole, faults, last if torn else b"", unended=bool(last) and not torn, own=own)


def json_object(data: bytes) -> dict[str, Any]:
    """Return what a line says; a `ValueError` if it is no JSON object."""
    try:
        value = json.loads(data.decode())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def _is_object(data: bytes) -> bool:
    try:
        json_object(data)
    except ValueError:
        return False
    return True


class Appender:
    """Adds lines to the end of a file; made by `appending_lines`. Not for several threads at once.

    Attributes
    ----------
    size
        Bytes of the whole lines.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        is_new = not path.exists()
        # No buffer: a line is in the file, and outlives this process, when `append` returns.
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self.size = os.fstat(self._file).st_size
        self._writing = False
        self._synced = time.monotonic()
        if is_new:
            sync_folder(path.parent)

    def append(self, line: str) -> None:
        """Add a line, given with its end.

        Raises
        ------
        PolyqaError
            If the file cannot take it, such as on a full disk; then nothing of it stays.
        """
        data = line.encode()
        try:
            self._settle()
            self._writing = True
            left = memoryview(data)
            while left:  # a disk that is nearly full takes a part
                written = os.write(self._file, left)
                if not written:
                    raise OSError(errno.EIO, "nothing was written")
                left = left[written:]
            self.size += len(data)
            self._writing = False
            if time.monotonic() - self._synced >= _BETWEEN_SYNCS:
                self._sync()
        except OSError as error:
            with suppress(OSError):
                self._settle()
            raise unwritable(self._path, error) from error

    def close(self) -> None:
        """Close the file when every line is on the disk.

        Raises
        ------
        PolyqaError
            If the disk cannot take them.
        """
        try:
            self._settle()
            self._sync()
        except OSError as error:
            raise unwritable(self._path, error) from error
        finally:
            os.close(self._file)

    def _sync(self) -> None:
        sync(self._file)
        self._synced = time.monotonic()

    def _settle(self) -> None:
        """Cut off the part of a line that an error or Ctrl-C left; a line that had got to its end stays."""
        if not self._writing:
            return
        size = os.lseek(self._file, 0, os.SEEK_END)
        if size > self.size:
            os.lseek(self._file, size - 1, os.SEEK_SET)
            if os.read(self._file, 1) != b"\n":
                os.ftruncate(self._file, self.size)
                size = self.size
        self.size = size
        self._writing = False


@contextmanager
def appending_lines(path: Path) -> Iterator[Appender]:
    """Open a file, which is made if there is none, to add lines. One that is there must be whole: see `Lines.repair`.

    Raises
    ------
    PolyqaError
        If the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        appender = Appender(path)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        yield appender
    except BaseException:
        with suppress(Exception):  # there is an error to tell already
            appender.close()
        raise
    appender.close()
