import asyncio
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import dspy
import pytest

from polyqa.programs.concurrency import gather_all, run_all

QUESTIONS = [f"question {number}" for number in range(5)]
WAIT = 30  # seconds until a test gives up; none of them takes so long


@pytest.fixture
def lm(table_lm: Any) -> Iterator[dspy.LM]:
    lm = table_lm({question: {"answer": f"answer to {question}"} for question in QUESTIONS}).lm
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        yield lm


@pytest.fixture
def predict() -> dspy.Predict:
    return dspy.Predict("question -> answer")


class Backwards:
    """Calls that can only end in the reverse of their order, and only if all run at once."""

    def __init__(self, predict: dspy.Predict) -> None:
        self.predict = predict
        self.ended: list[str] = []
        self.turns = [threading.Event() for _ in QUESTIONS]

    def call(self, number: int) -> str:
        later = number + 1
        assert later == len(QUESTIONS) or self.turns[later].wait(WAIT)
        answer = self.predict(question=QUESTIONS[number]).answer
        self.ended.append(QUESTIONS[number])
        self.turns[number].set()
        return answer

    @property
    def calls(self) -> list[Callable[[], str]]:
        return [partial(self.call, number) for number in range(len(QUESTIONS))]


class AsyncBackwards:
    def __init__(self, predict: dspy.Predict) -> None:
        self.predict = predict
        self.ended: list[str] = []
        self.turns = [asyncio.Event() for _ in QUESTIONS]

    async def call(self, number: int) -> str:
        later = number + 1
        if later < len(QUESTIONS):
            await asyncio.wait_for(self.turns[later].wait(), WAIT)
        answer = (await self.predict.acall(question=QUESTIONS[number])).answer
        self.ended.append(QUESTIONS[number])
        self.turns[number].set()
        return answer

    @property
    def calls(self) -> list[Callable[[], Any]]:
        return [partial(self.call, number) for number in range(len(QUESTIONS))]


def backwards_in_threads(predict: dspy.Predict) -> tuple[list[str], list[str]]:
    backwards = Backwards(predict)
    return run_all(backwards.calls), backwards.ended


def backwards_in_a_loop(predict: dspy.Predict) -> tuple[list[str], list[str]]:
    async def run() -> tuple[list[str], list[str]]:
        backwards = AsyncBackwards(predict)
        return await gather_all(backwards.calls), backwards.ended

    return asyncio.run(run())


both = pytest.mark.parametrize("run", [backwards_in_threads, backwards_in_a_loop], ids=["threads", "loop"])


@both
def test_results_keep_the_order_of_the_calls(run: Callable[..., Any], lm: dspy.LM, predict: Any) -> None:
    results, ended = run(predict)
    assert ended == QUESTIONS[::-1]
    assert results == [f"answer to {question}" for question in QUESTIONS]


@both
def test_the_trace_keeps_the_order_of_the_calls(run: Callable[..., Any], lm: dspy.LM, predict: Any) -> None:
    earlier = ("an earlier call", {}, None)
    with dspy.context(trace=[earlier]):
        _, ended = run(predict)
        trace = dspy.settings.trace
    assert ended == QUESTIONS[::-1]
    assert trace[0] == earlier
    assert [inputs["question"] for _, inputs, _ in trace[1:]] == QUESTIONS
    assert [prediction.answer for _, _, prediction in trace[1:]] == [f"answer to {q}" for q in QUESTIONS]
    assert all(predictor is predict for predictor, _, _ in trace[1:])


@both
def test_without_a_trace_nothing_is_recorded(run: Callable[..., Any], lm: dspy.LM, predict: Any) -> None:
    with dspy.context(trace=None):
        results, _ = run(predict)
        assert dspy.settings.trace is None
    assert len(results) == len(QUESTIONS)


@both
def test_the_trace_does_not_grow_beyond_its_limit(run: Callable[..., Any], lm: dspy.LM, predict: Any) -> None:
    with dspy.context(trace=[], max_trace_size=3):
        run(predict)
        trace = dspy.settings.trace
    assert [inputs["question"] for _, inputs, _ in trace] == QUESTIONS[-3:]


@both
def test_usage_is_counted(run: Callable[..., Any], lm: dspy.LM, predict: Any) -> None:
    with dspy.track_usage() as tracker:
        run(predict)
    usage = tracker.get_total_tokens()["tests/table"]
    assert usage["prompt_tokens"] == 7 * len(QUESTIONS)
    assert usage["completion_tokens"] == 3 * len(QUESTIONS)


