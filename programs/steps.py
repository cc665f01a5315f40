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

A call whose reply cannot be read, or whose server fails, is made once more, past the cache. If that fails too, what
`stand_ins.stand_in` knows for its signature takes its place and the `faults.Fault` is kept; a call that nothing can
stand in for raises its error, with the name of the step.

Do not hold ``dspy.context`` over a ``yield``: it would leak into whatever runs between two steps.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, TypeVar

import dspy

from .faults import Fault, may_be_mended, reply_of
from .stand_ins import stand_in

T = TypeVar("T")
CALLS_AT_ONCE = 32
"""How many calls of one step are under way at once, if a program does not say otherwise."""
_WARMER = 0.3  # temperature of a second try where the first had 0


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


@dataclass(frozen=True)
class Faults:
    """Keeps the faults of one question, and knows the names of the steps.

    Attributes
    ----------
    names
        Of predictors, by their `id`.
    found
        In the order of the algorithm.
    """

    names: Mapping[int, str] = field(default_factory=dict)
    found: list[Fault] = field(default_factory=list)

    @classmethod
    def of(cls, program: dspy.Module) -> "Faults":
        """Return the place for the faults of a program."""
        return cls({id(predictor): name for name, predictor in program.named_predictors()})

    def name(self, predictor: dspy.Module) -> str:
        """Return the name of a step."""
        return self.names.get(id(predictor), type(predictor).__name__)


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


def _call(calls: Sequence[tuple[dspy.Module, Mapping[str, Any]]], at_once: int, faults: Faults) -> list[Any]:
    if len(calls) < 2:
        return _settled([_reply(predictor, inputs, faults) for predictor, inputs in calls], faults)
    traces: list[list[Any]] = [[] for _ in calls]

    def run(predictor: dspy.Module, inputs: Mapping[str, Any], trace: list[Any]) -> Any:
        with _traced_in(trace):
            return _reply(predictor, inputs, faults)

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
    return _settled([future.result() for future in futures], faults)


async def _acall(calls: Sequence[tuple[dspy.Module, Mapping[str, Any]]], at_once: int, faults: Faults) -> list[Any]:
    if len(calls) < 2:
        return _settled([await _areply(predictor, inputs, faults) for predictor, inputs in calls], faults)
    traces: list[list[Any]] = [[] for _ in calls]
    free = asyncio.Semaphore(at_once)

    async def run(predictor: dspy.Module, inputs: Mapping[str, Any], trace: list[Any]) -> Any:
        async with free:
            with _traced_in(trace):
                return await _areply(predictor, inputs, faults)

    running: list[Awaitable[Any]] = [
        run(predictor, inputs, trace) for (predictor, inputs), trace in zip(calls, traces, strict=True)
    ]
    results = await asyncio.gather(*running, return_exceptions=True)
    _merge(traces)
    _raise_first([one if isinstance(one, BaseException) else None for one in results])
    return _settled(results, faults)


@dataclass(frozen=True)
class _Missing:
    """What a call that failed twice gives: the fault beside what stands in for its reply."""

    instead: dspy.Prediction
    fault: Fault


def _reply(predictor: dspy.Module, inputs: Mapping[str, Any], faults: Faults) -> Any:
    try:
        return predictor(**inputs)
    except Exception as error:
        if not may_be_mended(error):
            raise
    try:
        return predictor(**_again(predictor, inputs))
    except Exception as error:
        return _instead(error, predictor, inputs, faults)


async def _areply(predictor: dspy.Module, inputs: Mapping[str, Any], faults: Faults) -> Any:
    try:
        return await predictor.acall(**inputs)
    except Exception as error:
        if not may_be_mended(error):
            raise
    try:
        return await predictor.acall(**_again(predictor, inputs))
    except Exception as error:
        return _instead(error, predictor, inputs, faults)


def _again(predictor: dspy.Module, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a second try, past the cache and warmer than 0: else the reply would be the same."""
    lm = getattr(predictor, "lm", None) or dspy.settings.lm
    settled = lm is not None and lm.kwargs.get("temperature") == 0
    config = {"cache": False, **({"temperature": _WARMER} if settled else {})}
    return {**inputs, "config": {**inputs.get("config", {}), **config}}


def _instead(error: Exception, predictor: dspy.Module, inputs: Mapping[str, Any], faults: Faults) -> _Missing:
    """Return what stands in for the reply of a call, or raise the error of its second try."""
    step = faults.name(predictor)
    signature = getattr(predictor, "signature", None)
    found = stand_in(signature, inputs, reply_of(error)) if signature and may_be_mended(error) else None
    if found is None:
        error.add_note(f"step {step}")
        raise error
    return _Missing(dspy.Prediction(**found.fields), Fault.of(error, step, found.became))


def _settled(results: Sequence[Any], faults: Faults) -> list[Any]:
    """Return the replies, and keep the faults in the order of the calls."""
    faults.found.extend(one.fault for one in results if isinstance(one, _Missing))
    return [one.instead if isinstance(one, _Missing) else one for one in results]


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
