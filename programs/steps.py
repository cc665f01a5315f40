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

T = TypeVar("T")
CALLS_AT_ONCE = 32
"""How many calls of one step are under way at once, if a program does not say otherwise."""


@dataclass(frozen=True)
class Calls:
    """A step: calls of predictors that do not wait for each other, each with its inputs."""

    calls: Sequence[tuple[dspy.Module, Mapping[str, Any]]]


@dataclass(frozen=True)
class Work:
    """A step: anything else that takes a while, such as a search; the event loop is free meanwhile."""

    function: Callable[[], Any]


Steps: TypeAlias = Generator[Calls | Work, Any, T]
"""What `Program.steps` is: yields steps, is sent their results, and returns a value of type T."""


def ask(predictor: dspy.Module, **inputs: Any) -> Steps[dspy.Prediction]:
    """Call a predictor and return its prediction."""
    (reply,) = yield Calls([(predictor, inputs)])
    return reply


def ask_all(calls: Sequence[tuple[dspy.Module, Mapping[str, Any]]]) -> Steps[list[dspy.Prediction]]:
    """Call predictors at once and return their predictions, in the order of the calls.

    If calls fail, the others are finished first (their traces are kept, for optimizers that learn from
    failures); then the first error in the order of the calls is raised.
    """
    return (yield Calls(calls))


def work(function: Callable[..., T], *arguments: Any) -> Steps[T]:
    """Call a function and return what it returns."""
    return (yield Work(partial(function, *arguments)))


def drive(steps: Steps[T], *, calls_at_once: int = CALLS_AT_ONCE) -> T:
    """Run steps to their end and return their value; calls that do not wait for each other run in threads."""
    resume = partial(next, steps)
    while True:
        try:
            step = resume()
        except StopIteration as end:
            return end.value
        try:
            result = step.function() if isinstance(step, Work) else _call(step.calls, calls_at_once)
            resume = partial(steps.send, result)
        except BaseException as error:
            resume = partial(steps.throw, error)


async def adrive(steps: Steps[T], *, calls_at_once: int = CALLS_AT_ONCE) -> T:
    """Run steps to their end without blocking the event loop; see `drive`."""
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
                else await _acall(step.calls, calls_at_once)
            )
            resume = partial(steps.send, result)
        except BaseException as error:
            resume = partial(steps.throw, error)


def _call(calls: Sequence[tuple[dspy.Module, Mapping[str, Any]]], at_once: int) -> list[Any]:
    if len(calls) < 2:
        return [predictor(**inputs) for predictor, inputs in calls]
    traces: list[list[Any]] = [[] for _ in calls]

    def run(predictor: dspy.Module, inputs: Mapping[str, Any], trace: list[Any]) -> Any:
        with _traced_in(trace):
            return predictor(**inputs)

    pool = ThreadPoolExecutor(min(at_once, len(calls)))
    try:
        # Each thread gets a copy of this context: DSPy's language model, adapter, callbacks and usage tracker.
        futures = [
            pool.submit(contextvars.copy_context().run, run, predictor, inputs, trace)
            for (predictor, inputs), trace in zip(calls, traces, strict=True)
        ]
        errors = [future.exception() for future in futures]
    finally:  # whoever is interrupted while waiting starts no further call
        pool.shutdown(wait=True, cancel_futures=True)
    _merge(traces)
    _raise_first(errors)
    return [future.result() for future in futures]


async def _acall(calls: Sequence[tuple[dspy.Module, Mapping[str, Any]]], at_once: int) -> list[Any]:
    if len(calls) < 2:
        return [await predictor.acall(**inputs) for predictor, inputs in calls]
    traces: list[list[Any]] = [[] for _ in calls]
    free = asyncio.Semaphore(at_once)

    async def run(predictor: dspy.Module, inputs: Mapping[str, Any], trace: list[Any]) -> Any:
        async with free:
            with _traced_in(trace):
                return await predictor.acall(**inputs)

    running: list[Awaitable[Any]] = [
        run(predictor, inputs, trace) for (predictor, inputs), trace in zip(calls, traces, strict=True)
    ]
    results = await asyncio.gather(*running, return_exceptions=True)
    _merge(traces)
    _raise_first([one if isinstance(one, BaseException) else None for one in results])
    return results


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
