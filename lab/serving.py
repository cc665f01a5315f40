"""What a server answers when many ask at once, and what the language model would allow.

python -m lab.serving [--seconds 60] [--json FILE]

Clients ask the questions of a set one after the other, each as soon as its last answer is there: one client, then 64.
With the embedded engine the server computes its answers on this machine's cores. With a language model that takes the
same time for each call (its replies are the engine's, prepared before), what counts is the server's own work: the model
allows as many questions a second as clients divided by what one question waits for.
"""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import cycle
from typing import Annotated

import numpy as np
import typer

from polyqa.evaluation.loading import load_questions
from polyqa.loading import load, open_index

from .results import Index, JsonFile, Program, Questions, Table, cores, report
from .servers import crowd, polyqa_server, prepared, serving, status_of

_LATENCIES = (None, 1.0, 4.0)  # without one the embedded engine answers
_CLIENTS = (1, 64)
_EARLY = 10.0  # seconds after which memory is looked at first: everything is loaded by then
_HEADS = ["language model", "clients", "answers/s", "of what the model allows", "p50 s", "p99 s", "429", "other errors"]
_HEADS += ["memory MB"]


def _memory(process: int) -> str:
    return f"{status_of(process)['VmRSS'] // 1_000:,}"


def _until(end: float, questions: Sequence[str]) -> Iterator[str]:
    for question in cycle(questions):
        if time.perf_counter() > end:
            return
        yield question


def measure(
    base: str, process: int, questions: Sequence[str], clients: int, seconds: float, waits: float | None
) -> list[str]:
    """Measure one crowd; return its row of the table without the first cell.

    Parameters
    ----------
    waits
        Seconds that a question waits for the language model; ``None`` for the embedded engine.
    """
    early: list[str] = []
    looking = threading.Timer(_EARLY, lambda: early.append(_memory(process)))
    looking.start()
    began = time.perf_counter()
    took, statuses = asyncio.run(crowd(base, _until(began + seconds, questions), clients))
    answered = len(took) / (time.perf_counter() - began)
    looking.join()
    return [
        str(clients),
        f"{answered:.1f}",
        "–" if waits is None else f"{100 * answered * waits / clients:.0f}%",
        *(f"{np.quantile(took, share):.2f}" for share in (0.5, 0.99)),
        str(statuses[429]),
        str(sum(number for status, number in statuses.items() if status not in (200, 429))),
        f"{early[0]} → {_memory(process)}",
    ]


def main(
    program: Program = "rac",
    index: Index = "homonyms",
    questions: Questions = "homonyms/dev",
    seconds: Annotated[float, typer.Option(min=15, help="How long each crowd asks.")] = 60.0,
    json_file: JsonFile = None,
) -> None:
    """Measure a server under load; the calls of the program wait for each other."""
    asked = [one.question for one in load_questions(questions)]
    opened, rows = open_index(index), []
    replies, depth = prepared(load(program, index=index), asked)
    words = ("--index", index, "--program", program, "--seconds", "300")
    for latency in _LATENCIES:
        lm = "polyqa/extractive" if latency is None else f"{latency:g} s a call"
        typer.echo(f"{lm} …", err=True)
        with (
            nullcontext() if latency is None else serving(replies, latency) as address,
            polyqa_server(*words, api_base=address) as (base, process),
        ):
            waits = None if latency is None else depth * latency
            rows += [[lm, *measure(base, process, asked, clients, seconds, waits)] for clients in _CLIENTS]
    about = f"`{program}`, {questions}, {len(asked)} questions; index {opened.name} ({opened.fingerprint}); "
    about += f"{cores()} cores for server, model and clients"
    report(about, Table(heads=_HEADS, rows=rows), json_file)


if __name__ == "__main__":
    typer.run(main)
