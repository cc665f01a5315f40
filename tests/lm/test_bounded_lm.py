"""A call of a language model ends: over a real server that hangs, drips, fails or asks for patience."""

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dspy
import pytest
from dspy.utils import exceptions as dspy_errors
from openai_server import Server, serve
from scripted_engine import ScriptedEngine, last_message

import polyqa
from polyqa.lm.bounded_lm import BoundedLM, CallTimeoutError
from polyqa.lm.recorder import recording
from polyqa.optimizers.calls import kept_calls

Call = Callable[[dspy.LM], Any]
WAYS = {"sync": lambda lm: lm("hi"), "async": lambda lm: asyncio.run(lm.acall("hi"))}
TIMEOUT = 0.5


@contextmanager
def served(*, given: dict[str, Any] | None = None, **behaviour: Any) -> Iterator[tuple[dspy.LM, Server]]:
    """Serve a greeting; give a language model that asks there, by a name that no cache knows."""
    with serve(ScriptedEngine(lambda text: "hello", given=last_message), **behaviour) as server:
        name = f"openai/{uuid.uuid4().hex}"
        yield polyqa.language_model(name, api_base=server.base, **{"cache": False, **(given or {})}), server


@pytest.fixture(params=WAYS)
def call(request: pytest.FixtureRequest) -> Call:
    return WAYS[request.param]


@pytest.mark.parametrize("behaviour", [{"latency": 30.0}, {"drip": 0.1}], ids=["hangs", "drips"])
def test_a_server_that_does_not_get_done_ends_in_one_error(behaviour: dict[str, float], call: Call) -> None:
    with served(given={"timeout": TIMEOUT}, **behaviour) as (lm, server):
        started = time.perf_counter()
        with recording(lm) as recorder, pytest.raises(CallTimeoutError, match=r"within 0\.5 seconds.*--timeout"):
            call(lm)
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
        ([(429, {"Retry-After": "0"})] * 4, {}, 4, dspy_errors.LMRateLimitError),
        ([(429, {"Retry-After": "1"})], {"timeout": 0.9}, 1, dspy_errors.LMRateLimitError),
        ([(500, {})], {"retries": 0}, 1, dspy_errors.LMServerError),
        ([(401, {})], {}, 1, dspy_errors.LMAuthError),
        ([(400, {})], {}, 1, dspy_errors.LMInvalidRequestError),
    ],
)
def test_what_may_pass_is_tried_again(
    failures: list[Any], given: dict[str, Any], requests: int, error: type[Exception] | None, call: Call
) -> None:
    with served(failures=failures, given=given) as (lm, server):
        if error is None:
            assert call(lm) == ["hello"]
        else:
            with pytest.raises(error):
                call(lm)
        assert len(server.requests) == requests


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_wants_a_long_pause_ends_in_one_error(status: int, call: Call) -> None:
    with served(failures=[(status, {"Retry-After": "3600"})]) as (lm, server):
        with pytest.raises(dspy_errors.LMProviderError, match=r"for 3,600 seconds \(Retry-After\).*waits 60 at most"):
            call(lm)
        assert len(server.requests) == 1


def test_pauses_that_the_server_asks_for_do_not_count(call: Call) -> None:
    """Two of them together are longer than the call's requests may take."""
    with served(failures=[(429, {"Retry-After": "1"})] * 2, given={"timeout": 1.5}) as (lm, _):
        assert call(lm) == ["hello"]


def test_the_time_of_earlier_tries_counts() -> None:
    with served(failures=[(500, {})], latency=0.4, given={"timeout": 0.6}) as (lm, server):
        with pytest.raises(CallTimeoutError):
            lm("hi")
        assert len(server.requests) == 2


def test_a_command_that_keeps_calls_ends_though_a_call_hangs(tmp_path: Any) -> None:
    """It waits for calls in flight; one that was given up is none."""
    with served(latency=30.0, given={"timeout": TIMEOUT, "cache": True}) as (lm, _):
        started = time.perf_counter()
        with pytest.raises(CallTimeoutError), kept_calls(tmp_path):
            lm("hi")
        assert time.perf_counter() - started < 10 * TIMEOUT


def test_a_longer_timeout_keeps_what_is_cached(call: Call) -> None:
    with served(given={"cache": True}) as (lm, server):
        call(lm)
        patient = polyqa.language_model(lm.model, api_base=server.base, timeout=500, retries=7)
        assert call(patient) == ["hello"]
        assert len(server.requests) == 1


def test_calls_that_do_not_wait_for_each_other_run_together() -> None:
    with served(latency=0.3) as (lm, server):
        threads = [threading.Thread(target=lm, args=(f"hi {number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.most_at_once == 4


def test_copies_of_a_program_share_the_model() -> None:
    program = dspy.Predict("question -> answer")
    program.lm = polyqa.language_model("openai/x", api_base="http://127.0.0.1:9")
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
