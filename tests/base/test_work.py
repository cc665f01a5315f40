"""Long work that is stopped: what is finished is kept, what hangs is given up; in threads and in an event loop."""

import asyncio
import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from until import until

from polyqa.base.errors import PolyqaError
from polyqa.base.needed import NotNeededError, check_needed, not_needed
from polyqa.base.work import AT_ONCE, PATIENCE, WINDOW, Failure, Outage, work_through

GONE = Failure(kind="LMTransportError", message="no connection")
SLOW = Failure(kind="LMTimeoutError", message="no answer in time")
UNREAD = Failure(kind="AdapterParseError", message="cannot be read")
WELL = None
Kept = dict[Any, Any]


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What hangs in a test waits for this, so that no thread outlives it."""
    event = threading.Event()
    yield event
    event.set()


def press_ctrl_c() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def asynchronous(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return work for an event loop that does the same in threads of its own."""

    async def call(item: Any) -> Any:
        return await asyncio.to_thread(work, item)

    return call


both = pytest.mark.parametrize("wrap", [lambda work: work, asynchronous], ids=["threads", "event loop"])


@both
@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_every_item_is_kept_once_and_so_many_are_under_way(wrap: Callable[..., Any], at_once: int) -> None:
    kept: Kept = {}
    running, most, lock = 0, 0, threading.Lock()

    def work(item: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01 * (1 + item % 3))
        with lock:
            running -= 1
        return item * item

    def keep(item: int, result: int) -> None:
        assert item not in kept
        kept[item] = result

    assert work_through(range(20), wrap(work), keep, at_once=at_once)
    assert kept == {item: item * item for item in range(20)}
    assert 1 <= most <= at_once
    if at_once == 4:
        assert most == 4


@both
@pytest.mark.parametrize("at", ["work", "outage"])
def test_after_an_error_what_was_begun_is_finished_and_nothing_else_begins(wrap: Callable[..., Any], at: str) -> None:
    begun: list[int] = []
    kept: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        if item == AT_ONCE and at == "work":
            time.sleep(0.1)
            raise ValueError("no")
        time.sleep(0.2 if item > AT_ONCE else 0)
        return item

    def keep(item: int, result: int) -> Failure | None:
        kept.append(result)
        return GONE if at == "outage" else None

    error, told = (ValueError, "no") if at == "work" else (PolyqaError, "items fail one after the other: no connection")
    with pytest.raises(error, match=told):
        work_through(range(100), wrap(work), keep, at_once=3)
    assert AT_ONCE <= len(begun) < AT_ONCE + 10
    assert sorted(kept) == sorted(set(begun) - ({AT_ONCE} if at == "work" else set()))


@both
def test_what_cannot_be_kept_is_not_waited_for(wrap: Callable[..., Any], release: threading.Event) -> None:
    given: list[int] = []

    def keep(item: int, result: int) -> None:
        given.append(result)
        raise OSError("the disk is full")

    def work(item: int) -> int:
        if item:
            release.wait(30)
        return item

    started = time.monotonic()
    with pytest.raises(OSError, match="full"):
        work_through(range(8), wrap(work), keep, at_once=4)
    assert time.monotonic() - started < 10
    assert given == [0]


@both
@pytest.mark.parametrize("hears", [True, False])
def test_ctrl_c_keeps_what_ends_soon_and_gives_up_what_hangs(
    wrap: Callable[..., Any], release: threading.Event, hears: bool
) -> None:
    """Work that hears that it is not needed ends; other work goes on by itself, and is not waited for."""
    kept: list[str] = []
    given_up: list[str] = []
    hanging = threading.Event()

    def work(item: str) -> str:
        if item == "hangs":
            hanging.set()
            while not release.wait(0.01):
                try:
                    check_needed()
                except NotNeededError:
                    given_up.append(item)
                    if hears:
                        raise
            return item
        if item == "soon":
            assert hanging.wait(20)
            press_ctrl_c()
            time.sleep(PATIENCE / 3)
        return item

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        work_through(
            ["first", "hangs", "soon", "later", "never"], wrap(work), lambda item, one: kept.append(one), at_once=2
        )
    assert time.monotonic() - started < PATIENCE + 0.7
    assert kept[:1] == ["first"]
    assert "soon" in kept
    assert not {"hangs", "never"} & set(kept)
    until(lambda: given_up)


