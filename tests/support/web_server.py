"""The real server of `polyqa serve` on a free port of localhost, in a thread."""

import json
import re
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from polyqa.colbert_index import ColBERTIndex
from polyqa.extractive import embedded_lm
from polyqa.web.app import make_app
from polyqa.web.guard import Guard, Guarded
from polyqa.web.limits import WebLimits
from polyqa.web.run import server
from polyqa.web.service import Service
from polyqa.web.shelf import Shelf


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of a stream, with their data."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


@dataclass
class Web:
    """A server that runs: where it is, and what it is made of."""

    base: str
    service: Service
    guarded: Guarded

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.base.removeprefix("http://").partition(":")
        return host, int(port)


@contextmanager
def started(*command: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start `polyqa serve` in a process of its own; give its address, and the process, which is killed at the end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = next(line for line in process.stdout if line.startswith("polyqa is at"))
            yield re.findall(r"http://127\.0\.0\.1:\d+", said)[0], process
        finally:
            process.kill()


@contextmanager
def web_server(
    indexes: Sequence[str | Path | ColBERTIndex],
    *,
    lm: dspy.LM | None = None,
    programs: Sequence[str | Path] = ("rac", "diva", "toc"),
    guard: Guard = Guard(),
    limits: WebLimits = WebLimits(),
) -> Iterator[Web]:
    """Serve programs over indexes until the block ends; what runs then is finished."""
    paths = [one.path if isinstance(one, ColBERTIndex) else one for one in indexes]
    shelf = Shelf(lm or embedded_lm(), indexes=paths, programs=programs)
    service = Service(shelf, limits)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        app = make_app(service, guard)
        running = server(app, "127.0.0.1", 0)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield Web(f"http://127.0.0.1:{listening.getsockname()[1]}", service, app)
        finally:
            running.should_exit = True
            thread.join(60)
            assert not thread.is_alive()
