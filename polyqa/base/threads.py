"""Threads that nobody waits for after Ctrl-C."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from threading import Thread
from typing import Protocol, TypeVar

from .event_loops import carried
from .needed import ahead

T = TypeVar("T")


def in_a_daemon(function: Callable[[], T], *, name: str) -> Future[T]:
    """Start a function, with a copy of this context, in a thread for which a program that ends does not wait."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # from now on only what awaits it can be cancelled

    def settle() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=copy_context().run, args=(settle,), name=name, daemon=True).start()
    return future


class Start(Protocol):
    """Starts a function in a thread."""

    def __call__(self, function: Callable[[], T]) -> Future[T]:
        """Start it as soon as a thread is free, with a copy of this context."""
        ...


@contextmanager
def in_threads(threads: int) -> Iterator[Start]:
    """Give what starts functions in so many threads; the block ends when all have ended.

    If the block raises, functions that have not begun never will. After Ctrl-C those that have begun are not waited for
    either: calls of a `BoundedLM` in them are given up at once; anything else goes on until it ends
    by itself, and what comes of it is lost.
    """
    given_up: Future[None] = Future()
    pool = ThreadPoolExecutor(threads)

    def start(function: Callable[[], T]) -> Future[T]:
        with ahead(given_up):
            return pool.submit(copy_context().run, carried(function))

    try:
        try:
            yield start
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                pool.shutdown(wait=True, cancel_futures=True)
            raise
        pool.shutdown()
    except KeyboardInterrupt:
        given_up.set_result(None)
        pool.shutdown(wait=False, cancel_futures=True)
        raise
