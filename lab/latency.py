"""How long a question waits: round trips to the language model, and the time that the program itself takes.

python -m lab.latency [--program NAME …] [--index NAME] [--questions SOURCE] [--latency 1] [--json FILE]

A server on this machine answers every call after the same time, with the reply that the embedded engine gave before:
so no time of the engine's is among what is measured. A question takes depth × latency, and what is over is the
program's own: searching, rendering, parsing, and the client's side of the calls. Both ways to run a program are timed,
with threads and in the event loop, each with an encoder that has not seen the questions.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import dspy
import typer
from rich.console import Console
from rich.progress import track

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import ColBERTIndex
from polyqa.evaluation.dry_run import DryRun, Rehearsal
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.tables import markdown_table
from polyqa.language_models import embedded_engine, language_model
from polyqa.loading import load, open_index
from polyqa.models import Encoder
from polyqa.programs.registry import REGISTRY

from .latency_server import prompt_key, serving
from .results import Part, keep, today, without_folders


class Timing(Part):
    """What a program takes for a question.

    Attributes
    ----------
    calls, depth
        Means of the calls, and of those of them that go out one after the other, counted without a clock.
    called, awaited
        Mean seconds, by threads and in the event loop.
    own_called, own_awaited
        Medians of the seconds that are not waited for the language model: what is over depth × latency.
    """

    calls: float
    depth: float
    called: float
    awaited: float
    own_called: float
    own_awaited: float


class Latency(Part):
    """A measurement.

    Attributes
    ----------
    command, date
        What repeats it, and the ISO date.
    questions, index
        How many questions of what, over which index.
    latency
        Seconds that every call takes.
    programs
        By name.
    """

    command: str
    date: str
    questions: str
    index: str
    latency: float
    programs: dict[str, Timing]

    def table(self) -> str:
        """Return the programs as a table in Markdown, the deepest last."""
        heads = ["program", "calls", "depth", "called", "awaited", "own ms, called", "own ms, awaited"]
        rows = (
            [f"`{name}`", f"{one.calls:.1f}", f"{one.depth:.1f}"]
            + [f"{seconds / self.latency:.2f}" for seconds in (one.called, one.awaited)]
            + [f"{1000 * seconds:,.0f}" for seconds in (one.own_called, one.own_awaited)]
            for name, one in sorted(self.programs.items(), key=lambda row: (row[1].depth, row[1].calls))
        )
        return markdown_table(heads, rows)


def measure(make: Callable[[], dspy.Module], warm_up: str, questions: Sequence[str], latency: float) -> Timing:
    """Time a program over questions, both ways.

    Parameters
    ----------
    make
        Returns the program, with an encoder that has seen nothing.
    warm_up
        Asked first, and not counted.
    questions, latency
        See `Latency`.
    """
    rehearsal = Rehearsal(make(), embedded_engine())
    runs = [rehearsal.run(question) for question in (warm_up, *questions)]
    with serving(_replies(runs), latency) as address:
        lm = language_model("openai/prepared", api_base=address, cache=False)
        with dspy.context(lm=lm):
            called = _called(make(), (warm_up, *questions))[1:]
            awaited = asyncio.run(_awaited(make(), (warm_up, *questions)))[1:]
    counted = runs[1:]
    waited = [run.depth * latency for run in counted]
    figures = {
        "calls": fmean(len(run.calls) for run in counted),
        "depth": fmean(run.depth for run in counted),
        "called": fmean(called),
        "awaited": fmean(awaited),
        "own_called": median(took - wait for took, wait in zip(called, waited, strict=True)),
        "own_awaited": median(took - wait for took, wait in zip(awaited, waited, strict=True)),
    }
    return Timing(**{name: round(value, 4) for name, value in figures.items()})


def _replies(runs: Iterable[DryRun]) -> dict[str, str]:
    return {prompt_key(call.messages): call.reply for run in runs for call in run.calls}


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


def _maker(name: str, index: ColBERTIndex) -> Callable[[], dspy.Module]:
    return lambda: load(name, index=index, encoder=Encoder())


def main(
    program: Annotated[
        list[str] | None, typer.Option(help="A program, several times for several; all if not given.")
    ] = None,
    index: Annotated[str, typer.Option(help="Name or path of the index.")] = "homonyms",
    questions: Annotated[str, typer.Option(help="Questions, as for polyqa evaluate.")] = "homonyms/dev",
    limit: Annotated[int, typer.Option(min=1, help="A random sample of so many questions.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    latency: Annotated[float, typer.Option(min=0.01, help="Seconds that every call takes.")] = 1.0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Time programs against a server that takes the same time for every call."""
    opened = open_index(index)
    chosen = [one.question for one in load_questions(questions, limit=limit + 1, seed=seed)]
    if len(chosen) < 2:
        raise PolyqaError(f"{questions} has one question; at least two are needed, the first warms the program up.")
    warm_up, *asked = chosen
    names = program or list(REGISTRY)
    makers = {name: _maker(name, opened) for name in names}
    timed = {
        name: measure(makers[name], warm_up, asked, latency)
        for name in track(names, "timing", console=Console(stderr=True))
    }
    source = without_folders(questions)
    words = [f"--index {opened.name}", f"--questions {source}", f"--limit {limit}", f"--latency {latency:g}"]
    words += [f"--seed {seed}"] if seed else []
    words += [f"--program {name}" for name in program or ()]
    measured = Latency(
        command=f"python -m lab.latency {' '.join(words)}",
        date=today(),
        questions=f"{source}, {len(asked)} questions",
        index=f"{opened.name} ({opened.fingerprint})",
        latency=latency,
        programs=timed,
    )
    typer.echo(f"{measured.questions}, index {measured.index}, {latency:g} s a call\n")
    typer.echo(measured.table())
    keep(measured, json_file)


if __name__ == "__main__":
    typer.run(main)
