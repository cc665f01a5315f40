"""Threads of event loops, threads that still find the loop of whoever started them, coroutines run to their end.

`dspy.streamify` sends its status messages with ``anyio.from_thread.run``, which works only in threads that anyio
started itself. A program's calls and searches run in threads of its own, so what those must know is carried along.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")
_THREADS = 64
AT_WORK = 8 * (os.cpu_count() or 1)
"""How much `worked` does at once in a loop of `run_to_end`."""
_PLACES: ContextVar[tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None] = ContextVar("places", default=None)


def give_threads() -> ThreadPoolExecutor:
    """Give the running event loop 64 threads for `asyncio.to_thread`, where it would have four more than the cores.

    Whoever waits for a model or a lock needs a thread and no core, and models take together what waits at the same time
    (see `polyqa.models.memory`): with few threads there is little to take. Returns the threads; the loop ends
    them itself.
    """
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="polyqa")
    asyncio.get_running_loop().set_default_executor(threads)
    return threads


def carried(function: Callable[[], T]) -> Callable[[], T]:
    """Return a function for another thread, in which ``anyio.from_thread`` works as it does here.

    Here is an event loop, or a thread that anyio started for one; anywhere else the function is returned as it is.
    """
    from anyio._core._eventloop import threadlocals  # there is no public way to hand a token on to library code

    token = getattr(threadlocals, "current_token", None) or _token_of_this_loop()
    if token is None:
        return function

    def run() -> T:
        before = getattr(threadlocals, "current_token", None)
        threadlocals.current_token = token
        try:
            return function()
        finally:
            if before is None:
                del threadlocals.current_token
            else:
                threadlocals.current_token = before

    return run


def run_to_end(job: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return what it returns, from anywhere: in a notebook, whose loop is running, in a thread.

    The loop has `give_threads`, and does `AT_WORK` of what `worked` is given at once.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_threaded(job))
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, _threaded(job)).result()


async def _threaded(job: Coroutine[Any, Any, T]) -> T:
    give_threads()
    _PLACES.set((asyncio.get_running_loop(), asyncio.Semaphore(AT_WORK)))
    return await job


async def worked(function: Callable[[], T]) -> T:
    """Do some work in a thread: a search or a model's, which takes a core.

    Where many questions begin together, in `run_to_end`, the first of them are done first: if all of them searched at
    once, all would ask their language model at the same late moment, and the cores would rest while it answers.
    """
    loop, places = _PLACES.get() or (None, None)
    if places is None or loop is not asyncio.get_running_loop():  # a thread may have a loop of its own
        return await asyncio.to_thread(carried(function))
    async with places:
        return await asyncio.to_thread(carried(function))


def _token_of_this_loop() -> object | None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return None
    from anyio.lowlevel import current_token

    return current_token()
