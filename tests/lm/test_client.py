"""A call of a language model ends, and goes out when it may: over a real server that hangs, drips, fails or is busy."""

import asyncio
import itertools
import pickle
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any
from unittest.mock import Mock

import dspy
import pytest
from dspy.clients import base_lm
from dspy.utils import exceptions as dspy_errors
from openai_server import Server, serve
from scripted_engine import ScriptedEngine, last_message
from until import until

import polyqa
from polyqa.base.needed import NotNeededError, ahead
from polyqa.cluster import for_workers
from polyqa.lm.assigned import sampling
from polyqa.lm.client import BoundedLM, BusyServerError, CallTimeoutError, RecentLM, out_of_the_deadline
from polyqa.lm.recorder import recording
from polyqa.optimizers.calls import kept_calls

Calls = Callable[[dspy.LM, int], list[Any]]
TIMEOUT = 0.5


def in_threads(lm: dspy.LM, count: int = 1) -> list[Any]:
    with ThreadPoolExecutor(count) as pool:
        return [one.result() for one in [pool.submit(lm, f"hi {number}") for number in range(count)]]


def awaited(lm: dspy.LM, count: int = 1) -> list[Any]:
    async def every() -> list[Any]:
        return await asyncio.gather(*(lm.acall(f"hi {number}") for number in range(count)))

    return asyncio.run(every())


@pytest.fixture(params=[in_threads, awaited], ids=["threads", "awaited"])
def calls(request: pytest.FixtureRequest) -> Calls:
    return request.param


@contextmanager
def served(
    *, given: dict[str, Any] | None = None, provider: str = "openai", **behaviour: Any
) -> Iterator[tuple[dspy.LM, Server]]:
    """Serve a greeting; give a language model that asks there, by a name that no cache knows."""
    with serve(ScriptedEngine(lambda text: "hello", given=last_message), **behaviour) as server:
        name = f"{provider}/{uuid.uuid4().hex}@{server.base}"
        yield polyqa.language_model(name, **{"cache": False, "api_key": "none", **(given or {})}), server


def test_no_key_is_written_down_from_a_list_or_an_address() -> None:
    secret = "sk-secret-0123456789"
    others = [{"model": "openai/b", "api_key": secret}]
    lm = polyqa.language_model("openai/a", api_base=f"https://ann:{secret}@host/v1", fallbacks=others)
    assert secret not in str(lm.dump_state())
    assert secret not in str(sampling(lm))
    assert lm.kwargs["fallbacks"] == others


@pytest.mark.parametrize("behaviour", [{"latency": 30.0}, {"drip": 0.1}], ids=["hangs", "drips"])
def test_a_server_that_does_not_get_done_ends_in_one_error(behaviour: dict[str, float], calls: Calls) -> None:
    with served(given={"timeout": TIMEOUT}, **behaviour) as (lm, server):
        started = time.perf_counter()
        with recording(lm) as recorder, pytest.raises(CallTimeoutError, match=r"within 0\.5 seconds.*--timeout"):
            asyncio.run(lm.acall("hi")) if calls is awaited else lm("hi")
        assert TIMEOUT <= time.perf_counter() - started < 10 * TIMEOUT
        time.sleep(2 * TIMEOUT)
        assert len(server.requests) == 1, "what may still be worked at, and paid for, is not asked for again"
    assert [one.reply for one in recorder.calls] == [""], "callbacks see one call that failed"


@pytest.mark.parametrize(
    ("failures", "given", "requests", "error"),
    [
        ([], {}, 1, None),
        ([(500, {})], {}, 2, None),
        ([(429, {"Retry-After": "0"})] * 3, {}, 4, None),
        ([(429, {"Retry-After": "1"})], {"timeout": 20}, 2, None),
        ([(429, {"Retry-After": "0"})] * 4, {}, 4, dspy_errors.LMRateLimitError),
        ([(429, {"Retry-After": "3600"})], {}, 1, BusyServerError),
        ([(503, {"Retry-After": "2"})], {"timeout": 1}, 1, BusyServerError),
        ([(500, {})], {"retries": 0}, 1, dspy_errors.LMServerError),
        ([(401, {})], {}, 1, dspy_errors.LMAuthError),
        ([(400, {})], {}, 1, dspy_errors.LMInvalidRequestError),
    ],
)
def test_what_may_pass_is_tried_again(
    failures: list[Any], given: dict[str, Any], requests: int, error: type[Exception] | None, calls: Calls
) -> None:
    with served(failures=failures, given=given) as (lm, server):
        if error is None:
            assert calls(lm, 1) == [["hello"]]
        else:
            with pytest.raises(error):
                calls(lm, 1)
        assert len(server.requests) == requests


