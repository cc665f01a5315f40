"""Work in a fork of this process, which ends there whatever happens: what it was forked from must not go on twice."""

import os
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path


def started(work: Callable[[], int | None], said: Path) -> int:
    """Do something in a fork; return its number.

    Parameters
    ----------
    work
        Returns the exit code, or nothing for 0. An error is told like the rest, and ends with 1.
    said
        The file into which goes what is printed.
    """
    child = os.fork()
    if child:
        return child
    code, out = 1, StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(out):
            code = work() or 0
    except BaseException:
        out.write(traceback.format_exc())
    finally:
        try:
            said.write_text(out.getvalue(), encoding="utf-8")
        finally:
            os._exit(code)
