"""Work that is stopped: what is finished is kept, what hangs is given up."""

import signal
import threading
import time
from collections.abc import Iterator

import pytest

from polyqa.base.needed import NotNeededError, check_needed, not_needed
from polyqa.base.working import PATIENCE, work_through


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What hangs in a test waits for this, so that no thread outlives it."""
    event = threading.Event()
    yield event
    event.set()


def press_ctrl_c() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_every_item_is_worked_on_and_kept_once() -> None:
    kept: list[int] = []
    work_through(range(50), lambda item: item * item, kept.append, threads=4)
    assert sorted(kept) == [item * item for item in range(50)]


def test_items_are_worked_on_at_once() -> None:
    together = threading.Barrier(3, timeout=20)
    kept: list[int] = []
    work_through(range(3), lambda item: together.wait(), kept.append, threads=3)
    assert sorted(kept) == [0, 1, 2]


@pytest.mark.parametrize("at", ["work", "check"])
def test_after_an_error_what_was_begun_is_finished_and_nothing_else_begins(at: str) -> None:
    begun: list[int] = []
    kept: list[int] = []
    both = threading.Barrier(2, timeout=20)

    def work(item: int) -> int:
        begun.append(item)
        if item < 2:
            both.wait()
        if item == 0 and at == "work":
            raise ValueError("no")
        time.sleep(0.2)
        return item

    def check() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        work_through(range(20), work, kept.append, threads=2, check=check)
    assert len(begun) < 6
    assert sorted(kept) == sorted(set(begun) - ({0} if at == "work" else set()))


def test_what_cannot_be_kept_is_not_waited_for(release: threading.Event) -> None:
    given: list[int] = []

    def keep(item: int) -> None:
        given.append(item)
        raise OSError("the disk is full")

    def work(item: int) -> int:
        if item:
            release.wait(30)
        return item

    started = time.monotonic()
    with pytest.raises(OSError, match="full"):
        work_through(range(8), work, keep, threads=4)
    assert time.monotonic() - started < 10
    assert given == [0]


@pytest.mark.parametrize("hears", [True, False])
def test_ctrl_c_keeps_what_ends_soon_and_gives_up_what_hangs(release: threading.Event, hears: bool) -> None:
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
        work_through(["first", "hangs", "soon", "later", "never"], work, kept.append, threads=2)
    assert time.monotonic() - started < PATIENCE + 0.7
    assert kept[:1] == ["first"]
    assert "soon" in kept
    assert "hangs" not in kept
    assert "never" not in kept
    deadline = time.monotonic() + 10
    while not given_up and time.monotonic() < deadline:
        time.sleep(0.01)
    assert given_up


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
        work_through(range(2), work, lambda item: None, threads=2)
    assert time.monotonic() - started < PATIENCE


def test_ctrl_c_while_a_result_is_kept_loses_nothing() -> None:
    kept: list[int] = []

    def keep(item: int) -> None:
        if item == 3 and item not in kept:
            kept.append(item)
            raise KeyboardInterrupt
        kept.append(item)

    both = threading.Barrier(4, timeout=20)

    def work(item: int) -> int:
        both.wait()
        return item

    with pytest.raises(KeyboardInterrupt):
        work_through(range(4), work, keep, threads=4)
    assert set(kept) == {0, 1, 2, 3}
    assert kept.count(3) == 2, "it may have been at any point of keeping it"


def test_work_after_work_is_needed() -> None:
    seen: list[int] = []
    work_through(range(2), lambda item: len(not_needed()), seen.append, threads=1)
    check_needed()
    assert (seen, not_needed()) == ([1, 1], ())
