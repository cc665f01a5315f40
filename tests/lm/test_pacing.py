"""Requests go out as their provider allows, and waiting for that takes nothing of a call's time."""

import asyncio
import itertools
import pickle
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import dspy
import pytest
from openai_server import Server, serve
from scripted_engine import ScriptedEngine, last_message

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.base.needed import NotNeededError, ahead
from polyqa.cluster import for_workers
from polyqa.lm.bounded_lm import CallTimeoutError
from polyqa.lm.pacing import Pace

Calls = Callable[[dspy.LM, int], list[Any]]


def in_threads(lm: dspy.LM, count: int) -> list[Any]:
    with ThreadPoolExecutor(count) as pool:
        return [one.result() for one in [pool.submit(lm, f"hi {number}") for number in range(count)]]


def awaited(lm: dspy.LM, count: int) -> list[Any]:
    async def every() -> list[Any]:
        return await asyncio.gather(*(lm.acall(f"hi {number}") for number in range(count)))

    return asyncio.run(every())


both = pytest.mark.parametrize("calls", [in_threads, awaited], ids=["threads", "awaited"])


@contextmanager
def served(
    *, provider: str = "openai", given: dict[str, Any] | None = None, **behaviour: Any
) -> Iterator[tuple[dspy.LM, Server]]:
    with serve(ScriptedEngine(lambda text: "hello", given=last_message), **behaviour) as server:
        name = f"{provider}/{uuid.uuid4().hex}"
        settings = {"cache": False, "api_key": "none", **(given or {})}
        yield polyqa.language_model(name, api_base=server.base, **settings), server


def distances(server: Server) -> list[float]:
    return [after - before for before, after in itertools.pairwise(server.times)]


@both
@pytest.mark.parametrize("provider", ["openai", "hosted_vllm"], ids=["DSPy's client", "LiteLLM"])
def test_requests_go_out_at_even_distances_and_waiting_takes_no_time_of_a_call(provider: str, calls: Calls) -> None:
    with served(provider=provider, given={"requests_per_minute": 120, "timeout": 2.0}) as (lm, server):
        calls(lm, 1)  # LiteLLM takes its time for the first one
        assert calls(lm, 6) == [["hello"]] * 6
    apart = distances(server)[1:]
    assert len(apart) == 5
    assert min(apart) > 0.3
    assert sum(apart) > 2.0, "the last call waited for longer than a call may take"


@both
def test_a_call_that_had_its_turn_has_its_own_time_only(calls: Calls) -> None:
    with (
        served(given={"requests_per_minute": 300, "timeout": 0.5}, latency=30.0) as (lm, server),
        pytest.raises(CallTimeoutError, match=r"within 0\.5 seconds"),
    ):
        calls(lm, 3)
    assert len(server.times) >= 1


@both
def test_replies_that_are_kept_take_no_turn(calls: Calls) -> None:
    with served(given={"requests_per_minute": 30, "cache": True}) as (lm, server):
        calls(lm, 1)
        started = time.monotonic()
        for _ in range(5):
            assert calls(lm, 1) == [["hello"]]
        assert time.monotonic() - started < 2.0
    assert len(server.times) == 1


@both
def test_while_the_server_wants_a_pause_no_call_is_made(calls: Calls) -> None:
    with served(failures=[(429, {"Retry-After": "1"})]) as (lm, server):
        first = ThreadPoolExecutor(1).submit(lm, "first")
        while not server.times:
            time.sleep(0.01)
        time.sleep(0.2)
        assert calls(lm, 3) == [["hello"]] * 3
        assert first.result() == ["hello"]
    assert len(server.times) == 5
    assert distances(server)[0] > 0.9


def test_a_turn_that_nobody_needs_is_given_up() -> None:
    pace = Pace(1)
    assert pace.turn() == 0
    over: Future[None] = Future()

    def waiting() -> None:
        with ahead(over):
            pace.wait()

    with ThreadPoolExecutor(1) as pool:
        waited = pool.submit(waiting)
        time.sleep(0.1)
        over.set_result(None)
        started = time.monotonic()
        with pytest.raises(NotNeededError):
            waited.result()
        assert time.monotonic() - started < 5


def test_a_copy_from_a_pickle_keeps_the_pace() -> None:
    with served(given={"requests_per_minute": 240}) as (lm, server):
        copy = pickle.loads(pickle.dumps(lm))
        in_threads(copy, 3)
    assert min(distances(server)) > 0.15


def test_workers_of_a_cluster_share_what_is_allowed() -> None:
    models = polyqa.Models(lm="openai/m", settings=polyqa.LMSettings(requests_per_minute=600))
    _, _, each = for_workers("rac", {}, models, 4)
    assert each.settings.requests_per_minute == 150
    assert for_workers("rac", {}, polyqa.Models(lm="openai/m"), 4)[2].settings.requests_per_minute is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"requests_per_minute": 0}, "--requests-per-minute is a number above 0, not 0"),
        ({"requests_per_minute": float("nan")}, "above 0, not nan"),
        ({"more": {"rpm": 5}}, "rpm has an option of its own: --requests-per-minute"),
    ],
)
def test_what_is_no_pace_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PolyqaError, match=message):
        polyqa.LMSettings(**given)


def test_the_embedded_engine_has_no_pace() -> None:
    with pytest.raises(PolyqaError, match="has no --requests-per-minute"):
        polyqa.Models(settings=polyqa.LMSettings(requests_per_minute=5)).answering()
