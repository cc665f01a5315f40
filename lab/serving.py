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

from polyqa.evaluation.loading import load_questions
from polyqa.loading import load, open_index

from .latency_server import rehearse, replies_of, serving
from .results import JsonFile, Measured, Table, command_line, cores, report, today

_LATENCIES = (1.0, 4.0)
_CLIENTS = (1, 64)
_EARLY = 10.0  # seconds after which memory is looked at first: everything is loaded by then


_HEADS = ["language model", "clients", "answers/s", "of what the model allows", "p50 s", "p99 s", "429", "other errors"]
_HEADS += ["memory MB"]


def _serve(index: str, program: str, address: str | None, told: Connection) -> None:
    """Be the server: a process of its own."""
    from polyqa.language_models import language_model
    from polyqa.serving import guard_of, limits_of, serve
    from polyqa.web.shelf import Shelf

    lm = language_model("openai/prepared", api_base=address, cache=False) if address else language_model()
    limits = limits_of(lm.model, seconds=300.0)
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


def measure(
    lm: str, server: tuple[str, int], questions: Sequence[str], clients: int, seconds: float, waits: float | None
) -> list[str]:
    """Measure one crowd; return its row of the table.

    Parameters
    ----------
    lm
        What answers, for people.
    server
        Address and process number.
    waits
        Seconds that a question waits for the language model; ``None`` for the embedded engine.
    """
    took, statuses, lasted, (early, late) = asyncio.run(_measured(*server, questions, clients, seconds))
    answered = len(took) / lasted
    return [
        lm,
        str(clients),
        f"{answered:.1f}",
        "–" if waits is None else f"{100 * answered * waits / clients:.0f}%",
        *(f"{np.quantile(took, share):.2f}" for share in (0.5, 0.99)),
        str(statuses[429]),
        str(sum(number for status, number in statuses.items() if status not in (200, 429))),
        f"{early:,} → {late:,}",
    ]


def prepared_replies(program: str, index: str, questions: Sequence[str]) -> tuple[Mapping[str, str], float]:
    """Return the engine's replies to what a program asks, and how many calls a question takes on average.

    The calls are round trips only for a program whose calls wait for each other.
    """
    ready = load(program, index=index)
    calls = [rehearse(ready, question) for question in questions]
    return replies_of(call for own in calls for call in own), float(np.mean([len(own) for own in calls]))


def main(
    program: Annotated[str, typer.Option(help="A program whose calls wait for each other.")] = "rac",
    index: Annotated[str, typer.Option(help="Name or path of the index.")] = "homonyms",
    questions: Annotated[str, typer.Option(help="Questions, as for polyqa evaluate.")] = "homonyms/dev",
    seconds: Annotated[float, typer.Option(min=15, help="How long each crowd asks.")] = 60.0,
    json_file: JsonFile = None,
) -> None:
    """Measure a server under load."""
    console = Console(stderr=True)
    asked = [one.question for one in load_questions(questions)]
    opened = open_index(index)
    rows = []
    with console.status("the embedded engine"), _server(index, program, None) as server:
        rows += [measure("polyqa/extractive", server, asked, clients, seconds, None) for clients in _CLIENTS]
    with console.status("preparing replies"):
        replies, depth = prepared_replies(program, index, asked)
    for latency in _LATENCIES:
        lm = f"{latency:g} s a call"
        with (
            console.status(f"a language model of {lm}"),
            serving(replies, latency) as address,
            _server(index, program, address) as server,
        ):
            rows += [measure(lm, server, asked, clients, seconds, depth * latency) for clients in _CLIENTS]
    options = {"--program": program, "--index": opened.name, "--questions": questions, "--seconds": f"{seconds:g}"}
    about = f"`{program}`, {questions}, {len(asked)} questions; index {opened.name} ({opened.fingerprint}); {today()}; "
    about += f"{cores()} cores for server, model and clients."
    table = Table(heads=_HEADS, rows=rows)
    report(Measured(about=about, command=command_line("lab.serving", options), tables={"": table}), json_file)


if __name__ == "__main__":
    typer.run(main)
