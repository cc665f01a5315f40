"""A program's algorithm, written once: a generator of steps, and the two drivers that run it.

A generator says what it wants next and gets the result back, as httpx runs one authentication flow over a
blocking and an asynchronous client::

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        passages = yield from work(self.retrieve, question)
        graded = yield from ask_all([(self.grade, {"question": question, "passage": p.render()}) for p in passages])
        written = yield from ask(self.write, question=question, passages=render_passages(passages))
        return dspy.Prediction(answer=written.answer, …)

`drive` runs it with threads, `adrive` in the event loop. Both give DSPy the same trace: the calls in the
order of the algorithm, not in the order in which they end. An error is raised inside the generator, at the
line that asked, where it may be caught.

A call whose reply cannot be read, or whose server fails, is made once more; the unreadable reply leaves DSPy's cache.
If that fails too, what `stand_ins.stand_in` knows for its signature takes its place and the `faults.Fault` is kept; a
call that nothing can stand in for raises its error, with the name of the step. A server that is down is not a bad
reply: where nothing is heard of it at all, or two steps in a row get no reply, its error is raised.

Do not hold ``dspy.context`` over a ``yield``: it would leak into whatever runs between two steps.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import dspy

from polyqa.base.event_loops import carried, worked
from polyqa.base.needed import ahead, check_needed
from polyqa.base.threads import in_threads
from polyqa.lm.exchanges import exchanging

from .stand_ins import StandIn
from .tries import Call, Faults, Tries, prediction_of

T = TypeVar("T")
CALLS_AT_ONCE = 32
"""How many calls of one step are under way at once, if a program does not say otherwise."""


Given: TypeAlias = tuple[dspy.Module, Mapping[str, Any]] | Call
"""A call as programs write it."""


@dataclass(frozen=True)
class Calls:
    """A step: calls that do not wait for each other, and what is done while their replies are awaited."""

    calls: Sequence[Call]
    meanwhile: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Work:
    """A step: anything else that takes a while, such as a search; the event loop is free meanwhile."""

    function: Callable[[], Any]


@dataclass(frozen=True)
class Ahead:
    """A step: a call, and one that goes out with it in case its reply is needed."""

    first: Call
    second: Call
    needed: Callable[[dspy.Prediction], bool]


Steps: TypeAlias = Generator[Calls | Work | Ahead, Any, T]
"""What `Program.steps` is: yields steps, is sent their results, and returns a value of type T."""


def ask(predictor: dspy.Module, *, otherwise: StandIn | None = None, **inputs: Any) -> Steps[dspy.Prediction]:
    """Call a predictor and return its prediction; for ``otherwise`` see `Call`."""
    (reply,) = yield Calls([Call(predictor, inputs, otherwise)])
    return reply


def ask_all(calls: Sequence[Given]) -> Steps[list[dspy.Prediction]]:
    """Call predictors at once and return their predictions, in the order of the calls.

    If calls fail, the others are finished first (their traces are kept, for optimizers that learn from
    failures); then the first error in the order of the calls is raised.
    """
    return (yield Calls([_as_call(one) for one in calls]))


def ask_ahead(
    first: Given, second: Given, needed: Callable[[dspy.Prediction], bool]
) -> Steps[tuple[dspy.Prediction, dspy.Prediction | None]]:
    """Call two predictors at once, the second in case the first's prediction says that it is needed.

    Where it is not, its reply is not waited for, its prediction is ``None`` and it leaves no trace; it is counted in
    ``Faults.not_needed``. With ``await`` its connection is closed. In a thread nothing is sent again, and what waits
    for a `BoundedLM` stops. If only one call may be under way, the second goes out after the first, if it is needed.
    """
    return (yield Ahead(_as_call(first), _as_call(second), needed))


def ask_while(
    calls: Sequence[Given], function: Callable[..., T], *arguments: Any
) -> Steps[tuple[list[dspy.Prediction], T]]:
    """Call predictors at once, and a function meanwhile; return their predictions and what it returns.

    So a search takes no time of its own where it needs no reply. For errors see `ask_all`; the function's comes last.
    """
    return (yield Calls([_as_call(one) for one in calls], partial(function, *arguments)))


def work(function: Callable[..., T], *arguments: Any) -> Steps[T]:
    """Call a function and return what it returns."""
    return (yield Work(partial(function, *arguments)))


def _as_call(given: Given) -> Call:
    return given if isinstance(given, Call) else Call(*given)


def drive(steps: Steps[T], *, calls_at_once: int = CALLS_AT_ONCE, faults: Faults | None = None) -> T:
    """Run steps to their end and return their value; calls that do not wait for each other run in threads.

    ``faults`` takes the calls that something stands in for.
    """
    faults = faults or Faults()
    resume = partial(next, steps)
    while True:
        try:
            step = resume()
        except StopIteration as end:
            return end.value
        try:
            if isinstance(step, Work):
                result = step.function()
            else:
                call = _call_ahead if isinstance(step, Ahead) else _call
                result = call(step, calls_at_once, faults)
            resume = partial(steps.send, result)
        except BaseException as error:
            resume = partial(steps.throw, error)


async def adrive(steps: Steps[T], *, calls_at_once: int = CALLS_AT_ONCE, faults: Faults | None = None) -> T:
    """Run steps to their end without blocking the event loop; see `drive`."""
    faults = faults or Faults()
    resume = partial(next, steps)
    while True:
        try:
            step = resume()
        except StopIteration as end:
            return end.value
        try:
            if isinstance(step, Work):
                result = await worked(step.function)
            else:
                call = _acall_ahead if isinstance(step, Ahead) else _acall
                result = await call(step, calls_at_once, faults)
            resume = partial(steps.send, result)
        except BaseException as error:
            resume = partial(steps.throw, error)


def _call(step: Calls, at_once: int, faults: Faults) -> Any:
    calls = step.calls
    if len(calls) < 2 and step.meanwhile is None:
        return faults.settle([_reply(call, faults) for call in calls])
    traces: list[list[Any]] = [[] for _ in calls]

    def run(call: Call, trace: list[Any]) -> Any:
        with _traced_in(trace):
            return _reply(call, faults)

    jobs = [partial(run, call, trace) for call, trace in zip(calls, traces, strict=True)]
    # Each thread gets a copy of this context: DSPy's language model, adapter, callbacks and usage tracker.
    with in_threads(min(at_once, len(calls)) + (step.meanwhile is not None)) as start:
        worked = [start(step.meanwhile)] if step.meanwhile is not None else []
        # A call that goes out alone stays in this thread: one that is streamed is listened to here.
        asked = [start(job) for job in jobs] if len(jobs) > 1 else [_done(job) for job in jobs]
        errors = [future.exception() for future in (*asked, *worked)]
    _merge(traces)
    _raise_first(errors)
    replies = faults.settle([future.result() for future in asked])
    return (replies, worked[0].result()) if worked else replies


def _start(pool: ThreadPoolExecutor, function: Callable[[], T]) -> Future[T]:
    return pool.submit(contextvars.copy_context().run, carried(function))


def _done(function: Callable[[], T]) -> Future[T]:
    """Call a function here and now."""
    future: Future[T] = Future()
    try:
        future.set_result(function())
    except Exception as error:
        future.set_exception(error)
    return future


async def _acall(step: Calls, at_once: int, faults: Faults) -> Any:
    calls = step.calls
    if len(calls) < 2 and step.meanwhile is None:
        return faults.settle([await _areply(call, faults) for call in calls])
    traces: list[list[Any]] = [[] for _ in calls]
    free = asyncio.Semaphore(at_once)

    async def run(call: Call, trace: list[Any]) -> Any:
        async with free:
            with _traced_in(trace):
                return await _areply(call, faults)

    running: list[Awaitable[Any]] = [run(call, trace) for call, trace in zip(calls, traces, strict=True)]
    if step.meanwhile is not None:
        running.append(worked(step.meanwhile))
    results = await asyncio.gather(*running, return_exceptions=True)
    _merge(traces)
    _raise_first([one if isinstance(one, BaseException) else None for one in results])
    replies = faults.settle(results[: len(calls)])
    return (replies, results[-1]) if step.meanwhile is not None else replies


def _call_ahead(step: Ahead, at_once: int, faults: Faults) -> tuple[Any, Any]:
    traces: tuple[list[Any], list[Any]] = ([], [])
    not_needed: Future[None] = Future()

    def second() -> Any:
        with ahead(not_needed), _traced_in(traces[1]):
            return _reply(step.second, faults)

    pool = ThreadPoolExecutor(1)
    try:
        early = _start(pool, second) if at_once > 1 else None
        with _traced_in(traces[0]):
            replies = [_reply(step.first, faults)]
        if step.needed(prediction_of(replies[0])):
            replies.append((early or _start(pool, second)).result())
    finally:  # nobody waits for a call that is not needed
        not_needed.set_result(None)
        pool.shutdown(wait=False, cancel_futures=True)
    return _settled(replies, faults, traces, early is not None)


def _settled(replies: Sequence[Any], faults: Faults, traces: Sequence[list[Any]], early: bool) -> tuple[Any, Any]:
    """Return the predictions of a step whose second call may not be needed."""
    _merge(traces[: len(replies)])
    faults.not_needed += early and len(replies) < 2
    first, *second = faults.settle(replies)
    return first, second[0] if second else None


async def _acall_ahead(step: Ahead, at_once: int, faults: Faults) -> tuple[Any, Any]:
    traces: tuple[list[Any], list[Any]] = ([], [])

    async def second() -> Any:
        with _traced_in(traces[1]):
            return await _areply(step.second, faults)

    early = asyncio.create_task(second()) if at_once > 1 else None
    try:
        with _traced_in(traces[0]):
            replies = [await _areply(step.first, faults)]
        if step.needed(prediction_of(replies[0])):
            replies.append(await (early or second()))
    finally:
        if early is not None:
            early.cancel()  # closes the connection, by which providers know that nobody waits for the reply
            await asyncio.gather(early, return_exceptions=True)
    return _settled(replies, faults, traces, early is not None)


def _reply(call: Call, faults: Faults) -> Any:
    tries = Tries(call, faults)
    while True:
        check_needed()
        try:
            with exchanging() as exchange:
                reply = tries.settled(call.predictor(**tries.inputs), exchange)
        except Exception as error:
            if (instead := tries.failed(error, exchange)) is not None:
                return instead
        else:
            return tries.came(reply, exchange)


async def _areply(call: Call, faults: Faults) -> Any:
    tries = Tries(call, faults)
    while True:
        try:
            with exchanging() as exchange:
                reply = tries.settled(await call.predictor.acall(**tries.inputs), exchange)
        except Exception as error:
            if (instead := tries.failed(error, exchange)) is not None:
                return instead
        else:
            return tries.came(reply, exchange)


def _traced_in(trace: list[Any]) -> Any:
    """Return the context in which one of several calls runs: with a trace of its own, if any is kept."""
    return dspy.context() if dspy.settings.trace is None else dspy.context(trace=trace)


def _merge(traces: Sequence[list[Any]]) -> None:
    trace = dspy.settings.trace
    if trace is not None:
        for own in traces:
            trace.extend(own)
        del trace[: max(len(trace) - dspy.settings.max_trace_size, 0)]


def _raise_first(errors: Sequence[BaseException | None]) -> None:
    for error in errors:
        if error is not None:
            raise error
