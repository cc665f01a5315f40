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
from statistics import fmean, median
from typing import Annotated, NamedTuple

import dspy
import typer
from rich.console import Console
from rich.progress import track

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.loading import load_questions
from polyqa.language_models import language_model
from polyqa.loading import load, open_index
from polyqa.models import Encoder
from polyqa.programs.registry import REGISTRY

from .latency_server import rehearse, replies_of, serving
from .results import JsonFile, Measured, Table, command_line, report, today, without_folders

_HEADS = ["program", "calls", "depth", "called", "awaited", "own ms, called", "own ms, awaited"]


class Timing(NamedTuple):
    """What a program takes for a question, on average; its own seconds are medians."""

    calls: float
    depth: float
    called: float
    awaited: float
    own_called: float
    own_awaited: float

    def cells(self, name: str, latency: float) -> list[str]:
        """Return a row of the table: seconds as multiples of the latency, own time in milliseconds."""
        waits = [f"{seconds / latency:.2f}" for seconds in (self.called, self.awaited)]
        own = [f"{1000 * seconds:,.0f}" for seconds in (self.own_called, self.own_awaited)]
        return [f"`{name}`", f"{self.calls:.1f}", f"{self.depth:.1f}", *waits, *own]


def measure(make: Callable[[], dspy.Module], warm_up: str, questions: Sequence[str], latency: float) -> Timing:
    """Time a program over questions, both ways.

    Parameters
    ----------
    make
        Returns the program, with an encoder that has seen nothing.
    warm_up
        A question that is asked first and not counted.
    latency
        Seconds that every call takes.
    """
    program = make()
    rehearsed = [rehearse(program, question) for question in (warm_up, *questions)]
    with serving(replies_of(call for calls in rehearsed for call in calls), latency) as address:
        lm = language_model("openai/prepared", api_base=address, cache=False)
        with dspy.context(lm=lm):
            called = _called(make(), (warm_up, *questions))[1:]
            awaited = asyncio.run(_awaited(make(), (warm_up, *questions)))[1:]
    return Timing(
        calls=fmean(map(len, rehearsed[1:])),
        depth=fmean(seconds // latency for seconds in called),
        called=fmean(called),
        awaited=fmean(awaited),
        own_called=median(seconds % latency for seconds in called),
        own_awaited=median(seconds % latency for seconds in awaited),
    )


def _maker(name: str, index: ColBERTIndex) -> Callable[[], dspy.Module]:
    return lambda: load(name, index=index, encoder=Encoder())


def _called(program: dspy.Module, questions: Sequence[str]) -> list[float]:
    seconds = []
    for question in questions:
        started = time.perf_counter()
        program(question=question)
        seconds.append(time.perf_counter() - started)
    return seconds


async def _awaited(program: dspy.Module, questions: Sequence[str]) -> list[float]:
    seconds = []
    for question in questions:
        started = time.perf_counter()
        await program.acall(question=question)
        seconds.append(time.perf_counter() - started)
    return seconds


def main(
    program: Annotated[list[str] | None, typer.Option(help="A program; repeat for more. Default: all.")] = None,
    index: Annotated[str, typer.Option(help="Name or path of the index.")] = "homonyms",
    questions: Annotated[str, typer.Option(help="Questions, as for polyqa evaluate.")] = "homonyms/dev",
    limit: Annotated[int, typer.Option(min=1, help="A random sample of so many questions.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    latency: Annotated[float, typer.Option(min=0.01, help="Seconds that every call takes.")] = 1.0,
    json_file: JsonFile = None,
) -> None:
    """Time programs against a server that takes the same time for every call."""
    opened = open_index(index)
    sample = [one.question for one in load_questions(questions, limit=limit + 1, seed=seed)]
    if len(sample) < 2:
        raise PolyqaError(f"{questions} has one question; at least two are needed, the first warms the program up.")
    timed = {
        name: measure(_maker(name, opened), sample[0], sample[1:], latency)
        for name in track(program or list(REGISTRY), "timing", console=Console(stderr=True))
    }
    source = without_folders(questions)
    options = {"--index": opened.name, "--questions": source, "--limit": limit, "--latency": f"{latency:g}"}
    command = command_line("lab.latency", {**options, "--seed": seed or None, "--program": program})
    about = f"{source}, {len(sample) - 1} questions; index {opened.name} ({opened.fingerprint}); {latency:g} s a call; "
    ranked = sorted(timed.items(), key=lambda row: (row[1].depth, row[1].calls))
    table = Table(heads=_HEADS, rows=[timing.cells(name, latency) for name, timing in ranked])
    report(Measured(about=f"{about}{today()}.", command=command, tables={"": table}), json_file)


if __name__ == "__main__":
    typer.run(main)
