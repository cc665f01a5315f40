"""A line that says that a command is at work, until it says something itself: loading takes some seconds."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from contextvars import ContextVar
from typing import Any, TextIO

AFTER = 0.3
"""Seconds without a word, after which the line comes on a terminal."""
AFTER_ELSEWHERE = 60.0
"""Seconds after which a line, once, comes on anything else, such as a log."""
_SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_EVERY = 0.1
_CLEAR = "\r\x1b[K"
_END: ContextVar[Callable[[], None] | None] = ContextVar("polyqa_end_of_waiting", default=None)


@contextmanager
def waiting() -> Iterator[None]:
    """Show on standard error that the block is at work.

    On a terminal the line goes as soon as anything is printed. It comes again after a line on standard error, such as
    a warning, but neither after a part of the result nor beside a progress bar or a question.
    """
    error = sys.stderr
    if "_POLYQA_COMPLETE" in os.environ:  # a shell asks, and draws itself
        yield
        return
    with ExitStack() as stack:
        end: Callable[[], None]
        if error.isatty():
            line = _Line(error)
            own: list[Any] = [_Watched(sys.stdout, line, once=True), _Watched(error, line, once=False)]
            stack.enter_context(redirect_stdout(own[0]))
            stack.enter_context(redirect_stderr(own[1]))
            line.start()
            end = line.end
        else:
            timer = threading.Timer(AFTER_ELSEWHERE, _say, (error,))
            timer.daemon = True
            timer.start()
            end = timer.cancel
        stack.callback(end)
        stack.callback(_END.reset, _END.set(end))
        yield


def ready() -> None:
    """Say that what the command does from now on is no waiting: a server is at work as long as it is wanted."""
    if (end := _END.get()) is not None:
        end()


def _say(error: TextIO) -> None:
    with suppress(OSError, ValueError):  # nobody reads it any more
        error.write(f"at work for {AFTER_ELSEWHERE:.0f} s …\n")
        error.flush()


class _Line(threading.Thread):
    """Draws the line, and takes it away."""

    def __init__(self, error: TextIO) -> None:
        super().__init__(name="polyqa-waiting", daemon=True)
        self._error = error
        self._lock = threading.RLock()
        self._begun = self._silent_since = time.monotonic()
        self._ended = threading.Event()
        self._shown = False
        self._line_is_free = True  # not so after a question of ours

    def run(self) -> None:
        while not self._ended.wait(_EVERY):
            with self._lock, suppress(OSError, ValueError):
                now = time.monotonic()
                if self._line_is_free and not self._ended.is_set() and now - self._silent_since >= AFTER:
                    sign = _SIGNS[int(now / _EVERY) % len(_SIGNS)]
                    self._error.write(f"{_CLEAR}{sign} at work … {now - self._begun:.0f} s")
                    self._error.flush()
                    self._shown = True

    def write(self, stream: TextIO, text: str, *, last: bool) -> int:
        """Write something in the place of the line; if it is the ``last``, the line does not come again."""
        with self._lock:
            self._clear()
            if last or "\r" in text or "\x1b" in text:
                self._ended.set()
            self._line_is_free = text.endswith("\n")
            self._silent_since = time.monotonic()
            return stream.write(text)

    def end(self) -> None:
        """Take the line away for good."""
        with self._lock, suppress(OSError, ValueError):
            self._clear()
            self._ended.set()

    def _clear(self) -> None:
        if self._shown:
            self._shown = False
            self._error.write(_CLEAR)
            self._error.flush()


class _Watched:
    """A stream before which the line gives way."""

    def __init__(self, stream: TextIO, line: _Line, *, once: bool) -> None:
        self._stream, self._line, self._once = stream, line, once

    def write(self, text: str) -> int:
        if not text:  # such as no bytes, by which Click tells whether a stream takes some
            return self._stream.write(text)
        return self._line.write(self._stream, text, last=self._once)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
