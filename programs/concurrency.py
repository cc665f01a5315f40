"""Runs independent language-model calls at once, so that the caller sees no difference but time.

DSPy's trace (from which optimizers make demos) gets the calls in their order, not in the order in
which they end, and their token usage is counted.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import dspy

T = TypeVar("T")


def _merge(traces: Sequence[list[Any]]) -> None:
    trace = dspy.settings.trace
    if trace is not None:
        for own in traces:
            trace.extend(own)
        del trace[: max(len(trace) - dspy.settings.max_trace_size, 0)]


def run_all(calls: Sequence[Callable[[], T]], *, max_threads: int = 16) -> list[T]:
    """Run the calls in threads and return their results in order; the first error is raised."""
    if len(calls) < 2:
        return [call() for call in calls]
    traces: list[list[Any]] = [[] for _ in calls]

    def run(call: Callable[[], T], trace: list[Any]) -> T:
        if dspy.settings.trace is None:
            return call()
        with dspy.context(trace=trace):
            return call()

    with ThreadPoolExecutor(max_workers=min(max_threads, len(calls))) as pool:
        # Each thread gets a copy of this context: DSPy's language model, adapter and usage tracker.
        futures = [
            pool.submit(contextvars.copy_context().run, run, call, trace)
            for call, trace in zip(calls, traces, strict=True)
        ]
        results = [future.result() for future in futures]
    _merge(traces)
    return results


async def gather_all(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Await the calls at once and return their results in order; the first error is raised."""
    if len(calls) < 2:
        return [await call() for call in calls]
    traces: list[list[Any]] = [[] for _ in calls]

    async def run(call: Callable[[], Awaitable[T]], trace: list[Any]) -> T:
        if dspy.settings.trace is None:
            return await call()
        with dspy.context(trace=trace):
            return await call()

    results = await asyncio.gather(*(run(call, trace) for call, trace in zip(calls, traces, strict=True)))
    _merge(traces)
    return list(results)
