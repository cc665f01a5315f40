import asyncio
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import dspy
import pytest
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError
from harness import fields, scripted

from polyqa.lm.recorder import Ended, Listener, Recorder, Started, Usage, counting, listening, recording, reply_text
from polyqa.programs import ClosedBook
from polyqa.programs.base import Program
from polyqa.programs.steps import Steps, ask, ask_all

QUESTION = "When did Titanic come out?"


class Chain(Program):
    """Asks so many questions, one after another or at once."""

    def __init__(self, calls: int, *, at_once: bool = False) -> None:
        super().__init__()
        self.ask = ClosedBook()
        self.asked = [{"question": f"Question {at}?"} for at in range(calls)]
        self.at_once = at_once

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        if self.at_once:
            answers = yield from ask_all([(self.ask, one) for one in self.asked])
        else:
            answers = []
            for one in self.asked:
                answers.append((yield from ask(self.ask, **one)))
        return dspy.Prediction(answer=" ".join(one.answer for one in answers))


def answer(prompt: str) -> str:
    return fields(answer="In 1997.")


def costs(recorder: Recorder) -> tuple[int, int, int]:
    return len(recorder.calls), recorder.input_tokens, recorder.output_tokens


def sent(usage: Usage) -> tuple[int, int, int]:
    return usage.requests, usage.input_tokens, usage.output_tokens


def test_a_server_s_questions_do_not_gather_in_the_trace_that_all_share() -> None:
    gathered = list(dspy.settings.trace)
    with scripted(answer) as (lm, _), recording(lm):
        ClosedBook()(question=QUESTION)
        assert [inputs["question"] for _, inputs, _ in dspy.settings.trace] == [QUESTION]
    assert dspy.settings.trace == gathered


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
    assert [call.reply for call in recorder.calls] == ["", ""]  # it is made once more
    assert all(QUESTION in call.messages[-1]["content"] for call in recorder.calls)
    assert costs(recorder) == (2, 0, 0)
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
    assert [(one.requests, one.cached) for one in recorders] == [(1, 0), (0, 1)]
    assert recorders[0].calls[0].reply == recorders[1].calls[0].reply


def test_callbacks_that_were_set_stay_in_force() -> None:
    outer, own = Mock(spec=BaseCallback), Mock(spec=BaseCallback)
    with scripted(answer) as (lm, _):
        lm = lm.copy(callbacks=[own])
        with dspy.context(callbacks=[outer]):
            with recording(lm) as recorder:
                ClosedBook()(question=QUESTION)
            with dspy.context(lm=lm):
                ClosedBook()(question=QUESTION)
    assert len(recorder.calls) == 1
    for heard in (outer, own):
        assert [ended.kwargs["exception"] for ended in heard.on_lm_end.mock_calls] == [None, None]


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


def test_recordings_may_be_nested_and_a_program_may_track_its_own_usage() -> None:
    with scripted(answer) as (lm, _), dspy.track_usage() as around, recording(lm) as outer:
        ClosedBook()(question=QUESTION)
        with recording(lm) as inner:
            ClosedBook()(question=QUESTION)
        with dspy.track_usage() as own:
            ClosedBook()(question=QUESTION)
    assert (costs(inner), costs(outer)) == ((1, 7, 3), (3, 21, 9))
    tokens = [one.get_total_tokens()["openai/scripted"]["prompt_tokens"] for one in (own, around)]
    assert tokens == [7, 21]


def test_every_reply_is_counted_in_the_threads_that_dspy_starts() -> None:
    examples = [dspy.Example(question=f"Question {at}?").with_inputs("question") for at in range(6)]
    usage = Usage()
    evaluate = dspy.Evaluate(devset=examples, metric=lambda *given: 1.0, num_threads=3, display_progress=False)
    with scripted(answer, latency=0.01) as (lm, server), dspy.context(lm=lm), counting(usage):
        evaluate(Chain(2, at_once=True))
        assert sent(usage) == (12, 84, 36)
        for n, whole in ((1, 13), (3, 16)):
            lm("How?", n=n)
            assert sent(usage) == (whole, 7 * whole, 3 * whole)
        with recording(lm) as inner:
            ClosedBook()(question=QUESTION)
    assert sent(inner) == (1, 7, 3)
    assert sent(usage) == (17, 119, 51)
    assert len(server.requests) == 17


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


def test_a_call_tells_who_asked_and_what_it_took() -> None:
    class Two(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = dspy.Predict("question -> answer"), dspy.Predict("question -> answer")

        def forward(self, question: str) -> dspy.Prediction:
            self.first(question=question)
            return self.second(question=question)

    program = Two()
    with scripted(lambda message: fields(answer="yes")) as (lm, _), recording(lm, program) as recorder:
        program(question="One?")
        dspy.Predict("question -> answer")(question="Whose?")
    assert [call.predictor for call in recorder.calls] == ["first", "second", ""]
    assert sum(call.input_tokens or 0 for call in recorder.calls) == recorder.input_tokens > 0
    assert sum(call.output_tokens or 0 for call in recorder.calls) == recorder.output_tokens > 0
    assert all(call.seconds is not None and 0 <= call.seconds <= recorder.seconds for call in recorder.calls)


class Hearing(Listener):
    """Notes every event but the tokens."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def note(self, event: Started | Ended) -> None:
        start = event.start if isinstance(event, Ended) else event
        error = f" {type(event.error).__name__}" if isinstance(event, Ended) and event.error else ""
        told = f"{type(start.instance).__name__} {start.predictor}{error}"
        self.events.append(f"{'end' if isinstance(event, Ended) else 'begin'} {told}".rstrip())

    module_started = module_ended = call_started = call_ended = note  # type: ignore[assignment]


@pytest.mark.parametrize("error", [False, True])
def test_a_listener_hears_what_happens_in_order_with_the_names_of_predictors(error: bool) -> None:
    hearing = Hearing()
    with scripted(lambda message: "nothing" if error else fields(reasoning="So.", answer="yes")) as (lm, _):
        adapter = dspy.ChatAdapter(use_json_adapter_fallback=False)
        with dspy.context(lm=lm, adapter=adapter), listening(hearing), suppress(AdapterParseError):
            dspy.ChainOfThought("question -> answer")(question="One?")
    failed = " AdapterParseError" if error else ""
    assert hearing.events == [
        "begin ChainOfThought",
        "begin Predict predict",
        f"begin {type(lm).__name__} predict",
        f"end {type(lm).__name__} predict",
        f"end Predict predict{failed}",
        f"end ChainOfThought {failed}".rstrip(),
    ]


def test_a_request_of_dspy_3_5_is_recorded_like_messages() -> None:
    with scripted(answer) as (lm, _), recording(lm) as recorder:
        request = dspy.lm15.Request(lm.model, (dspy.lm15.Message.user("Who?"),), system="Be short.")
        reply = lm(request)
    (call,) = recorder.calls
    assert call.messages == [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Who?"}]
    assert call.reply == reply.message.text == answer("")
    assert costs(recorder) == (1, 7, 3)


@pytest.mark.parametrize(
    ("outputs", "text"),
    [(["yes"], "yes"), ([{"text": "yes", "logprobs": None}], "yes"), ([None], ""), ([{"text": None}], ""), (None, "")],
)
def test_the_text_of_a_reply(outputs: Any, text: str) -> None:
    assert reply_text(outputs) == text
