"""Ctrl-C for a command in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    """How a command ended after Ctrl-C, how many seconds later, and what it had printed."""

    code: int
    seconds: float
    out: str
    err: str


def interrupted(words: Sequence[str], when: Callable[[], bool], *, later: float = 0.0) -> Ended:
    """Start `polyqa`; press Ctrl-C some seconds after something holds, as a terminal does: all its processes get it."""
    command = [sys.executable, "-m", "polyqa", *words]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 120
    while not when() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(later)
    os.killpg(child.pid, signal.SIGINT)
    begun = time.monotonic()
    out, err = child.communicate(timeout=60)
    return Ended(child.returncode, time.monotonic() - begun, out, err)
