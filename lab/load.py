"""Whether a server stays within the limits of a user while many ask it.

python -m lab.load [--questions 10000] [--clients 64] [--files 1024]

`polyqa serve`, with so many open files allowed, answers questions that are all different, with a language model behind
it whose replies go into DSPy's cache. Then more connections are opened than it may have, which say nothing, and when
they are gone it is asked once more.
"""

import asyncio
import json
import resource
import socket
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer

from polyqa.base.values import Passage
from polyqa.colbert_index import build_index

from .results import JsonFile, Table, report
from .servers import completion, crowd, polyqa_server, running, send, status_of

_REPLY = (
    "## interpretations\n1. When did the film Solaris come out? | 1972\n\n## answer\nThe film Solaris came out in 1972."
)
_TEXTS = ("Solaris is a film of 1972.", "Solaris is a novel of 1961.", "In frost bees cluster around their stores.")
_HEADS = ["questions", "clients", "open files allowed", "answered", "refused", "other", "most open files"]
_HEADS += ["most memory MB", "most threads", "log kB", "answered after a flood"]


@dataclass
class Load:
    """What came of the questions, and the most that the server took."""

    statuses: Counter[int] = field(default_factory=Counter)
    files: int = 0
    memory: int = 0
    threads: int = 0
    log: int = 0
    recovered: bool = False

    def watch(self, process: int, ended: threading.Event) -> None:
        """Take the highest of what a process takes until an event."""
        while not ended.wait(0.1):
            now = status_of(process)
            self.files = max(self.files, sum(1 for _ in Path(f"/proc/{process}/fd").iterdir()))
            self.memory = max(self.memory, now["VmRSS"] // 1_000)
            self.threads = max(self.threads, now["Threads"])


def _respond(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    send(handler, 200, json.dumps(completion(body["model"], _REPLY)).encode())


def _flood(base: str, connections: int) -> None:
    """Open connections that say nothing, and close them."""
    address = urlsplit(base)
    with ExitStack() as opened:
        for _ in range(connections):
            try:
                opened.enter_context(socket.create_connection((address.hostname, address.port), timeout=3))
            except OSError:  # the server takes no more
                break
        time.sleep(1)


def measure(questions: int, clients: int, files: int, *, flood: int = 0) -> Load:
    """Ask a server of its own, which may have so many files open; return what it took.

    Parameters
    ----------
    flood
        How many connections that say nothing are opened afterwards.
    """
    load, ended = Load(), threading.Event()
    asked = [f"When did Solaris number {number} come out?" for number in range(questions)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        passages = [Passage(pid=str(n), title="Solaris", text=text) for n, text in enumerate(_TEXTS)]
        build_index(passages, folder / "index", progress=False)
        words = ("--program", "rac", "--index", str(folder / "index"))
        with (
            running(_respond) as address,
            (folder / "log").open("wb") as log,
            polyqa_server(
                *words,
                api_base=f"{address}/v1",
                log=log,
                environment={"DSPY_CACHEDIR": str(folder / "cache")},
                before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
            ) as (base, process),
        ):
            watching = threading.Thread(target=load.watch, args=(process, ended))
            watching.start()
            try:
                load.statuses = asyncio.run(crowd(base, asked, clients))
                _flood(base, flood)
                load.recovered = asyncio.run(crowd(base, asked[:1], 1))[200] == 1
            finally:
                ended.set()
                watching.join()
        load.log = (folder / "log").stat().st_size
    return load


def main(questions: int = 10_000, clients: int = 64, files: int = 1_024, json_file: JsonFile = None) -> None:
    """Measure what a server takes while many ask it."""
    load = measure(questions, clients, files, flood=2 * files)
    other = sum(load.statuses.values()) - load.statuses[200] - load.statuses[429]
    numbers = [questions, clients, files, load.statuses[200], load.statuses[429], other]
    numbers += [load.files, load.memory, load.threads, load.log // 1_000]
    row = [*(f"{number:,}" for number in numbers), "yes" if load.recovered else "no"]
    about = "`polyqa serve --program rac` with a language model that replies at once"
    report(about, Table(heads=_HEADS, rows=[row]), json_file)


if __name__ == "__main__":
    typer.run(main)