class Asking(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.predict = dspy.Predict("question -> answer")

    def forward(self, **_: Any) -> dspy.Prediction:
        return dspy.Prediction(answers=run_all([partial(self.predict, question=question) for question in QUESTIONS]))

    async def aforward(self, **_: Any) -> dspy.Prediction:
        calls = [partial(self.predict.acall, question=question) for question in QUESTIONS]
        return dspy.Prediction(answers=await gather_all(calls))


@pytest.mark.parametrize("call", [lambda m: m(), lambda m: asyncio.run(m.acall())], ids=["sync", "async"])
def test_a_prediction_knows_the_usage_of_all_its_calls(call: Callable[..., Any], lm: dspy.LM) -> None:
    with dspy.context(track_usage=True):
        usage = call(Asking()).get_lm_usage()
    assert usage["tests/table"]["prompt_tokens"] == 7 * len(QUESTIONS)
    assert usage["tests/table"]["completion_tokens"] == 3 * len(QUESTIONS)


def test_more_calls_than_threads(lm: dspy.LM, predict: Any) -> None:
    calls = [partial(predict, question=question) for question in QUESTIONS * 4]
    with dspy.context(trace=[]):
        results = run_all(calls, max_threads=2)
        trace = dspy.settings.trace
    assert [result.answer for result in results] == [f"answer to {question}" for question in QUESTIONS * 4]
    assert [inputs["question"] for _, inputs, _ in trace] == QUESTIONS * 4


def test_calls_in_calls_keep_their_order(lm: dspy.LM, predict: Any) -> None:
    def pair(first: int) -> list[str]:
        inner = [partial(predict, question=QUESTIONS[number]) for number in (first, first + 1)]
        return [result.answer for result in run_all(inner)]

    with dspy.context(trace=[]):
        results = run_all([partial(pair, 0), partial(pair, 2)])
        trace = dspy.settings.trace
    assert results == [
        ["answer to question 0", "answer to question 1"],
        ["answer to question 2", "answer to question 3"],
    ]
    assert [inputs["question"] for _, inputs, _ in trace] == QUESTIONS[:4]


@pytest.mark.parametrize("count", [0, 1])
def test_few_calls(lm: dspy.LM, predict: Any, count: int) -> None:
    expected = [f"answer to {question}" for question in QUESTIONS[:count]]
    with dspy.context(trace=[]):
        results = run_all([partial(predict, question=question) for question in QUESTIONS[:count]])
        assert [result.answer for result in results] == expected
        assert [inputs["question"] for _, inputs, _ in dspy.settings.trace] == QUESTIONS[:count]

    async def gathered() -> list[str]:
        calls = [partial(predict.acall, question=question) for question in QUESTIONS[:count]]
        return [result.answer for result in await gather_all(calls)]

    assert asyncio.run(gathered()) == expected


class Boom(RuntimeError):
    pass


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("others", [0, 3])
def test_an_error_reaches_the_caller_of_run_all(lm: dspy.LM, predict: Any, place: int, others: int) -> None:
    def fail() -> Any:
        raise Boom("no answer")

    calls: list[Callable[[], Any]] = [partial(predict, question=question) for question in QUESTIONS[:others]]
    calls.insert(place, fail)
    with pytest.raises(Boom, match="no answer"):
        run_all(calls)


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("others", [0, 3])
def test_an_error_reaches_the_caller_of_gather_all(lm: dspy.LM, predict: Any, place: int, others: int) -> None:
    async def fail() -> Any:
        raise Boom("no answer")

    calls: list[Callable[[], Any]] = [partial(predict.acall, question=question) for question in QUESTIONS[:others]]
    calls.insert(place, fail)
    with pytest.raises(Boom, match="no answer"):
        asyncio.run(gather_all(calls))


def test_of_two_errors_the_first_in_order_is_raised() -> None:
    second_failed = threading.Event()

    def first() -> None:
        assert second_failed.wait(WAIT)
        raise Boom("first")

    def second() -> None:
        second_failed.set()
        raise Boom("second")

    with pytest.raises(Boom, match="first"):
        run_all([first, second])


def test_the_settings_of_the_caller_hold_in_the_calls(lm: dspy.LM) -> None:
    with dspy.context(rollout_of_this_test="seven"):
        assert run_all([lambda: dspy.settings.get("rollout_of_this_test")] * 3) == ["seven"] * 3