def test_a_second_ctrl_c_ends_the_patience(release: threading.Event) -> None:
    def work(item: int) -> int:
        if item:
            press_ctrl_c()
            time.sleep(0.3)
            press_ctrl_c()
        release.wait(30)
        return item

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        work_through(range(2), work, lambda item, result: None, at_once=2)
    assert time.monotonic() - started < PATIENCE


def test_ctrl_c_while_a_result_is_kept_loses_nothing() -> None:
    kept: list[int] = []

    def keep(item: int, result: int) -> None:
        kept.append(item)
        if item == 3 and kept.count(3) == 1:
            raise KeyboardInterrupt

    together = threading.Barrier(4, timeout=20)

    def work(item: int) -> int:
        together.wait()
        return item

    with pytest.raises(KeyboardInterrupt):
        work_through(range(4), work, keep, at_once=4)
    assert set(kept) == {0, 1, 2, 3}
    assert kept.count(3) == 2, "it may have been at any point of keeping it"


def test_work_after_work_is_needed() -> None:
    seen: list[int] = []
    work_through(range(2), lambda item: len(not_needed()), lambda item, number: seen.append(number), at_once=1)
    check_needed()
    assert (seen, not_needed()) == ([1, 1], ())


@both
def test_nothing_begins_that_may_not_begin(wrap: Callable[..., Any]) -> None:
    kept: list[int] = []
    assert not work_through(
        range(9),
        wrap(lambda item: item),
        lambda item, result: kept.append(item),
        at_once=4,
        may_begin=lambda running: len(kept) + running < 5,
    )
    assert sorted(kept) == [0, 1, 2, 3, 4]


def test_work_of_an_event_loop_goes_on_where_a_loop_runs() -> None:
    kept: list[int] = []

    async def double(item: int) -> int:
        await asyncio.sleep(0.01)
        return 2 * item

    async def notebook() -> bool:
        return work_through(range(3), double, lambda item, result: kept.append(result), at_once=3)

    assert asyncio.run(notebook())
    assert sorted(kept) == [0, 2, 4]


# Outages


def stops_after(ends: Iterable[Failure | None]) -> int | None:
    """Return after how many ends it is stopped."""
    outage = Outage("questions")
    for number, end in enumerate(ends, 1):
        outage.ended(end)
        if outage.last:
            with pytest.raises(PolyqaError, match=f"questions fail one after the other: {end and end.message}"):
                outage.check()
            return number
        outage.check()
    return None


@pytest.mark.parametrize(
    ("ends", "after"),
    [
        ([GONE] * 30, AT_ONCE),
        ([UNREAD] * 30, AT_ONCE),
        ([WELL] * 100 + [GONE] * 30, 100 + AT_ONCE),
        ([WELL] * 100 + [UNREAD] * 30, 100 + WINDOW),
        ([WELL] + [UNREAD] * 30, 1 + WINDOW),
        ([GONE] * (AT_ONCE - 1) + [WELL] + [GONE] * (AT_ONCE - 1), None),
        ([GONE, SLOW] * 20, None),
        ([GONE] * 4 + [UNREAD] * 19, None),
        ([WELL] * 50, None),
    ],
)
def test_when_it_is_stopped(ends: list[Failure | None], after: int | None) -> None:
    assert stops_after(ends) == after


@pytest.mark.parametrize("seed", range(5))
def test_a_reply_in_two_that_cannot_be_read_does_not_stop_a_thousand_questions(seed: int) -> None:
    draw = random.Random(seed)
    assert stops_after(draw.choice([WELL, UNREAD]) for _ in range(1_000)) is None
