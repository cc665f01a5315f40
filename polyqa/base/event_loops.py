"""Threads of event loops, and coroutines run to their end.

`dspy.streamify` sends its status messages with ``anyio.from_thread.run``, which works only in threads that anyio
started itself. So work for an event loop is done in such threads.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from .cores import usable_cores

T = TypeVar("T")
_THREADS = 64
AT_WORK = 8 * len(usable_cores())
"""How much `worked` does at once in a loop of `run_to_end`."""


def give_threads() -> ThreadPoolExecutor:
    """Give the running event loop 64 threads for `asyncio.to_thread` and `worked`, whatever the number of cores.

    Whoever waits for a model or a lock needs a thread and no core, and models take together what waits at the same time
    (see `polyqa.models.memory`): with few threads there is little to take. Returns the threads; the loop ends
    them itself.
    """
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="polyqa")
    asyncio.get_running_loop().set_default_executor(threads)
    anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
    return threads


def carried(function: Callable[[], T]) -> Callable[[], T]:
    """Return a function for another thread, in which ``anyio.from_thread`` works as it does here.

    Where this is no thread that anyio started, the function is returned as it is.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        return function  # the loop is busy as long as this thread is
    try:
        token = anyio.from_thread.run_sync(anyio.lowlevel.current_token)
    except RuntimeError:  # no thread of anyio's
        return function

    async def work() -> T:
        return await anyio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))

    return partial(anyio.from_thread.run, work, token=token)


def run_to_end(job: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a loop that has `give_threads`, and does `AT_WORK` of what `worked` is given at once."""

    async def threaded() -> T:
        give_threads()
        anyio.to_thread.current_default_thread_limiter().total_tokens = AT_WORK
        return await job

    return asyncio.run(threaded())


async def worked(function: Callable[[], T]) -> T:
    """Do some work in a thread: a search or a model's, which takes a core.

    Where many questions begin together, in `run_to_end`, the first of them are done first: if all of them searched at
    once, all would ask their language model at the same late moment, and the cores would rest while it answers.
    """
    return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
