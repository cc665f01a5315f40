"""What a server answers when many ask at once, and what the language model would allow.

python -m lab.serving [--seconds 60] [--json FILE]

Clients ask the questions of a set one after the other, each as soon as its last answer is there: one client, then 64.
With the embedded engine the server computes its answers on this machine's cores. With a language model that takes the
same time for each call (its replies are the engine's, prepared before), what counts is the server's own work: the model
allows as many questions a second as clients divided by what one question waits for.
"""

import asyncio
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated

import httpx
import numpy as np
import typer
from rich.console import Console

from polyqa.evaluation.dry_run import Rehearsal
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.tables import markdown_table
from polyqa.language_models import embedded_engine
from polyqa.loading import load, open_index

from .latency_server import prompt_key, serving
from .results import Part, keep, today

_LATENCIES = (1.0, 4.0)
_CLIENTS = (1, 64)
_EARLY = 10.0  # seconds after which memory is looked at first: everything is loaded by then


class Load(Part):
    """What one crowd of clients got.

    Attributes
    ----------
    lm
        What answered: the embedded engine, or a model of so many seconds a call.
    clients, seconds
        How many asked at once, for how long.
    answered
        Questions that were answered, per second.
    allowed
        Share of what the language model allows; ``None`` for the embedded engine.
    p50, p99
        Seconds from question to answer, half of them and 99 of 100.
    refused, failed
        Answers with status 429, and others that are no answers.
    early, late
        Memory of the server in MB, after 10 seconds and at the end.
    """

    lm: str
    clients: int
    seconds: float
    answered: float
    allowed: float | None
    p50: float
    p99: float
    refused: int
    failed: int
    early: int
    late: int


class Serving(Part):
    """A measurement, with the command that repeats it."""

    command: str
    date: str
    questions: str
    index: str
    program: str
    cores: int
    loads: list[Load]

    def table(self) -> str:
        """Return the crowds as a table in Markdown."""
        heads = ["language model", "clients", "answers/s", "of what the model allows", "p50 s", "p99 s"]
        heads += ["429", "other errors", "memory MB"]
        rows = [
            [
                one.lm,
                str(one.clients),
                f"{one.answered:.1f}",
                "–" if one.allowed is None else f"{100 * one.allowed:.0f}%",
                f"{one.p50:.2f}",
                f"{one.p99:.2f}",
                str(one.refused),
                str(one.failed),
                f"{one.early:,} → {one.late:,}",
            ]
            for one in self.loads
        ]
        return markdown_table(heads, rows)


def _serve(index: str, program: str, address: str | None, told: Connection) -> None:
    """Be the server: a process of its own."""
    from polyqa.language_models import language_model
    from polyqa.serving import guard_of, limits_of, serve
    from polyqa.web.shelf import Shelf

    lm = language_model("openai/prepared", api_base=address, cache=False) if address else language_model()
    limits = limits_of(lm.model, None, 64, 300.0)
    serve(Shelf(lm, indexes=[index], programs=[program]), guard_of("127.0.0.1"), limits, port=0, say=told.send)


@contextmanager
def _server(index: str, program: str, address: str | None) -> Iterator[tuple[str, int]]:
    """Yield the address and the process number of a server."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(index, program, address, there))
    process.start()
    try:
        said = here.recv()
        assert process.pid is not None
        yield next(word.rstrip(".") for word in said.split() if word.startswith("http")), process.pid
    finally:
        process.terminate()
        process.join()


def _memory(pid: int) -> int:
    """Return the resident memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1_000


async def _crowd(base: str, questions: Sequence[str], clients: int, seconds: float) -> tuple[list[float], Counter[int]]:
    """Have clients ask for some time; return how long each answer took, and how often each status came."""
    took: list[float] = []
    statuses: Counter[int] = Counter()
    numbers = count()
    end = time.perf_counter() + seconds
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)

    async def ask(client: httpx.AsyncClient) -> None:
        while time.perf_counter() < end:
            question = questions[next(numbers) % len(questions)]
            began = time.perf_counter()
            response = await client.post("/ask", json={"question": question})
            statuses[response.status_code] += 1
            if response.status_code == 200:
                took.append(time.perf_counter() - began)
            elif response.status_code == 429:
                await asyncio.sleep(float(response.headers["retry-after"]))

    async with httpx.AsyncClient(base_url=base, timeout=600, limits=limits) as client:
        await asyncio.gather(*(ask(client) for _ in range(clients)))
    return took, statuses


