"""Threads, and what becomes of them when their caller fails or is interrupted."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextvars import ContextVar

import pytest
from until import until

from polyqa.base.needed import NotNeededError, ahead, check_needed, not_needed
from polyqa.base.threads import in_a_daemon, in_threads

COLOUR: ContextVar[str] = ContextVar("colour", default="none")


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What hangs in a test waits for this, so that no thread outlives it."""
    event = threading.Event()
    yield event
    event.set()


def test_functions_run_at_once_in_a_copy_of_the_context() -> None:
    together = threading.Barrier(2, timeout=20)

    def paint() -> str:
        together.wait()
        before = COLOUR.get()
        COLOUR.set("red")
        return before

    COLOUR.set("blue")
    with in_threads(2) as start:
        found = [start(paint) for _ in range(2)]
    assert [one.result() for one in found] == ["blue", "blue"]
    assert COLOUR.get() == "blue"


def test_nobody_hears_of_what_was_cancelled(release: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)

    def fail() -> None:
        release.wait(20)
        raise ValueError("no")

    async def wait() -> None:
        nonlocal running
        running = in_a_daemon(fail, name="fails")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(running), 0.05)

    running: Future[None] = Future()
    asyncio.run(wait())
    release.set()
    assert isinstance(running.exception(20), ValueError)
    assert raised == []


def test_after_an_error_what_has_begun_ends_and_nothing_else_begins() -> None:
    ended: list[int] = []

    def work(number: int) -> None:
        time.sleep(0.1)
        ended.append(number)

    with pytest.raises(ValueError, match="no"), in_threads(1) as start:  # noqa: PT012
        running = [start(lambda number=number: work(number)) for number in range(9)]
        until(running[0].running)
        raise ValueError("no")
    assert 1 <= len(ended) < 9
    assert all(one.done() for one in running)


def test_after_an_interrupt_nobody_waits_and_calls_are_given_up(release: threading.Event) -> None:
    def call() -> None:
        (given_up,) = not_needed()
        given_up.result(timeout=20)  # as a `BoundedLM` waits for it, and for its reply
        check_needed()

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), in_threads(2) as start:  # noqa: PT012
        hearing, deaf, never = start(call), start(lambda: release.wait(60)), start(call)
        until(lambda: hearing.running() and deaf.running())
        raise KeyboardInterrupt
    assert time.monotonic() - started < 10
    assert isinstance(hearing.exception(timeout=20), NotNeededError)
    assert not deaf.done()
    assert never.cancelled()


@pytest.mark.parametrize("which", ["outer", "inner"])
def test_a_call_is_needed_only_while_all_around_it_is(which: str) -> None:
    futures: dict[str, Future[None]] = {"outer": Future(), "inner": Future()}
    with ahead(futures["outer"]):
        with ahead(futures["inner"]):
            check_needed()
            futures[which].set_result(None)
            with pytest.raises(NotNeededError):
                check_needed()
        if which == "inner":
            check_needed()
    check_needed()
