"""Work in a fork of this process, which ends there whatever happens: what it was forked from must not go on twice."""

import json
import os
import resource
import select
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from polyqa.cli.errors import explain

SECONDS = 30.0
_MEMORY = 2 * 1024**3


class Outcome(NamedTuple):
    """How work ended: ``done``, ``refused`` in one line, ``crashed`` or ``too long``.

    ``value`` is what came out, as JSON data; ``text`` is what was printed, warned of, or raised.
    """

    kind: str
    value: Any = None
    text: str = ""


def fork(work: Callable[[], object], printed: Path) -> int:
    """Do something in a fork of this process; return its number. What it prints goes into a file.

    Its exit code is what the work returns, if that is a number; 1 after an error.
    """
    child = os.fork()
    if child:
        return child
    code, out = 1, StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(out):
            value = work()
        code = value if isinstance(value, int) else 0
    except BaseException:
        out.write(traceback.format_exc())
    finally:
        try:
            printed.write_text(out.getvalue(), encoding="utf-8")
        finally:
            os._exit(code)


def said(printed: Path) -> str:
    """Return what a fork printed into a file; nothing if it was killed."""
    return printed.read_text(encoding="utf-8") if printed.exists() else ""


def outcome_of(work: Callable[[], Any]) -> Outcome:
    """Do something here and return how it ended; an error that is no user's mistake is a crash."""
    out = StringIO()
    with warnings.catch_warnings(record=True) as warned, redirect_stdout(out), redirect_stderr(out):
        warnings.simplefilter("always")
        try:
            value = json.loads(json.dumps(work()))
        except MemoryError as error:
            return Outcome("too long", text=repr(error))
        except BaseException as error:
            message, code = explain(error) if isinstance(error, Exception) else (repr(error), 1)
            return Outcome("refused" if code == 2 else "crashed", text=f"{type(error).__name__}: {message}"[:300])
    warning_texts = [str(warning.message) for warning in warned]
    return Outcome("done", value, " ".join([*warning_texts, out.getvalue()]).strip()[:300])


def in_fork(work: Callable[[], Any], seconds: float = SECONDS) -> Outcome:
    """Do something in a fork with limits on time and memory, and return how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"

        def limited() -> None:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
            report.write_text(json.dumps(outcome_of(work)), encoding="utf-8")

        code = ended(fork(limited, Path(folder) / "printed.txt"), seconds)
        if code is None:
            return Outcome("too long", text=f"not done after {seconds} s")
        if not report.exists():
            return Outcome("crashed", text=f"exit {code}")
        return Outcome(*json.loads(report.read_text(encoding="utf-8")))


def ended(child: int, seconds: float) -> int | None:
    """Wait for a process, and kill it after some seconds; return its exit code, ``None`` if it was killed."""
    process = os.pidfd_open(child)
    try:
        over, _, _ = select.select([process], [], [], seconds)
    finally:
        os.close(process)
    if not over:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if over else None
