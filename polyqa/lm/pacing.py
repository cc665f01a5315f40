"""When a request to a language model may go out: not more a minute than its provider allows, and none while it says so.

Waiting for that is nobody's fault, so it takes nothing of the time that a call has.
"""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import FIRST_COMPLETED, wait
from contextvars import ContextVar
from functools import wraps
from threading import Lock
from typing import Any

from polyqa.base.needed import check_needed, not_needed

_ASKING = ("complete", "complete_legacy", "stream")  # the methods of DSPy's engines that send a request


class Clock:
    """How much of its time a call has left.

    Parameters
    ----------
    seconds
        That it has.
    limit
        What ends it, if it is awaited.
    """

    def __init__(self, seconds: float, limit: asyncio.Timeout | None = None) -> None:
        self._limit = limit
        self._end = time.monotonic() + seconds
        self.waited = 0.0

    @property
    def left(self) -> float:
        """Seconds until the call has taken all its time; below 0 after that."""
        return self._end - time.monotonic()

    def stop(self, seconds: float) -> None:
        """Let some seconds not count."""
        self.waited += seconds
        self._end += seconds
        if self._limit is not None and (end := self._limit.when()) is not None:
            self._limit.reschedule(end + seconds)


CLOCK: ContextVar[Clock | None] = ContextVar("polyqa_clock", default=None)
"""That of the call which is being made."""


class Pace:
    """When the next request may go out; shared by all calls of a language model, in all threads.

    Parameters
    ----------
    per_minute
        So many requests go out in a minute at most, at even distances; as many as are made if not given.
    """

    def __init__(self, per_minute: float | None = None) -> None:
        self._between = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._lock = Lock()

    def turn(self) -> float:
        """Take the next turn; return in how many seconds it is."""
        with self._lock:
            now = time.monotonic()
            own = max(now, self._next)
            self._next = own + self._between if self._between else self._next
            return own - now

    def hold(self, seconds: float) -> None:
        """Let no request out for so long."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def wait(self) -> None:
        """Wait for a turn in this thread; it is given up as soon as the reply of the call is not needed."""
        sleep(_stopping(self.turn()))
        check_needed()

    async def awaited(self) -> None:
        """Wait for a turn without blocking the event loop."""
        if seconds := _stopping(self.turn()):
            await asyncio.sleep(seconds)


def sleep(seconds: float) -> None:
    """Let time pass, less where the reply is not needed any more."""
    if unneeded := not_needed():
        wait(unneeded, seconds, return_when=FIRST_COMPLETED)
    elif seconds > 0:
        time.sleep(seconds)


def _stopping(seconds: float) -> float:
    """Stop the clock of the call, if there is one, for so long."""
    clock = CLOCK.get()
    if clock is not None and seconds > 0:
        clock.stop(seconds)
    return seconds


def keep_pace(engine: Any, pace: Pace) -> None:
    """Have an engine of DSPy's wait for its turn before each request. What DSPy has in its cache asks no engine."""
    for name in _ASKING:
        if (method := getattr(engine, name, None)) is not None:
            setattr(engine, name, _waiting(method, pace))


def _waiting(method: Callable[..., Any], pace: Pace) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(method):

        @wraps(method)
        async def stream(*arguments: Any, **named: Any) -> AsyncIterator[Any]:
            await pace.awaited()
            async for event in method(*arguments, **named):
                yield event

        return stream
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def ask(*arguments: Any, **named: Any) -> Any:
            await pace.awaited()
            return await method(*arguments, **named)

        return ask

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        pace.wait()
        return method(*arguments, **named)

    return call
