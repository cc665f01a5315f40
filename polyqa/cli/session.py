"""Questions one after the other, over what is loaded once: typed at a prompt, or a line each from a pipe."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from polyqa.base.errors import PolyqaError

from .answers import show_result, show_why
from .ask import Answering, Choice, chosen
from .completion import PROGRAM_NAMES
from .errors import NOTHING_DONE, WITH_FAILURES, fail
from .terminal import say
from .waiting import ready, waiting

if TYPE_CHECKING:
    from polyqa.asking import Result

_HELP = """\
Each line is a question of its own: polyqa does not remember earlier ones.
  2               the second reading of the last answer alone, at once
  :why            how the last answer came about: demos, prompts, replies
  :program NAME   another program (polyqa programs lists them)
  :index NAME     another index (polyqa index info lists them)
  :help           this list
  :quit           leave (or Ctrl-D)"""
_HISTORY = 1_000  # questions that are kept for the next session


def answer_lines(
    answering: Answering, lines: Iterator[str], show: Callable[["Result"], None], *, named: bool = False
) -> None:
    """Answer a question a line; one that fails is told, the next one is asked, and the exit code tells of it.

    With ``named`` each question stands above its answer.
    """
    asked = failed = 0
    for line in lines:
        if not line.strip():
            continue
        asked += 1
        if named:
            say(f"? {' '.join(line.split())}")
        try:
            show(answering.ask(line))
        except BrokenPipeError:
            raise  # nobody reads the answers any more
        except Exception as error:
            failed += 1
            fail(error)
    if not asked:
        say("polyqa: No question came on standard input; write one a line, or give one as an argument.", err=True)
    if failed or not asked:
        raise typer.Exit(NOTHING_DONE if failed == asked else WITH_FAILURES)


def converse(choice: Choice) -> None:
    """Answer what is typed at a prompt until the session is ended; see `_HELP` for what else a line may say."""
    session = _Session(choice)
    ready()
    say(f"{session.answering}\nType a question; :help lists what else there is.\n")
    with _history(), _ctrl_c_ends_only_the_line():
        while (line := _line()) is not None:
            if line.strip() and not session.do(" ".join(line.split())):
                return


class _Session:
    """What a session has loaded, and its last answer."""

    def __init__(self, choice: Choice) -> None:
        self.last: Result | None = None
        self.passages = choice.passages
        self.load(choice)
        self.asked = self.answering  # what gave the last answer

    def load(self, choice: Choice) -> None:
        """Load what is to answer from now on; if that fails, what answered before stays."""
        from polyqa.loading import warm_up

        self.answering = choice.loaded()
        warm_up(self.answering.program, self.answering.model)

    def do(self, line: str) -> bool:
        """Do what a line says, and return whether the session goes on."""
        if line.lower() in ("exit", "quit", "help"):
            line = f":{line.lower()}"
        command, _, value = line.partition(" ")
        if command in (":quit", ":q", ":exit"):
            return False
        try:
            with waiting():
                if line.startswith(":"):
                    self._do(command, value.strip())
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
        if last is not None and line.isdecimal():
            number, many = int(line), len(last.interpretations)
            if last.asked_back:
                return last.choose(str(number))
            if not 1 <= number <= many:
                raise PolyqaError(f"There is no reading {number}: the last answer has {many}.")
            return last.alone(number - 1)
        self.last = None
        result = self.answering.ask(line)
        self.last, self.asked = result, self.answering  # stays if Ctrl-C ends the choice
        if result.asked_back:
            self.last = chosen(result)
        return self.last

    def _do(self, command: str, value: str) -> None:
        if command in (":program", ":index"):
            if value:
                choice = self.answering.choice
                choice = replace(choice, program=value) if command == ":program" else replace(choice, index=value)
                plain = choice.program is None or choice.program in PROGRAM_NAMES  # compiled ones have their own number
                self.load(replace(choice, passages=self.passages if plain else None))
            say(str(self.answering))
        elif command == ":why" and self.last is not None:
            show_why(self.last, self.asked.picked(self.last.question))
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


@contextmanager
def _history() -> Iterator[None]:
    """Let the arrow keys find earlier questions, those of earlier sessions too."""
    try:
        import readline
    except ImportError:  # Windows has none
        yield
        return
    from polyqa.base.folders import user_folder

    file: Path = user_folder() / "questions.history"
    with suppress(OSError):
        readline.read_history_file(file)
    try:
        yield
    finally:
        readline.set_history_length(_HISTORY)
        with suppress(OSError):  # a question needs no place to write to
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(file)
