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
line that asked, where it may be caught. What happens to a call that fails is decided in `polyqa.lm.attempts`.

Do not hold ``dspy.context`` over a ``yield``: it would leak into whatever runs between two steps.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import dspy

from polyqa.base.event_loops import worked
from polyqa.base.threads import in_threads
from polyqa.lm.attempts import CallLog
from polyqa.lm.calls import Fallback

T = TypeVar("T")
CALLS_AT_ONCE = 32
"""How many calls of one step are under way at once."""


CallTuple: TypeAlias = tuple[dspy.Module, Mapping[str, Any]] | tuple[dspy.Module, Mapping[str, Any], Fallback | None]
"""A predictor and its inputs; the fallback takes the place of a failed reply, see `polyqa.lm.attempts.CallLog.call`."""


@dataclass(frozen=True)
class Calls:
    """A step: calls that do not wait for each other, and what is done meanwhile, such as a search; or that alone."""

    calls: Sequence[CallTuple] = ()
    meanwhile: Callable[[], Any] | None = None


Steps: TypeAlias = Generator[Calls, Any, T]
"""What `Program.steps` is: yields steps, is sent their results, and returns a value of type T."""


def ask(predictor: dspy.Module, *, fallback: Fallback | None = None, **inputs: Any) -> Steps[dspy.Prediction]:
    """Call a predictor and return its prediction; for ``fallback`` see `CallTuple`."""
    ((reply,), _) = yield Calls([(predictor, inputs, fallback)])
    return reply


def ask_all(calls: Sequence[CallTuple]) -> Steps[list[dspy.Prediction]]:
    """Call predictors at once and return their predictions, in the order of the calls.

    If calls fail, the others are finished first (their traces are kept, for optimizers that learn from
    failures); then the first error in the order of the calls is raised.
    """
    replies, _ = yield Calls(calls)
    return replies


def ask_while(
    calls: Sequence[CallTuple], function: Callable[..., T], *arguments: Any
) -> Steps[tuple[list[dspy.Prediction], T]]:
    """Call predictors at once, and a function meanwhile; return their predictions and what it returns.

    So a search takes no time of its own where it needs no reply. For errors see `ask_all`; the function's comes last.
    """
    return (yield Calls(calls, partial(function, *arguments)))


def work(function: Callable[..., T], *arguments: Any) -> Steps[T]:
    """Call a function and return what it returns; the event loop is free meanwhile."""
    _, result = yield Calls(meanwhile=partial(function, *arguments))
    return result


def drive(steps: Steps[T], log: CallLog | None = None) -> T:
    """Run steps to their end and return their value; calls that do not wait for each other run in threads.

    ``log`` makes the calls and records those that fail.
    """
    log, resume = log or CallLog(), partial(next, steps)
    while True:
        try:
            step = _checked(resume())
        except StopIteration as end:
            return end.value
        try:
            resume = partial(steps.send, _call_all(step, log))
        except BaseException as error:
            resume = partial(steps.throw, error)


async def adrive(steps: Steps[T], log: CallLog | None = None) -> T:
    """Run steps to their end without blocking the event loop; see `drive`."""
    log, resume = log or CallLog(), partial(next, steps)
    while True:
        try:
            step = _checked(resume())
        except StopIteration as end:
            return end.value
        try:
            resume = partial(steps.send, await _acall_all(step, log))
        except BaseException as error:
            resume = partial(steps.throw, error)


def _checked(step: object) -> Calls:
    """Return what steps yielded, if it is a step: ``yield`` without ``from`` gives a generator."""
    if isinstance(step, Calls):
        return step
    raise TypeError(f"Steps come after `yield from`: ask, ask_all, ask_while or work; a {type(step).__name__} is none.")


def _call_all(step: Calls, log: CallLog) -> tuple[list[dspy.Prediction], Any]:
    """Return the predictions of a step's calls, and what its function returns."""
    with _traces(len(step.calls)) as traces:

        def run(call: CallTuple, trace: list[Any]) -> Any:
            with _traced_in(trace):
                return log.call(*call)

        jobs = [partial(run, call, trace) for call, trace in zip(step.calls, traces, strict=True)]
        # Each thread gets a copy of this context: DSPy's language model, adapter, callbacks and usage tracker.
        threads = min(CALLS_AT_ONCE, len(jobs)) + (step.meanwhile is not None)
        with in_threads(max(threads, 1)) as start:
            # What is done alone stays in this thread: a call that is streamed is listened to here.
            meanwhile = [(start if jobs else _done)(step.meanwhile)] if step.meanwhile is not None else []
            futures = [start(job) if len(jobs) > 1 else _done(job) for job in jobs]
            errors = [future.exception() for future in (*futures, *meanwhile)]
    _raise_first(errors)
    return log.end_step([future.result() for future in futures]), next((one.result() for one in meanwhile), None)


async def _acall_all(step: Calls, log: CallLog) -> tuple[list[dspy.Prediction], Any]:
    """Return the predictions of a step's calls, and what its function returns."""
    free = asyncio.Semaphore(CALLS_AT_ONCE)
    with _traces(len(step.calls)) as traces:

        async def run(call: CallTuple, trace: list[Any]) -> Any:
            async with free:
                with _traced_in(trace):
                    return await log.acall(*call)

        running: list[Awaitable[Any]] = [run(call, trace) for call, trace in zip(step.calls, traces, strict=True)]
        if step.meanwhile is not None:
            running.append(worked(step.meanwhile))
        results: list[Any] = await asyncio.gather(*running, return_exceptions=True)
    _raise_first(results)
    count = len(step.calls)
    return log.end_step(results[:count]), next(iter(results[count:]), None)


def _done(function: Callable[[], T]) -> Future[T]:
    """Call a function here and now."""
    future: Future[T] = Future()
    try:
        future.set_result(function())
    except Exception as error:
        future.set_exception(error)
    return future


def _traced_in(trace: list[Any]) -> Any:
    """Return the context in which one of several calls runs: with a trace of its own, if any is kept."""
    return dspy.context() if dspy.settings.trace is None else dspy.context(trace=trace)


@contextmanager
def _traces(count: int) -> Iterator[list[list[Any]]]:
    """Give a trace to each of several calls; at the end DSPy's own trace has them in the order of the calls."""
    traces: list[list[Any]] = [[] for _ in range(count)]
    yield traces
    trace = dspy.settings.trace
    if trace is not None:
        for calls in traces:
            trace.extend(calls)
        del trace[: max(len(trace) - dspy.settings.max_trace_size, 0)]


def _raise_first(results: Sequence[Any]) -> None:
    for result in results:
        if isinstance(result, BaseException):
            raise result