def test_a_server_that_wants_too_long_a_pause_says_for_how_long(calls: Calls) -> None:
    with (
        served(failures=[(503, {"Retry-After": "3600"})]) as (lm, _),
        pytest.raises(BusyServerError, match=r"for 3,600 seconds \(Retry-After\), longer than the call.*status 503\.$"),
    ):
        calls(lm, 1)


def test_a_command_that_keeps_calls_ends_though_a_call_hangs(tmp_path: Any) -> None:
    """It waits for calls in flight; one that was given up is none."""
    with served(latency=30.0, given={"timeout": TIMEOUT, "cache": True}) as (lm, _):
        started = time.perf_counter()
        with pytest.raises(CallTimeoutError), kept_calls(tmp_path):
            lm("hi")
        assert time.perf_counter() - started < 10 * TIMEOUT


def test_a_call_that_nobody_needs_is_given_up() -> None:
    over: Future[None] = Future()
    with served(latency=30.0) as (lm, server), ThreadPoolExecutor(1) as pool, ahead(over):
        waiting = pool.submit(copy_context().run, lm, "hi")
        until(lambda: server.requests)
        over.set_result(None)
        started = time.monotonic()
        with pytest.raises(NotNeededError):
            waiting.result()
        assert time.monotonic() - started < 5


def test_a_longer_timeout_keeps_what_is_cached(calls: Calls) -> None:
    with served(given={"cache": True}) as (lm, server):
        calls(lm, 1)
        patient = polyqa.language_model(lm.model, api_base=server.base, timeout=500, retries=7)
        assert calls(patient, 1) == [["hello"]]
        assert len(server.requests) == 1


def test_in_a_thread_that_works_for_no_event_loop_a_call_is_not_streamed() -> None:
    """As in one of `dspy.Parallel`, to which what the caller has set is handed on."""
    with served() as (lm, _), dspy.context(send_stream=Mock()):
        assert lm("hi") == ["hello"]


def test_calls_that_do_not_wait_for_each_other_run_together() -> None:
    with served(latency=0.3) as (lm, server):
        in_threads(lm, 4)
    assert server.most_at_once == 4


def test_callbacks_of_a_model_hear_of_a_call_once(calls: Calls) -> None:
    heard = Mock(spec=dspy.utils.callback.BaseCallback)
    with served(failures=[(429, {"Retry-After": "0"})], given={"callbacks": [heard]}) as (lm, _):
        calls(lm, 1)
    assert [ended.kwargs["outputs"] for ended in heard.on_lm_end.mock_calls] == [["hello"]]


def test_copies_of_a_program_share_the_model() -> None:
    program = dspy.Predict("question -> answer")
    program.lm = polyqa.language_model("openai/x@http://127.0.0.1:9")
    assert program.deepcopy().lm is program.lm
    assert isinstance(program.lm.copy(temperature=1.0), BoundedLM)


def test_what_dspy_saves_of_it_has_no_key_and_loads_as_its_own() -> None:
    more = {"api_key": "sk-1", "extra_headers": {"Authorization": "sk-2"}, "extra_body": {"api_key": "sk-3", "a": 1}}
    state = polyqa.language_model("openai/x", api_base="http://127.0.0.1:9", retries=5, **more).dump_state()
    assert "sk-" not in str(state)
    assert state["extra_body"] == {"a": 1}
    loaded = dspy.BaseLM.load_state(state)
    assert type(loaded) is dspy.LM
    assert (loaded.model, loaded.num_retries, loaded.kwargs["temperature"]) == ("openai/x", 5, 0.3)
    assert isinstance(polyqa.embedded_lm(), RecentLM)
    assert type(dspy.BaseLM.load_state(polyqa.embedded_lm().dump_state(), allow_custom_lm_class=True)) is dspy.LM