async def _measured(
    base: str, pid: int, questions: Sequence[str], clients: int, seconds: float
) -> tuple[list[float], Counter[int], float, tuple[int, int]]:
    early = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(_EARLY, lambda: early.set_result(_memory(pid)))
    began = time.perf_counter()
    took, statuses = await _crowd(base, questions, clients, seconds)
    return took, statuses, time.perf_counter() - began, (await early, _memory(pid))


def load_of(
    lm: str, base: str, pid: int, questions: Sequence[str], clients: int, seconds: float, waits: float | None
) -> Load:
    """Measure one crowd.

    Parameters
    ----------
    waits
        Seconds that a question waits for the language model; ``None`` for the embedded engine.
    """
    took, statuses, lasted, (early, late) = asyncio.run(_measured(base, pid, questions, clients, seconds))
    answered = len(took) / lasted
    return Load(
        lm=lm,
        clients=clients,
        seconds=seconds,
        answered=round(answered, 2),
        allowed=None if waits is None else round(answered * waits / clients, 3),
        p50=round(float(np.quantile(took, 0.5)), 3),
        p99=round(float(np.quantile(took, 0.99)), 3),
        refused=statuses[429],
        failed=sum(number for status, number in statuses.items() if status not in (200, 429)),
        early=early,
        late=late,
    )


def prepared_replies(program: str, index: str, questions: Sequence[str]) -> tuple[Mapping[str, str], float]:
    """Return the engine's replies to what a program asks, and how many round trips a question takes on average."""
    rehearsal = Rehearsal(load(program, index=index), embedded_engine())
    runs = [rehearsal.run(question) for question in questions]
    replies = {prompt_key(call.messages): call.reply for run in runs for call in run.calls}
    return replies, float(np.mean([run.depth for run in runs]))


def main(
    program: Annotated[str, typer.Option(help="The program that is asked.")] = "rac",
    index: Annotated[str, typer.Option(help="Name or path of the index.")] = "homonyms",
    questions: Annotated[str, typer.Option(help="Questions, as for polyqa evaluate.")] = "homonyms/dev",
    seconds: Annotated[float, typer.Option(min=15, help="How long each crowd asks.")] = 60.0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Measure a server under load."""
    import os

    console = Console(stderr=True)
    asked = [one.question for one in load_questions(questions)]
    opened = open_index(index)
    loads = []
    with console.status("the embedded engine"), _server(index, program, None) as (base, pid):
        for clients in _CLIENTS:
            loads.append(load_of("polyqa/extractive", base, pid, asked, clients, seconds, None))
    with console.status("preparing replies"):
        replies, depth = prepared_replies(program, index, asked)
    for latency in _LATENCIES:
        with (
            console.status(f"a language model of {latency:g} s a call"),
            serving(replies, latency) as address,
            _server(index, program, address) as (base, pid),
        ):
            for clients in _CLIENTS:
                loads.append(load_of(f"{latency:g} s a call", base, pid, asked, clients, seconds, depth * latency))
    words = [f"--program {program}", f"--index {opened.name}", f"--questions {questions}", f"--seconds {seconds:g}"]
    measured = Serving(
        command=f"python -m lab.serving {' '.join(words)}",
        date=today(),
        questions=f"{questions}, {len(asked)} questions",
        index=f"{opened.name} ({opened.fingerprint})",
        program=program,
        cores=len(os.sched_getaffinity(0)),
        loads=loads,
    )
    typer.echo(measured.table())
    keep(measured, json_file)


if __name__ == "__main__":
    typer.run(main)
