"""The one loop of long work: so many items at once, each result kept as it ends, whatever stops it."""

import asyncio
import inspect
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from itertools import takewhile
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from polyqa.base.errors import PolyqaError
from polyqa.base.event_loops import THREADS, loop_in_a_thread
from polyqa.base.keys import error_line
from polyqa.base.needed import ahead

PATIENCE = 1.0
"""Seconds that what was begun has to end after Ctrl-C."""
AT_ONCE = 8
"""So many failures of a kind, one after the other, are an outage: at the start, or where no reply came at all."""
WINDOW = 20
"""So many are one at any time, even of replies that came and could not be used."""
HOW_TO_GO_ON = "What is finished is kept. Mend the cause and start the same command again: what failed is asked again."
_REPLIED = frozenset({"AdapterParseError", "JudgeError"})
_LOOK = 0.25  # seconds
Item = TypeVar("Item")
Result = TypeVar("Result")


class Failure(BaseModel, frozen=True):
    """Why an item failed: the class of the error, its message, and the raw reply of the language model before it."""

    kind: str
    message: str
    reply: str = ""

    @classmethod
    def of(cls, error: BaseException, last_reply: str = "") -> "Failure":
        """Return what is kept of an error; a reply that it or its cause carries is kept, else the last one."""
        replies = [getattr(one, "lm_response", None) for one in (error, error.__cause__)]
        reply = next((str(one) for one in replies if one is not None), last_reply)
        return cls(kind=type(error).__name__, message=error_line(error, 2_000), reply=reply)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


class Outage:
    """Detects an outage: the last items failed with the same error.

    One question in two may fail and the run still goes on: that eight fail in a row then happens once in 256 times. It
    would stop a run over a thousand questions, so that many count only where no reply came at all; of replies that
    cannot be read, or a judge that fails, it takes twenty. The message names the ``things`` that are done.
    """

    def __init__(self, things: str, at_once: int = AT_ONCE) -> None:
        self._things = things
        self._at_once = at_once
        self._recent: deque[Failure | None] = deque(maxlen=max(at_once, WINDOW))
        self._ended = 0

    def ended(self, failure: Failure | None = None) -> None:
        """Note that an item has ended, and why it failed if it did; to be called by one thread at a time."""
        self._recent.append(failure)
        self._ended += 1

    @property
    def last(self) -> str:
        """Why the last item failed, if there is an outage; else empty."""
        last = self._recent[-1] if self._recent else None
        if last is None:
            return ""
        alike = len(list(takewhile(lambda failure: failure and failure.kind == last.kind, reversed(self._recent))))
        enough = self._at_once if last.kind not in _REPLIED or alike == self._ended else WINDOW
        return (last.message or last.kind) if alike >= enough else ""

    def check(self) -> None:
        """Raise `PolyqaError` if there is an outage."""
        if failure := self.last:
            raise PolyqaError(f"Stopped, as {self._things} fail one after the other: {failure} {HOW_TO_GO_ON}")


def work_through(
    items: Iterable[Item],
    work: Callable[[Item], Result] | Callable[[Item], Awaitable[Result]],
    keep: Callable[[Item, Result], Failure | None],
    *,
    at_once: int,
    things: str = "items",
    may_begin: Callable[[int], bool] = lambda running: True,
) -> bool:
    """Work on items, and keep each result as it ends; nothing is begun any more once the work is stopped.

    If it is stopped by an error or an outage, what was begun is still finished and kept. If by Ctrl-C, what ends within
    `PATIENCE` is kept, and the rest is given up: calls of language models that are under way are not waited for, and
    anything else in a thread goes on until it ends by itself. If ``keep`` fails, such as on a full disk, nothing is
    waited for, as nothing could be kept.

    Parameters
    ----------
    items
        Begun in their order, as there is room.
    work
        Is given an item: a function, called in threads, or a coroutine function, whose calls all run in the event loop
        of one thread. What the caller set with `dspy.context` holds there.
    keep
        Is given an item with its result, here, and returns why it failed if it did. If Ctrl-C comes while it is at
        work, it is given the same result once more.
    at_once
        How many items.
    things
        What the items are, in the plural, for the message of an outage.
    may_begin
        Is given how many items are under way, and says whether one more may begin; if it says no and none is under way,
        that is the end.

    Returns
    -------
    bool
        Whether all items were worked on.

    Raises
    ------
    PolyqaError
        If there is an outage, see `Outage`.
    """
    given_up: Future[None] = Future()
    with ahead(given_up), _starting(work, at_once) as start:
        loop = _Loop(keep, Outage(things), start)
        try:
            return loop.run(deque(items), at_once, may_begin)
        except BaseException as error:
            try:
                loop.wait(PATIENCE if isinstance(error, KeyboardInterrupt) else math.inf)
            finally:
                given_up.set_result(None)
                loop.keep_rest()
            raise


