"""Threads of event loops, and coroutines run to their end.

`dspy.streamify` sends its status messages with ``anyio.from_thread.run``, which works only in threads that anyio
started itself. So work for an event loop is done in such threads.
"""

import asyncio
import atexit
import os
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Lock, Thread
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from .cores import usable_cores
from .needed import check_needed, not_needed

T = TypeVar("T")
THREADS = 64
_LOOK = 0.1  # seconds
# By what is run there, and by the number of the process: a fork has no threads.
_SHARED: dict[tuple[str, int], asyncio.AbstractEventLoop] = {}
_FEW = 8  # threads of the shared loop: each opens files of DSPy's cache, and does so little that no call has to wait
_LOCK, _AT_EXIT = Lock(), ExitStack()
atexit.register(_AT_EXIT.close)
AT_WORK = 8 * len(usable_cores())
"""How much `worked` does at once in a loop of `run_to_end`."""


def give_threads(count: int = THREADS) -> ThreadPoolExecutor:
    """Give the running event loop threads for `asyncio.to_thread` and `worked`, whatever the number of cores.

    Whoever waits for a model or a lock needs a thread and no core, and models take together what waits at the same time
    (see `polyqa.models.memory`): with few threads there is little to take. Returns the threads; the loop ends
    them itself.
    """
    threads = ThreadPoolExecutor(count, thread_name_prefix="polyqa")
    asyncio.get_running_loop().set_default_executor(threads)
    anyio.to_thread.current_default_thread_limiter().total_tokens = count
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


def run_to_end(job: Coroutine[Any, Any, T], threads: int = THREADS) -> T:
    """Run a coroutine in a loop that has `give_threads`, and does `AT_WORK` of what `worked` is given at once."""

    async def threaded() -> T:
        give_threads(threads)
        anyio.to_thread.current_default_thread_limiter().total_tokens = AT_WORK
        return await job

    return asyncio.run(threaded())


@contextmanager
def loop_in_a_thread(threads: int = THREADS) -> Iterator[asyncio.AbstractEventLoop]:
    """Give an event loop as that of `run_to_end`, in a thread of its own. At the end it cancels what is left in it.

    It is not waited for after an error: what hangs goes on by itself.
    """
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        asyncio.get_running_loop().set_exception_handler(_handled)
        end = asyncio.Event()
        ready.set_result((asyncio.get_running_loop(), end))
        await end.wait()

    thread = Thread(target=run_to_end, args=(serve(), threads), name="polyqa-loop", daemon=True)
    thread.start()
    loop, end = ready.result()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(end.set)
    thread.join()


def _handled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report what went wrong in a loop, but for the task that LiteLLM drops when another loop asks it."""
    if not (context["message"].startswith("Task was destroyed") and "litellm" in repr(context.get("task"))):
        loop.default_exception_handler(context)


def in_shared_loop(job: Coroutine[Any, Any, T], *, of: str = "calls") -> T:
    """Run a coroutine, in this context, in the event loop that all threads share for such, and wait for its end.

    It is cancelled at once by Ctrl-C, and where its result is not needed any more (`polyqa.base.needed`).
    """
    with _LOCK:
        if (loop := _SHARED.get((of, os.getpid()))) is None:
            loop = _SHARED[of, os.getpid()] = _AT_EXIT.enter_context(loop_in_a_thread(_FEW))
    future = asyncio.run_coroutine_threadsafe(job, loop)
    try:
        while not future.done():
            # Ctrl-C that comes just as Python begins to wait is noticed only when it is woken.
            wait({future, *not_needed()}, _LOOK, return_when=FIRST_COMPLETED)  # type: ignore[arg-type]
            if not future.done():
                check_needed()
        return future.result()
    finally:
        future.cancel()


def called(program: Any, **inputs: Any) -> Any:
    """Call a `dspy.Module`; one that can only be awaited is, in a loop that all threads share.

    That is not the loop of calls: a call that a program waits for without ``await`` would wait for itself there.
    """
    if hasattr(type(program), "forward"):
        return program(**inputs)
    return in_shared_loop(program.acall(**inputs), of="programs")


async def worked(function: Callable[[], T]) -> T:
    """Do some work in a thread: a search or a model's, which takes a core.

    Where many questions begin together, in `run_to_end`, the first of them are done first: if all of them searched at
    once, all would ask their language model at the same late moment, and the cores would rest while it answers.
    """
    return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
