"""Opens text files as they come: packed by gzip, in UTF-8 or UTF-16, with lines that end in any of the three ways."""

import codecs
import gzip
import io
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from polyqa.base.errors import PolyqaError

from .record import problem

_BEGINNING = 1 << 16  # bytes that tell how a file is written
_PACKED = b"\x1f\x8b"  # how a gzip file begins
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins with the mark of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SHOWN = 30  # characters around what cannot be read


def read_text(path: Path) -> str:
    """Return the whole text of a file; `PolyqaError`, with the line, if that is no text in UTF-8 or UTF-16."""
    with _opened(path) as stream:
        return stream.read()


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file without their ends, with their numbers; errors as of `read_text`.

    A carriage return alone ends a line only where the file has no line feed; else it is a space.
    """
    with _opened(path) as stream:
        for number, line in enumerate(stream, 1):
            yield number, line.rstrip("\r\n").replace("\r", " ")


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        with _binary(path) as data:
            beginning = data.peek(_BEGINNING)
            encoding = _encoding(beginning)
            start = beginning.decode(encoding, errors="ignore")
            end = "\r" if "\r" in start and "\n" not in start else "\n"
            with io.TextIOWrapper(data, encoding, newline=end) as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise _undecodable(path, error) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise problem(path, f"this is no whole gzip file ({error})") from error
    except IsADirectoryError as error:
        raise problem(path, "this is a folder; name a file in it") from error
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise problem(path, f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from error


@contextmanager
def _binary(path: Path) -> Iterator[io.BufferedReader]:
    with path.open("rb", buffering=0) as file:
        data: io.BufferedReader = io.BufferedReader(file, _BEGINNING)
        if data.peek(2).startswith(_PACKED):  # whatever its name: some browsers unpack what they load
            data = io.BufferedReader(gzip.GzipFile(fileobj=data), _BEGINNING)
        yield data


def _encoding(beginning: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if beginning.startswith(mark):
            return encoding
    if b"\0" not in beginning:
        return "utf-8"
    # UTF-16 without its mark: of what people write, every other byte is zero.
    return "utf-16-le" if beginning[1::2].count(0) >= beginning[::2].count(0) else "utf-16-be"


def _undecodable(path: Path, error: UnicodeDecodeError) -> PolyqaError:
    """Return the error that shows the first line that is not UTF-8; the one at hand knows no line."""
    if error.encoding.startswith("utf-16"):
        return problem(path, f"this is no whole UTF-16 text ({error.reason})")
    with _binary(path) as data:
        for number, line in enumerate(data, 1):
            try:
                line.decode()
            except UnicodeDecodeError as found:
                near = line[max(0, found.start - _SHOWN) : found.start + _SHOWN].decode("cp1252", "replace").strip()
                name = shlex.quote(path.name)
                return problem(
                    f"{path}: line {number}",
                    f"this is not UTF-8 text; if {near!r} looks right, convert the file: "
                    f"iconv -f WINDOWS-1252 -t UTF-8 {name} > utf8-{name}",
                )
    return problem(path, f"this is not UTF-8 text ({error.reason})")