class _Loop(Generic[Item, Result]):
    """What is under way."""

    def __init__(
        self,
        keep: Callable[[Item, Result], Failure | None],
        outage: Outage,
        start: Callable[["Future[Result]", Item], None],
    ) -> None:
        self._keep, self._outage, self._start = keep, outage, start
        self._running: dict[Future[Result], Item] = {}
        self._ended: SimpleQueue[Future[Result]] = SimpleQueue()
        self._can_keep = True

    def run(self, waiting: deque[Item], at_once: int, may_begin: Callable[[int], bool]) -> bool:
        """Begin items and keep their results until none is left; return whether none is left."""
        while waiting or self._running:
            while waiting and len(self._running) < at_once and may_begin(len(self._running)):
                future: Future[Result] = Future()
                future.add_done_callback(self._ended.put)
                item = self._running[future] = waiting.popleft()  # known before it begins: Ctrl-C may come meanwhile
                self._start(future, item)
            if not self._running:
                return False
            self._take(self._next())
            self._outage.check()
        return True

    def _next(self) -> "Future[Result]":
        """Return what ends next."""
        while True:
            # Ctrl-C that comes just as Python begins to wait is noticed only when it is woken.
            with suppress(Empty):
                return self._ended.get(timeout=_LOOK)

    def _take(self, future: "Future[Result]") -> None:
        result = future.result()
        try:
            failure = self._keep(self._running[future], result)
        except Exception:
            self._can_keep = False
            raise
        del self._running[future]
        self._outage.ended(failure)

    def wait(self, seconds: float) -> None:
        """Wait until everything that was begun has ended, but not longer than this, and not if nothing can be kept."""
        end = time.monotonic() + seconds
        running = set(self._running)
        while self._can_keep and running and (seconds_left := end - time.monotonic()) > 0:
            running = wait(running, min(seconds_left, _LOOK)).not_done

    def keep_rest(self) -> None:
        """Keep what has ended since, if it can be kept."""
        for future in [one for one in self._running if one.done() and one.exception() is None]:
            if self._can_keep:
                self._take(future)


@contextmanager
def _starting(work: Callable[[Item], Any], at_once: int) -> Iterator[Callable[["Future[Any]", Item], None]]:
    """Give what starts work on an item and settles a future with what comes of it.

    All is done in an event loop of a thread of its own: Ctrl-C arrives here, also where a loop is running already.
    """
    call = getattr(work, "__call__", None)  # noqa: B004  of an object
    is_async = inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(call)
    awaited: Callable[[Item], Any] = work if is_async else lambda item: asyncio.to_thread(work, item)
    begun: set[Future[None]] = set()  # a loop itself holds its tasks only weakly

    async def settle(future: Future[Any], item: Item) -> None:
        try:
            future.set_result(await awaited(item))
        except BaseException as error:
            future.set_exception(error)

    def start(future: Future[Any], item: Item) -> None:
        begun.add(task := asyncio.run_coroutine_threadsafe(settle(future, item), loop))
        task.add_done_callback(begun.discard)

    with loop_in_a_thread(max(THREADS, at_once)) as loop:
        yield start
