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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import dspy

from polyqa.signatures.exchanges import exchanging

from .stand_ins import StandIn
from .tries import Call, Faults, Tries

T = TypeVar("T")
CALLS_AT_ONCE = 32
"""How many calls of one step are under way at once, if a program does not say otherwise."""


Given: TypeAlias = tuple[dspy.Module, Mapping[str, Any]] | Call
"""A call as programs write it."""


@dataclass(frozen=True)
class Calls:
    """A step: calls that do not wait for each other."""

    calls: Sequence[Call]


@dataclass(frozen=True)
class Work:
    """A step: anything else that takes a while, such as a search; the event loop is free meanwhile."""

    function: Callable[[], Any]


Steps: TypeAlias = Generator[Calls | Work, Any, T]
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
    return (yield Calls([one if isinstance(one, Call) else Call(*one) for one in calls]))


def work(function: Callable[..., T], *arguments: Any) -> Steps[T]:
    """Call a function and return what it returns."""
    return (yield Work(partial(function, *arguments)))


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
            result = step.function() if isinstance(step, Work) else _call(step.calls, calls_at_once, faults)
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
            result = (
                await asyncio.to_thread(step.function)
                if isinstance(step, Work)
                else await _acall(step.calls, calls_at_once, faults)
            )
            resume = partial(steps.send, result)
        except BaseException as error:
            resume = partial(steps.throw, error)


def _call(calls: Sequence[Call], at_once: int, faults: Faults) -> list[Any]:
    if len(calls) < 2:
        return faults.settle([_reply(call, faults) for call in calls])
    traces: list[list[Any]] = [[] for _ in calls]

    def run(call: Call, trace: list[Any]) -> Any:
        with _traced_in(trace):
            return _reply(call, faults)

    pool = ThreadPoolExecutor(min(at_once, len(calls)))
    try:
        # Each thread gets a copy of this context: DSPy's language model, adapter, callbacks and usage tracker.
        futures = [
            pool.submit(contextvars.copy_context().run, run, call, trace)
            for call, trace in zip(calls, traces, strict=True)
        ]
        errors = [future.exception() for future in futures]
    finally:  # whoever is interrupted while waiting starts no further call
        pool.shutdown(wait=True, cancel_futures=True)
    _merge(traces)
    _raise_first(errors)
    return faults.settle([future.result() for future in futures])


async def _acall(calls: Sequence[Call], at_once: int, faults: Faults) -> list[Any]:
    if len(calls) < 2:
        return faults.settle([await _areply(call, faults) for call in calls])
    traces: list[list[Any]] = [[] for _ in calls]
    free = asyncio.Semaphore(at_once)

    async def run(call: Call, trace: list[Any]) -> Any:
        async with free:
            with _traced_in(trace):
                return await _areply(call, faults)

    running: list[Awaitable[Any]] = [run(call, trace) for call, trace in zip(calls, traces, strict=True)]
    results = await asyncio.gather(*running, return_exceptions=True)
    _merge(traces)
    _raise_first([one if isinstance(one, BaseException) else None for one in results])
    return faults.settle(results)


def _reply(call: Call, faults: Faults) -> Any:
    tries = Tries(call, faults)
    while True:
        try:
            with exchanging() as exchange:
                reply = call.predictor(**tries.inputs)
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
                reply = await call.predictor.acall(**tries.inputs)
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
