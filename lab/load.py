"""Whether a server stays within the limits of a user while many ask it.

python -m lab.load [--questions 10000] [--clients 64] [--files 1024]

`polyqa serve`, with so many open files allowed, answers questions that are all different, with a language model behind
it whose replies go into DSPy's cache. Then more connections are opened than it may have, which say nothing, and when
they are gone it is asked once more.
"""

import asyncio
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import typer

from polyqa.base.values import Passage
from polyqa.colbert_index import build_index

from .latency_server import chat_server, completion, send_body
from .results import JsonFile, Measured, Table, command_line, report, today

_REPLY = (
    "## interpretations\n1. When did the film Solaris come out? | 1972\n\n## answer\nThe film Solaris came out in 1972."
)
_TEXTS = ("Solaris is a film of 1972.", "Solaris is a novel of 1961.", "In frost bees cluster around their stores.")
_HEADS = ["questions", "clients", "open files allowed", "answered", "refused", "other", "most open files"]
_HEADS += ["most memory MB", "most threads", "log kB", "answered after a flood"]


@dataclass
class Load:
    """What came of the questions, and the most that the server took."""

    statuses: Counter[int]
    files: int = 0
    memory: int = 0
    threads: int = 0
    log: int = 0
    recovered: bool = False

    def look(self, process: int) -> None:
        """Take the highest of what a process takes now."""
        lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
        said = {
            name: int(value.split()[0])
            for name, _, value in (line.partition(":") for line in lines)
            if "kB" in value or name == "Threads"
        }
        self.files = max(self.files, sum(1 for _ in Path(f"/proc/{process}/fd").iterdir()))
        self.memory = max(self.memory, said["VmRSS"] // 1_000)
        self.threads = max(self.threads, said["Threads"])


@contextmanager
def _language_model() -> Iterator[str]:
    def respond(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        send_body(handler, 200, completion(body["model"], _REPLY))

    server = chat_server(respond)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _server(folder: Path, address: str, files: int) -> Iterator[tuple[str, int]]:
    """Yield address and process number of a server, whose log is the file ``log`` in the folder."""
    build_index(
        [Passage(pid=str(n), title="Solaris", text=text) for n, text in enumerate(_TEXTS)],
        folder / "index",
        progress=False,
    )
    command = [sys.executable, "-m", "polyqa", "serve", "--lm", "openai/m", "--api-base", address, "--program", "rac"]
    command += ["--index", str(folder / "index"), "--port", "0"]
    environment = {**os.environ, "DSPY_CACHEDIR": str(folder / "cache"), "OPENAI_API_KEY": "none"}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True, preexec_fn=limit
        ) as process,
    ):
        assert process.stdout is not None
        try:
            said = process.stdout.readline()
            yield next(word.rstrip(".") for word in said.split() if word.startswith("http")), process.pid
        finally:
            process.terminate()


async def _ask(base: str, questions: int, clients: int) -> Counter[int]:
    statuses: Counter[int] = Counter()
    numbers = iter(range(questions))

    async def client(session: httpx.AsyncClient) -> None:
        for number in numbers:
            status = 429
            while status == 429:
                response = await session.post("/ask", json={"question": f"When did Solaris number {number} come out?"})
                status = response.status_code
                statuses[status] += 1
                if status == 429:
                    await asyncio.sleep(float(response.headers["retry-after"]))

    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=base, timeout=120, limits=limits) as session:
        await asyncio.gather(*(client(session) for _ in range(clients)))
    return statuses


def _flood(base: str, connections: int) -> None:
    """Open connections that say nothing, and close them."""
    host, _, port = base.removeprefix("http://").partition(":")
    with ExitStack() as opened:
        for _ in range(connections):
            try:
                opened.enter_context(socket.create_connection((host, int(port)), timeout=3))
            except OSError:  # the server takes no more
                break
        time.sleep(1)


def measure(questions: int, clients: int, files: int, *, flood: int = 0) -> Load:
    """Ask a server of its own; return what it took.

    Parameters
    ----------
    questions, clients
        How many.
    files
        How many files the server may have open.
    flood
        How many connections that say nothing are opened afterwards.
    """
    load = Load(Counter())
    with tempfile.TemporaryDirectory() as name, _language_model() as address, ExitStack() as running:
        base, process = running.enter_context(_server(Path(name), address, files))
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.1):
                load.look(process)

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            load.statuses = asyncio.run(_ask(base, questions, clients))
            _flood(base, flood)
            load.recovered = asyncio.run(_ask(base, 1, 1))[200] == 1
        finally:
            ended.set()
            watching.join()
            load.log = (Path(name) / "log").stat().st_size
    return load


def main(questions: int = 10_000, clients: int = 64, files: int = 1_024, json_file: JsonFile = None) -> None:
    """Measure what a server takes while many ask it."""
    load = measure(questions, clients, files, flood=2 * files)
    other = sum(load.statuses.values()) - load.statuses[200] - load.statuses[429]
    numbers = [questions, clients, files, load.statuses[200], load.statuses[429], other, load.files, load.memory]
    row = [
        *(f"{number:,}" for number in [*numbers, load.threads, load.log // 1_000]),
        "yes" if load.recovered else "no",
    ]
    options = {"--questions": str(questions), "--clients": str(clients), "--files": str(files)}
    about = f"`polyqa serve --program rac` with a language model that replies at once; {today()}."
    table = Table(heads=_HEADS, rows=[row])
    report(Measured(about=about, command=command_line("lab.load", options), tables={"": table}), json_file)


if __name__ == "__main__":
    typer.run(main)
