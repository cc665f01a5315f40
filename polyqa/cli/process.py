"""A command as a process of its own."""

import atexit
import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

from .app import INTERRUPTED
from .app import main as command_line
from .terminal import replace_lacking_characters, say

_TO_STOP = 2.0  # seconds from Ctrl-C to the end of the command
_TO_EXIT = 0.5  # seconds from there to the end of the process


def main() -> None:
    """Run the command line; see `polyqa.cli.app.main`. After Ctrl-C the process ends within two seconds.

    By itself Python would wait for threads, which may wait for a server (some of DSPy's optimizers wait for theirs,
    too), and then take half a second to take large libraries apart. What was finished is in its files by now. What
    is still under way is lost as in a kill, which every file survives.
    """
    code = 1
    # Registered before anything else, so that it is called last of all: what else ends with the process has ended.
    atexit.register(lambda: _exit(code))

    def end(seconds: float) -> None:
        time.sleep(seconds)
        if code != INTERRUPTED:
            say("interrupted", err=True)
        if (processes := sys.modules.get("multiprocessing.util")) is not None:
            processes._run_finalizers(0)  # else Python warns, after us, that the locks of progress bars are left
        _exit(INTERRUPTED)

    def begin_to_end(seconds: float) -> None:
        threading.Thread(target=end, args=(seconds,), name="polyqa-exit", daemon=True).start()

    def interrupt(number: int, frame: FrameType | None) -> None:
        begin_to_end(_TO_STOP)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where Ctrl-C is to be ignored
        signal.signal(signal.SIGINT, interrupt)
    replace_lacking_characters()
    try:
        command_line()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if code == INTERRUPTED:
            begin_to_end(_TO_EXIT)
        raise


def _exit(code: int) -> None:
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
            stream.flush()
    os._exit(code)
