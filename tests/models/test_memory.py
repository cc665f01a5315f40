"""What many threads want at the same time is made together, and once."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from until import until

from polyqa.models.memory import Memory


class Slow:
    """Doubles numbers, one call at a time; the first call waits until it is let go."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.begun, self.go = threading.Event(), threading.Event()
        self.fails = lambda items: False

    def __call__(self, items: list[int]) -> list[int]:
        self.calls.append(sorted(items))
        self.begun.set()
        assert self.go.wait(60)
        if self.fails(items):
            raise ValueError("no number")
        return [2 * item for item in items]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


@pytest.fixture
def slow() -> Slow:
    return Slow()


def asking(memory: Memory[int], slow: Slow, kind: str = "") -> Callable[..., list[int]]:
    return lambda *items: memory.get(items, slow, kind=kind)


def test_what_waits_is_made_in_one_call_and_once(slow: Slow, pool: ThreadPoolExecutor) -> None:
    memory: Memory[int] = Memory(100)
    ask = asking(memory, slow)
    first = pool.submit(ask, 1)
    slow.begun.wait(60)
    rest = [pool.submit(ask, *items) for items in ([2], [3, 4], [4, 1], [2])]
    until(lambda: len(memory._wanted) == 4)
    slow.go.set()
    assert first.result() == [2]
    assert [one.result() for one in rest] == [[4], [6, 8], [8, 2], [4]]
    assert slow.calls == [[1], [2, 3, 4]]
    assert not memory._wanted


def test_what_is_kept_does_not_wait_for_the_model(slow: Slow, pool: ThreadPoolExecutor) -> None:
    memory: Memory[int] = Memory(100)
    memory.get([7], lambda items: [14], kind="")
    running = pool.submit(asking(memory, slow), 1)
    slow.begun.wait(60)
    assert asking(memory, slow)(7) == [14]
    slow.go.set()
    assert running.result() == [2]


def test_kinds_are_not_made_together(slow: Slow, pool: ThreadPoolExecutor) -> None:
    memory: Memory[int] = Memory(100)
    first = pool.submit(asking(memory, slow, "a"), 1)
    slow.begun.wait(60)
    rest = [pool.submit(asking(memory, slow, kind), item) for kind, item in (("a", 2), ("b", 3), ("a", 4))]
    until(lambda: len(memory._wanted) == 4)
    slow.go.set()
    assert [one.result() for one in (first, *rest)] == [[2], [4], [6], [8]]
    assert slow.calls[0] == [1]
    assert sorted(slow.calls[1:]) == [[2, 4], [3]]


def test_an_item_that_fails_fails_for_those_who_want_it_only(slow: Slow, pool: ThreadPoolExecutor) -> None:
    memory: Memory[int] = Memory(100)
    slow.fails = lambda items: 13 in items
    ask = asking(memory, slow)
    first = pool.submit(ask, 1)
    slow.begun.wait(60)
    bad, also_bad, good = pool.submit(ask, 13), pool.submit(ask, 13, 5), pool.submit(ask, 2)
    until(lambda: len(memory._wanted) == 4)
    slow.go.set()
    assert (first.result(), good.result()) == ([2], [4])
    for one in (bad, also_bad):
        with pytest.raises(ValueError, match="no number"):
            one.result()
    assert not memory._wanted
    slow.fails = lambda items: False
    assert ask(13, 5, 2) == [26, 10, 4]


def test_the_oldest_are_forgotten_first_and_nothing_that_is_asked_for(slow: Slow) -> None:
    memory: Memory[int] = Memory(2)
    slow.go.set()
    assert asking(memory, slow)(1, 2, 3) == [2, 4, 6]
    assert asking(memory, slow)(2, 3) == [4, 6]
    assert slow.calls == [[1, 2, 3]]
    assert asking(memory, slow)(1, 1) == [2, 2]
    assert slow.calls[1:] == [[1]]


def test_an_interrupt_is_no_fault_of_an_item(slow: Slow, pool: ThreadPoolExecutor) -> None:
    """It is not asked for again without the items of others, which would swallow it."""
    memory: Memory[int] = Memory(100)
    first = pool.submit(asking(memory, slow), 1)
    slow.begun.wait(60)

    def interrupted(items: list[int]) -> bool:
        if len(slow.calls) == 2:
            raise KeyboardInterrupt
        return False

    slow.fails = interrupted
    rest = [pool.submit(asking(memory, slow), item) for item in (2, 3)]
    until(lambda: len(memory._wanted) == 3)
    slow.go.set()
    assert first.result() == [2]
    assert sorted(type(one.exception(60)).__name__ for one in rest) == ["KeyboardInterrupt", "NoneType"]
