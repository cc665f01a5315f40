"""Works on many items at once, and loses nothing that is finished when it is stopped."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from polyqa.base.needed import ahead

PATIENCE = 1.0
"""Seconds that what was begun has to end after Ctrl-C."""
_LOOK = 0.25  # seconds
Item = TypeVar("Item")
Result = TypeVar("Result")


def work_through(
    items: Iterable[Item],
    work: Callable[[Item], Result],
    keep: Callable[[Result], None],
    *,
    threads: int,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Work on items in threads, and keep each result as it ends.

    When it is stopped, nothing is begun any more. If by an error, what was begun is still finished and kept. If by
    Ctrl-C, what ends within `PATIENCE` is kept, and the rest is given up: calls of a `BoundedLM` that
    are under way are not waited for; other work goes on until it ends by itself, and what comes of it is lost. If by
    an error of ``keep``, such as a full disk, nothing is waited for, as nothing could be kept.

    Parameters
    ----------
    work
        Is given an item, in a copy of this context: what the caller set with `dspy.context` holds there.
    keep
        Is given a result, here. If Ctrl-C comes while it is at work, it is given the same result once more.
    threads
        Items at once.
    check
        Is called after each result; what it raises ends the work.
    """
    go, stop = threading.Event(), threading.Event()
    given_up: Future[None] = Future()
    results = _Results(keep)
    every: list[Future[list[Result]]] = []
    ended: SimpleQueue[Future[list[Result]]] = SimpleQueue()

    def one(item: Item) -> list[Result]:
        go.wait()  # until every future is known here: Ctrl-C may come before
        return [] if stop.is_set() else [work(item)]

    pool = ThreadPoolExecutor(threads)
    try:
        with ahead(given_up):
            for item in items:
                every.append(pool.submit(copy_context().run, one, item))
                every[-1].add_done_callback(ended.put)
        go.set()
        for _ in every:
            results.take(_next(ended))
            check()
        pool.shutdown()
    except BaseException as error:
        stop.set()
        go.set()
        pool.shutdown(wait=False, cancel_futures=True)
        try:
            if results.can_be_kept:
                patience = PATIENCE if isinstance(error, KeyboardInterrupt) else math.inf
                _wait([future for future in every if not future.done()], patience)
        finally:
            known = [future for future in every if future.done() and not future.cancelled()]
            given_up.set_result(None)
            results.take_rest(known)
        raise


def _next(ended: SimpleQueue[Future[Result]]) -> Future[Result]:
    """Return what ends next."""
    while True:
        # Ctrl-C that comes just as Python begins to wait is noticed only when it is woken.
        with suppress(Empty):
            return ended.get(timeout=_LOOK)


def _wait(running: Sequence[Future[Any]], seconds: float) -> None:
    """Wait until all have ended, but not longer than this."""
    end = time.monotonic() + seconds
    left = set(running)
    while left and (rest := end - time.monotonic()) > 0:
        left = wait(left, min(rest, _LOOK)).not_done


class _Results(Generic[Result]):
    """Hands results on, each once.

    Attributes
    ----------
    can_be_kept
        Whether no result was refused.
    """

    def __init__(self, keep: Callable[[Result], None]) -> None:
        self.can_be_kept = True
        self._keep = keep
        self._kept: set[Future[list[Result]]] = set()

    def take(self, future: Future[list[Result]]) -> None:
        """Hand on what came, or raise what was raised."""
        for result in future.result():
            try:
                self._keep(result)
            except Exception:
                self.can_be_kept = False
                raise
        self._kept.add(future)

    def take_rest(self, ended: Sequence[Future[list[Result]]]) -> None:
        """Hand on what else came, if it can be kept."""
        for future in ended:
            if self.can_be_kept and future not in self._kept and future.exception() is None:
                self.take(future)
