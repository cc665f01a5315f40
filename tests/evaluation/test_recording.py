import asyncio
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dspy
import pytest
from dspy.utils.callback import BaseCallback
from harness import fields, scripted

from polyqa.evaluation.recording import Recorder, recording
from polyqa.programs import ClosedBook
from polyqa.programs.concurrency import run_all

QUESTION = "When did Titanic come out?"


class Chain(dspy.Module):
    """Asks so many questions, one after another or at once."""

    def __init__(self, calls: int, *, at_once: bool = False) -> None:
        super().__init__()
        self.ask = ClosedBook()
        self.questions = [f"Question {at}?" for at in range(calls)]
        self.at_once = at_once

    def forward(self, question: str) -> dspy.Prediction:
        calls: list[Callable[[], Any]] = [lambda one=one: self.ask(question=one) for one in self.questions]
        answers = run_all(calls) if self.at_once else [call() for call in calls]
        return dspy.Prediction(answer=" ".join(one.answer for one in answers))

    async def aforward(self, question: str) -> dspy.Prediction:
        answers = await asyncio.gather(*(self.ask.acall(question=one) for one in self.questions))
        return dspy.Prediction(answer=" ".join(one.answer for one in answers))


class Heard(BaseCallback):
    """Notes the exception, or its absence, of every call."""

    def __init__(self) -> None:
        self.ends: list[Exception | None] = []

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        self.ends.append(exception)


def answer(prompt: str) -> str:
    return fields(answer="In 1997.")


def costs(recorder: Recorder) -> tuple[int, int, int]:
    return len(recorder.calls), recorder.input_tokens, recorder.output_tokens


def test_calls_with_messages_replies_tokens_and_time() -> None:
    with scripted(answer, latency=0.05) as (lm, server):
        with recording(lm) as recorder:
            ClosedBook()(question=QUESTION)
        time.sleep(0.05)
    (call,) = recorder.calls
    assert call.reply == fields(answer="In 1997.")
    assert [message["role"] for message in call.messages] == ["system", "user"]
    assert QUESTION in call.messages[-1]["content"]
    assert len(server.requests) == 1
    assert costs(recorder) == (1, 7, 3)
    assert 0.05 <= recorder.seconds < 10


@pytest.mark.parametrize("at_once", [False, True])
def test_costs_are_summed_over_calls_and_threads(at_once: bool) -> None:
    with scripted(answer, latency=0.02) as (lm, server):
        with recording(lm) as recorder:
            Chain(5, at_once=at_once)(question=QUESTION)
        assert server.most_at_once > 1 if at_once else server.most_at_once == 1
    assert costs(recorder) == (5, 35, 15)
    asked = [call.messages[-1]["content"] for call in recorder.calls]
    assert {at for at in range(5) for prompt in asked if f"Question {at}?" in prompt} == set(range(5))


def test_what_was_done_before_an_error_is_recorded() -> None:
    with scripted(lambda prompt: answer(prompt) if "Question 0" in prompt else '{"half') as (lm, _):  # noqa: SIM117
        with pytest.raises(dspy.utils.exceptions.AdapterParseError), recording(lm) as recorder:
            Chain(3)(question=QUESTION)
    assert recorder.calls[0].reply == answer("")
    assert {call.reply for call in recorder.calls[1:]} == {'{"half'}
    assert costs(recorder) == (n := len(recorder.calls), 7 * n, 3 * n)
    assert recorder.seconds > 0


def test_a_call_without_a_reply_is_a_call() -> None:
    lm = dspy.LM("openai/x", api_base="http://127.0.0.1:9/v1", api_key="none", cache=False, num_retries=0)
    with pytest.raises(Exception, match=r"refused|failed"), recording(lm) as recorder:
        ClosedBook()(question=QUESTION)
    (call,) = recorder.calls
    assert call.reply == ""
    assert QUESTION in call.messages[-1]["content"]
    assert costs(recorder) == (1, 0, 0)
    assert recorder.seconds > 0


def test_a_cached_reply_is_a_call_that_costs_nothing() -> None:
    with scripted(answer) as (lm, server):
        cached = lm.copy(model=f"openai/model-{uuid.uuid4().hex}", cache=True)
        recorders = []
        for _ in range(2):
            with recording(cached) as recorder:
                ClosedBook()(question=QUESTION)
            recorders.append(recorder)
    assert len(server.requests) == 1
    assert [costs(one) for one in recorders] == [(1, 7, 3), (1, 0, 0)]
    assert recorders[0].calls[0].reply == recorders[1].calls[0].reply


def test_callbacks_that_were_set_stay_in_force() -> None:
    outer, own = Heard(), Heard()
    with scripted(answer) as (lm, _):
        lm = lm.copy(callbacks=[own])
        with dspy.context(callbacks=[outer]):
            with recording(lm) as recorder:
                ClosedBook()(question=QUESTION)
            with dspy.context(lm=lm):
                ClosedBook()(question=QUESTION)
    assert (len(recorder.calls), outer.ends, own.ends) == (1, [None, None], [None, None])


def test_nothing_stays_behind() -> None:
    before = dict(dspy.settings.config)
    with scripted(answer) as (lm, _):
        with recording(lm) as recorder:
            ClosedBook()(question=QUESTION)
        with pytest.raises(ZeroDivisionError), recording(lm):
            raise ZeroDivisionError
        with dspy.context(lm=lm):
            ClosedBook()(question=QUESTION)
    assert dict(dspy.settings.config) == before
    assert len(recorder.calls) == 1


def test_recordings_may_be_nested() -> None:
    with scripted(answer) as (lm, _), dspy.track_usage() as tracker, recording(lm) as outer:
        ClosedBook()(question=QUESTION)
        with recording(lm) as inner:
            ClosedBook()(question=QUESTION)
    assert costs(inner) == (1, 7, 3)
    assert costs(outer) == (2, 14, 6)
    assert tracker.get_total_tokens()["openai/scripted"]["prompt_tokens"] == 14


def test_recordings_in_other_threads_are_their_own() -> None:
    def work(calls: int) -> tuple[int, int, int]:
        with recording(lm) as recorder:
            Chain(calls)(question=QUESTION)
        return costs(recorder)

    with scripted(answer, latency=0.01) as (lm, _), ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, [1, 2, 3])) == [(1, 7, 3), (2, 14, 6), (3, 21, 9)]


def test_the_async_way_is_recorded_alike() -> None:
    async def record(calls: int) -> Recorder:
        with recording(lm) as recorder:
            await Chain(calls).acall(question=QUESTION)
        return recorder

    async def both() -> list[Recorder]:
        return await asyncio.gather(record(1), record(3))

    with scripted(answer, latency=0.05) as (lm, server):
        one, three = asyncio.run(both())
    assert (costs(one), costs(three)) == ((1, 7, 3), (3, 21, 9))
    assert server.most_at_once > 1
    assert 0.05 <= three.seconds < 10
    assert {call.reply for call in three.calls} == {answer("")}
