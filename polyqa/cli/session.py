"""Questions one after the other, typed at a prompt, over what is loaded once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING

from polyqa.base.errors import PolyqaError

from .answers import show_result
from .ask import Answering, chosen
from .display import show_prompts
from .errors import fail
from .terminal import say
from .waiting import waiting

if TYPE_CHECKING:
    from polyqa.asking import Result

_HELP = """\
Each line is a question of its own: polyqa does not remember earlier ones.
  2       the second reading of the last answer alone, at once
  :why    how the last answer came about: prompts, replies
  :help   this list
  :quit   leave (or Ctrl-D)"""


def converse(answering: Answering) -> None:
    """Answer what is typed at a prompt until the session is ended; see `_HELP` for what else a line may say."""
    from polyqa.loading import warm_up

    warm_up(answering.program, answering.model)
    session = _Session(answering)
    say(f"{answering}\nType a question; :help lists what else there is.\n")
    with suppress(ImportError):  # Windows has none
        import_module("readline")  # lets the arrow keys find earlier questions
    with _ctrl_c_ends_only_the_line():
        while (line := _line()) is not None:
            if line.strip() and not session.do(" ".join(line.split())):
                return


class _Session:
    """What answers in a session, and its last answer."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.last: Result | None = None

    def do(self, line: str) -> bool:
        """Do what a line says, and return whether the session goes on."""
        if line.lower() in ("exit", "quit", "help"):
            line = f":{line.lower()}"
        if line in (":quit", ":q", ":exit"):
            return False
        try:
            with waiting():
                if line.startswith(":"):
                    self._do(line)
                else:
                    show_result(self._asked(line))
                    say()
        except KeyboardInterrupt:
            say("interrupted", err=True)
        except Exception as error:
            fail(error)
        return True

    def _asked(self, line: str) -> "Result":
        """Return the answer to a question; of a number that reading, or that choice of a question back, alone."""
        last = self.last
        if line.isdecimal():
            if last is None:
                raise PolyqaError("No answer yet: ask a question first.")
            number, reading_count = int(line), len(last.interpretations)
            if last.asked_back:
                return last.choose(str(number))
            if not 1 <= number <= reading_count:
                raise PolyqaError(f"There is no reading {number}: the last answer has {reading_count}.")
            return last.alone(number - 1)
        self.last = None
        self.last = self.answering.ask(line)  # stays if Ctrl-C ends the choice
        if self.last.asked_back:
            self.last = chosen(self.last)
        return self.last

    def _do(self, command: str) -> None:
        if command == ":why" and self.last is not None:
            show_prompts(self.last.calls)
        elif command == ":why":
            say("No answer yet: ask a question first.")
        else:
            say(_HELP if command == ":help" else f"There is no {command}.\n{_HELP}")


def _line() -> str | None:
    """Return what is typed at the prompt, ``None`` at its end."""
    try:
        return input("? ")
    except (EOFError, KeyboardInterrupt) as ended:
        say()
        return None if isinstance(ended, EOFError) else ""


@contextmanager
def _ctrl_c_ends_only_the_line() -> Iterator[None]:
    """Have Ctrl-C end a question or what is typed, where it would end the process (see `polyqa.cli.process`)."""
    before = signal.getsignal(signal.SIGINT)
    if before not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
