import asyncio
import gc
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

import anyio.from_thread
import anyio.to_thread
import pytest

from polyqa.base.event_loops import AT_WORK, called, in_shared_loop, run_to_end, worked
from polyqa.base.needed import NotNeededError, ahead
from polyqa.base.threads import in_a_daemon, in_threads

WAITING = 40


async def all_at_once() -> bool:
    """Return whether so many threads can wait for each other."""
    everyone = threading.Barrier(WAITING, timeout=20)
    await asyncio.gather(*(asyncio.to_thread(everyone.wait) for _ in range(WAITING)))
    return True


def test_threads_that_only_wait_do_not_hold_others_up() -> None:
    assert run_to_end(all_at_once())


def at_once(count: int) -> tuple[int, list[int]]:
    """Return how much of so much work was done at once at most, and the order in which it began."""
    began: list[int] = []
    running, most = 0, 0
    lock = threading.Lock()

    def work(number: int) -> None:
        nonlocal running, most
        with lock:
            began.append(number)
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1

    async def every() -> None:
        await asyncio.gather(*(worked(partial(work, number)) for number in range(count)))

    run_to_end(every())
    return most, began


def test_work_is_done_in_turn_and_for_so_many_at_once() -> None:
    most, began = at_once(5 * AT_WORK)
    assert 1 < most <= AT_WORK
    assert sorted(began) == list(range(5 * AT_WORK))
    assert max(abs(place - number) for place, number in enumerate(began)) < 2 * AT_WORK


def test_work_in_a_loop_of_somebody_elses_is_not_held_back() -> None:
    met = threading.Barrier(AT_WORK + 1)

    async def every() -> list[int]:
        with ThreadPoolExecutor(AT_WORK + 1) as threads:
            asyncio.get_running_loop().set_default_executor(threads)
            return await asyncio.gather(*(worked(partial(met.wait, 30)) for _ in range(AT_WORK + 1)))

    assert len(set(asyncio.run(every()))) == AT_WORK + 1


def test_work_may_start_a_loop_of_its_own() -> None:
    def inner() -> int:
        async def every() -> list[int]:
            return await asyncio.gather(*(worked(lambda: 1) for _ in range(3)))

        return sum(asyncio.run(every()))

    async def every() -> list[int]:
        return await asyncio.gather(*(worked(inner) for _ in range(AT_WORK + 1)))

    assert run_to_end(every()) == [3] * (AT_WORK + 1)


def ask_the_loop() -> int:
    return anyio.from_thread.run(asyncio.sleep, 0, 7)


def in_new_threads() -> list[int]:
    with in_threads(2) as start:
        return [one.result() for one in [start(ask_the_loop) for _ in range(3)]]


@pytest.mark.parametrize(
    "work",
    [
        lambda: anyio.to_thread.run_sync(in_new_threads),
        lambda: worked(in_new_threads),
        lambda: worked(lambda: [ask_the_loop()] * 3),
    ],
    ids=["threads of a thread of anyio", "threads of work", "work"],
)
def test_status_messages_find_the_loop(work: Callable[[], Awaitable[list[int]]]) -> None:
    async def every() -> list[int]:
        return await work()

    assert asyncio.run(every()) == run_to_end(every()) == [7, 7, 7]


def test_what_is_raised_in_threads_of_a_thread_of_anyio_comes_back() -> None:
    def fail() -> None:
        raise NotNeededError("no")

    def work() -> None:
        with in_threads(1) as start:
            start(fail).result()

    with pytest.raises(NotNeededError):
        run_to_end(worked(work))


def test_threads_share_a_loop_in_which_what_nobody_needs_is_cancelled() -> None:
    over: Future[None] = Future()
    begun, cancelled = threading.Event(), threading.Event()

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()

    with ThreadPoolExecutor(2) as pool, ahead(over):
        waiting = pool.submit(copy_context().run, in_shared_loop, hang())
        assert begun.wait(10)
        assert pool.submit(in_shared_loop, asyncio.sleep(0, 7)).result(10) == 7
        over.set_result(None)
        with pytest.raises(NotNeededError):
            waiting.result(10)
    assert cancelled.wait(10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_has_a_loop_of_its_own() -> None:
    assert in_shared_loop(asyncio.sleep(0, 7)) == 7
    if not (child := os.fork()):
        os._exit(in_shared_loop(asyncio.sleep(0, 7)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_task_that_a_library_drops_in_the_shared_loop_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async def litellm_worker() -> None:
        await asyncio.Event().wait()

    async def other_worker() -> None:
        await asyncio.Event().wait()

    async def drop(worker: Callable[[], Coroutine[None, None, None]]) -> None:
        asyncio.create_task(worker())  # noqa: RUF006  nobody holds it
        await asyncio.sleep(0)
        gc.collect()

    async def fail_later() -> None:
        asyncio.get_running_loop().call_soon(int, "seven")
        await asyncio.sleep(0.01)

    in_shared_loop(drop(litellm_worker))
    assert caplog.text == ""
    in_shared_loop(drop(other_worker))
    assert "other_worker" in caplog.text
    in_shared_loop(fail_later())
    assert "seven" in caplog.text


def test_a_program_that_is_awaited_may_make_a_call_without_awaiting_it() -> None:
    class Awaited:
        async def acall(self) -> int:
            return in_shared_loop(asyncio.sleep(0, 7))  # as a `BoundedLM` that is called does

    assert in_a_daemon(partial(called, Awaited()), name="asks").result(10) == 7
