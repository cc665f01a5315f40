"""How long a question waits: round trips to the language model, and the time that the program itself takes.

python -m lab.latency [--program NAME …] [--index NAME] [--questions SOURCE] [--latency 1] [--json FILE]

A server on this machine answers every call after the same time, with the reply that the embedded engine gave before.
A question takes depth × latency for the calls that wait for each other; the rest is the program's own time:
searching, rendering, parsing, and the client's side of the calls. The depth is the whole number of latencies that a
question takes, so a latency must be longer than the program's own time. Programs are timed with threads and in the
event loop, each with an encoder that has not seen the questions.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import sub
from statistics import fmean, median
from typing import Annotated

import dspy
import typer

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.loading import load_questions
from polyqa.language_models import language_model
from polyqa.loading import load, open_index
from polyqa.models import Encoder
from polyqa.programs.registry import REGISTRY

from .results import Index, JsonFile, Programs, Questions, Seed, Table, report, tracked, without_folders
from .servers import prepared, serving

_HEADS = ["program", "calls", "depth", "called", "awaited", "own ms, called", "own ms, awaited"]


def measure(make: Callable[[], dspy.Module], warm_up: str, questions: Sequence[str], latency: float) -> list[float]:
    """Time a program over questions, with threads and in the event loop.

    Parameters
    ----------
    make
        Returns the program, with an encoder that has seen nothing.
    warm_up
        A question that is asked first and not counted.
    latency
        Seconds that every call takes.

    Returns
    -------
    list of float
        Means of a question: calls, depth, latencies called and awaited; medians of own milliseconds, called, awaited.
    """
    rehearsing = make()
    warm, _ = prepared(rehearsing, [warm_up])
    replies, calls = prepared(rehearsing, questions)
    with (
        serving(warm | replies, latency) as address,
        dspy.context(lm=language_model("openai/prepared", api_base=address, cache=False)),
    ):
        called = _called(make(), (warm_up, *questions))[1:]
        awaited = asyncio.run(_awaited(make(), (warm_up, *questions)))[1:]
    own = (1_000 * median(one % latency for one in seconds) for seconds in (called, awaited))
    depth = fmean(seconds // latency for seconds in called)
    return [calls, depth, fmean(called) / latency, fmean(awaited) / latency, *own]


def _fresh(name: str, index: ColBERTIndex) -> dspy.Module:
    return load(name, index=index, encoder=Encoder())


def _called(program: dspy.Module, questions: Sequence[str]) -> list[float]:
    clock = [time.perf_counter()]
    for question in questions:
        program(question=question)
        clock.append(time.perf_counter())
    return list(map(sub, clock[1:], clock))


async def _awaited(program: dspy.Module, questions: Sequence[str]) -> list[float]:
    clock = [time.perf_counter()]
    for question in questions:
        await program.acall(question=question)
        clock.append(time.perf_counter())
    return list(map(sub, clock[1:], clock))


def main(
    program: Programs = None,
    index: Index = "homonyms",
    questions: Questions = "homonyms/dev",
    limit: Annotated[int, typer.Option(min=1, help="A random sample of so many questions.")] = 5,
    seed: Seed = 0,
    latency: Annotated[float, typer.Option(min=0.01, help="Seconds that every call takes.")] = 1.0,
    json_file: JsonFile = None,
) -> None:
    """Time programs against a server that takes the same time for every call."""
    opened = open_index(index)
    first, *sample = [one.question for one in load_questions(questions, limit=limit + 1, seed=seed)]
    if not sample:
        raise PolyqaError(f"{questions} has one question; at least two are needed, the first warms the program up.")
    timed = {}
    for name in tracked(program or REGISTRY, "timing"):
        timed[name] = measure(partial(_fresh, name, opened), first, sample, latency)
    rows = [
        [f"`{name}`", f"{calls:.1f}", f"{depth:.1f}", f"{called:.2f}", f"{awaited:.2f}", *(f"{ms:,.0f}" for ms in own)]
        for name, (calls, depth, called, awaited, *own) in sorted(timed.items(), key=lambda row: (row[1][1], row[1][0]))
    ]
    about = f"{without_folders(questions)}, {len(sample)} questions; index {opened.name} ({opened.fingerprint}); "
    report(f"{about}{latency:g} s a call", Table(heads=_HEADS, rows=rows), json_file)


if __name__ == "__main__":
    typer.run(main)