def distances(server: Server) -> list[float]:
    return [after - before for before, after in itertools.pairwise(server.times)]


@pytest.mark.parametrize(
    ("provider", "calls"), [("openai", in_threads), ("hosted_vllm", awaited)], ids=["openai", "hosted_vllm"]
)
def test_requests_go_out_at_even_distances_and_waiting_takes_no_time_of_a_call(provider: str, calls: Calls) -> None:
    with served(provider=provider, given={"requests_per_minute": 120, "timeout": 2.0}) as (lm, server):
        assert calls(lm, 6) == [["hello"]] * 6
    assert min(distances(server)) > 0.3
    assert sum(distances(server)) > 2.0, "the last call waited for longer than a call may take"


def test_a_call_that_had_its_turn_has_its_own_time_only(calls: Calls) -> None:
    with (
        served(given={"requests_per_minute": 300, "timeout": 0.5}, latency=30.0) as (lm, server),
        pytest.raises(CallTimeoutError, match=r"within 0\.5 seconds"),
    ):
        calls(lm, 3)
    assert len(server.times) >= 1


def test_replies_that_are_kept_take_no_turn(calls: Calls) -> None:
    with served(given={"requests_per_minute": 30, "cache": True}) as (lm, server):
        calls(lm, 1)
        started = time.monotonic()
        for _ in range(5):
            assert calls(lm, 1) == [["hello"]]
        assert time.monotonic() - started < 2.0
    assert len(server.times) == 1


def test_copies_and_pickles_keep_their_limits() -> None:
    with served(given={"requests_per_minute": 240, "timeout": 7}) as (lm, server):
        for copy in (lm.copy(temperature=1.0), pickle.loads(pickle.dumps(lm))):
            server.times.clear()
            in_threads(copy, 3)
            assert min(distances(server)) > 0.15
            assert copy.timeout == 7


def test_a_model_that_only_litellm_can_ask_has_no_pace() -> None:
    lm = polyqa.language_model("nowhere/model@http://127.0.0.1:9", requests_per_minute=5, cache=False)
    with pytest.raises(dspy_errors.LMError, match="nowhere/model"):
        lm("hi")


def test_workers_of_a_cluster_share_what_is_allowed() -> None:
    models = polyqa.Models(lm="openai/m", settings=polyqa.LMSettings(requests_per_minute=600))
    _, _, each = for_workers("rac", {}, models, 4)
    assert each.settings.requests_per_minute == 150
    assert for_workers("rac", {}, polyqa.Models(lm="openai/m"), 4)[2].settings.requests_per_minute is None


def test_the_latest_calls_are_remembered_and_all_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyqa.lm.client.REMEMBERED", 4)
    engine = ScriptedEngine(lambda text: {"answer": "yes"})
    lm, program = RecentLM("a/b", engine=engine, cache=False), dspy.Predict("question -> answer")
    with recording(lm) as recorder:
        for number in range(10):
            program(question=f"question {number}")
    assert len(recorder.calls) == 10
    assert len(program.history) == len(lm.history) == len(base_lm.GLOBAL_HISTORY) == 4
    assert "question 6" in str(lm.history[0]["messages"])
    assert base_lm.GLOBAL_HISTORY[-1] is lm.history[-1]


class WaitsThenHangs:
    """Waits for its turn for longer than a call may take, and then hangs."""

    async def complete(self, request: Any) -> Any:
        with out_of_the_deadline():
            await asyncio.sleep(2 * TIMEOUT)
        await asyncio.sleep(10 * TIMEOUT)


def test_a_deadline_begins_when_the_wait_for_a_turn_ends() -> None:
    engines = {"engine": ScriptedEngine(str), "async_engine": WaitsThenHangs()}
    lm = BoundedLM("scripted/one", timeout=TIMEOUT, cache=False, num_retries=0, **engines)
    started = time.monotonic()
    with pytest.raises(CallTimeoutError):
        lm("hi")
    assert 2 * TIMEOUT < time.monotonic() - started < 6 * TIMEOUT
