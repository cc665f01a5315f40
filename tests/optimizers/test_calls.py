"""The limit of calls: counted where they arrive, at a real HTTP server."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from harness import scripted
from openai_server import Server
from until import until

import polyqa
from polyqa.optimizers.calls import CallCounter, CallRefused, kept_calls


@pytest.fixture
def slow() -> Iterator[tuple[dspy.LM, Server]]:
    with scripted(lambda text: f"reply to {text}", latency=0.2) as (lm, server):
        yield lm, server


def test_no_thread_gets_a_call_over_the_limit_and_those_in_flight_are_kept(
    slow: tuple[dspy.LM, Server], tmp_path: Path
) -> None:
    lm, server = slow
    lm = lm.copy(cache=True)
    swallowed: list[BaseException] = []

    def ask(number: int) -> None:
        try:
            lm(f"question {number}")
        except BaseException as error:
            swallowed.append(error)

    with (  # noqa: PT012
        pytest.raises(polyqa.PolyqaError, match=r"Stopped: 5 calls"),
        kept_calls(tmp_path, 5),
        ThreadPoolExecutor(8) as pool,
    ):
        for number in range(20):
            pool.submit(copy_context().run, ask, number)
    # All 15 refusals were swallowed, and still the block does not end as if nothing had happened.
    assert len(server.requests) == 5
    assert [type(error) for error in swallowed] == [CallRefused] * 15
    with kept_calls(tmp_path, 20):
        for number in range(20):
            ask(number)
    assert len(server.requests) == 20


def test_calls_in_flight_are_waited_for_and_later_ones_refused(slow: tuple[dspy.LM, Server], tmp_path: Path) -> None:
    lm, server = slow
    lm = lm.copy(cache=True)
    begun = threading.Event()
    late: list[BaseException] = []

    def leftover() -> None:
        begun.set()
        lm("in flight")
        try:
            lm("too late")
        except BaseException as error:
            late.append(error)

    with pytest.raises(ZeroDivisionError), kept_calls(tmp_path):  # noqa: PT012
        thread = threading.Thread(target=copy_context().run, args=(leftover,))
        thread.start()
        begun.wait()
        time.sleep(0.1)
        raise ZeroDivisionError
    thread.join()
    assert [type(error) for error in late] == [CallRefused]
    assert len(server.requests) == 1
    with kept_calls(tmp_path):
        assert lm("in flight")[0] == "reply to in flight"
    assert len(server.requests) == 1


def test_several_replies_count_as_several_and_kept_ones_as_none(slow: tuple[dspy.LM, Server], tmp_path: Path) -> None:
    lm, server = slow
    with pytest.raises(polyqa.PolyqaError, match=r"Stopped: 4 calls .* is 6"), kept_calls(tmp_path, 6) as counter:  # noqa: PT012
        cached = lm.copy(cache=True)
        cached("twice", n=2)
        cached("twice", n=2)
        assert counter.made == len(server.requests) == 2
        lm("no cache", n=2)
        assert counter.made == len(server.requests) == 4
        lm("no cache", n=3)
    assert len(server.requests) == 4
    with kept_calls(tmp_path) as outer, kept_calls(tmp_path, 5) as inner:
        assert inner is outer
        assert inner.most == 5


def test_a_killed_command_has_counted_and_two_at_once_are_refused(tmp_path: Path) -> None:
    CallCounter(tmp_path / "calls.json").reserve(3)
    with kept_calls(tmp_path, 4) as counter:
        assert counter.made == 3
        other: list[str] = []

        def second() -> None:
            dspy.cache = earlier  # as another process would see it
            try:
                with kept_calls(tmp_path):
                    other.append("in")
            except polyqa.PolyqaError as error:
                other.append(str(error))

        own, earlier = dspy.cache, object()
        second()
        dspy.cache = own
    assert "another process" in other[0]


@pytest.mark.parametrize("text", ["", "\0\0\0", "{}", "[]", '{"calls": "many"}'])
def test_a_damaged_count_is_told_on_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "calls.json").write_text(text)
    with pytest.raises(polyqa.PolyqaError, match=r"calls\.json is damaged.*; remove it to count from 0 again\.$"):
        CallCounter(tmp_path / "calls.json")


def test_after_an_interrupt_calls_in_flight_are_not_waited_for_long(tmp_path: Path) -> None:
    with scripted(lambda text: "late", latency=30) as (lm, server):
        with pytest.raises(KeyboardInterrupt), kept_calls(tmp_path):  # noqa: PT012
            thread = threading.Thread(target=copy_context().run, args=(lm, "question"), daemon=True)
            thread.start()
            until(lambda: server.requests)
            started = time.monotonic()
            raise KeyboardInterrupt
        assert time.monotonic() - started < 5
        assert thread.is_alive()


class Own(dspy.LM):
    """Sends its calls itself."""

    def forward(self, prompt: Any = None, messages: Any = None, **settings: Any) -> Any:
        choice = SimpleNamespace(message=SimpleNamespace(content="a", tool_calls=None), finish_reason="stop")
        return SimpleNamespace(choices=[choice], usage={}, model=self.model)


class Around(dspy.LM):
    """Does something of its own, and has DSPy send the call."""

    def forward(self, prompt: Any = None, messages: Any = None, **settings: Any) -> Any:
        return super().forward(prompt, messages, **settings)


def test_a_class_that_sends_its_calls_itself_is_counted(tmp_path: Path) -> None:
    lm = Own("tests/own")
    with pytest.raises(polyqa.PolyqaError, match=r"Stopped: 2 calls"), kept_calls(tmp_path, 2) as counter:  # noqa: PT012
        lm("one")
        lm("two")
        assert counter.made == 2
        lm("three")


def test_a_class_around_dspys_own_calls_is_counted_once(slow: tuple[dspy.LM, Server], tmp_path: Path) -> None:
    plain, server = slow
    lm = Around(plain.model, **plain.kwargs, num_retries=0)
    with kept_calls(tmp_path) as counter:
        for _ in range(2):
            assert lm("one")
        assert counter.made == len(server.requests) == 1
