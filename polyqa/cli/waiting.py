"""A line that says that a command is at work, until it says something itself: loading takes some seconds."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TextIO

AFTER = 0.3
"""Seconds without a word, after which the line comes."""
_SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_EVERY = 0.1
_CLEAR = "\r\x1b[K"
IN_A_LOG = 60.0
"""Seconds between two states of a bar in a file."""


@contextmanager
def waiting() -> Iterator[None]:
    """Show on standard error, if that is a terminal, that the block is at work, until it prints anything.

    Where that is a file, which keeps all, progress bars of libraries are drawn once a minute.
    """
    error = sys.stderr
    if "_POLYQA_COMPLETE" in os.environ:  # a shell that completes draws itself
        yield
        return
    if not error.isatty():
        os.environ.setdefault("TQDM_MININTERVAL", str(IN_A_LOG))  # tqdm looks when it is imported
        yield
        return
    line = _Line(error)
    watched_streams: list[Any] = [_Watched(stream, line) for stream in (sys.stdout, error)]
    with redirect_stdout(watched_streams[0]), redirect_stderr(watched_streams[1]):
        line.start()
        try:
            yield
        finally:
            line.end()


class _Line(threading.Thread):
    """Draws the line, and takes it away."""

    def __init__(self, error: TextIO) -> None:
        super().__init__(name="polyqa-waiting", daemon=True)
        self._error = error
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._shown = False

    def run(self) -> None:
        begun = time.monotonic()
        pause = AFTER
        while not self._ended.wait(pause):
            pause = _EVERY
            now = time.monotonic()
            with self._lock, suppress(OSError, ValueError):
                if not self._ended.is_set():
                    sign = _SIGNS[int(now / _EVERY) % len(_SIGNS)]
                    self._error.write(f"{_CLEAR}{sign} at work … {now - begun:.0f} s")
                    self._error.flush()
                    self._shown = True

    def end(self) -> None:
        """Take the line away for good."""
        with self._lock, suppress(OSError, ValueError):
            if self._shown and not self._ended.is_set():
                self._error.write(_CLEAR)
                self._error.flush()
            self._ended.set()


class _Watched:
    """A stream before whose first text the line goes."""

    def __init__(self, stream: TextIO, line: _Line) -> None:
        self._stream, self._line = stream, line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if text:  # without one Click tells whether a stream takes any
            self._line.end()
        return self._stream.write(text)
