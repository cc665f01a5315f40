"""Whoever starts a command sees within a second that it is at work."""

import io
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest
from until import until

from polyqa.cli.display import at_work
from polyqa.cli.terminal import say
from polyqa.cli.waiting import AFTER, waiting
from polyqa.evaluation.progress import bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def drawn(self) -> int:
        return self.getvalue().count("at work")

    def shown(self) -> str:
        """Return what is to be seen in the end: of each line what follows the last time that it was cleared."""
        return re.sub(r"[^\n]*\r\x1b\[K", "", self.getvalue())


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


@contextmanager
def waiting_at(terminal: Terminal) -> Iterator[None]:
    with redirect_stdout(terminal), redirect_stderr(terminal):
        with waiting():
            yield
        assert sys.stdout is sys.stderr is terminal


@pytest.mark.parametrize("err", [False, True])
def test_the_line_comes_and_goes(terminal: Terminal, err: bool) -> None:
    with waiting_at(terminal):
        until(lambda: terminal.drawn() > 1)
        say("the answer", err=err)
        after = terminal.drawn()
        time.sleep(2 * AFTER)
        print("and more")
    assert terminal.drawn() == after, "it does not come between the parts of a result"
    assert terminal.shown() == "the answer\nand more\n"


def fail(terminal: Terminal) -> None:
    with waiting_at(terminal):
        until(lambda: terminal.drawn() > 0)
        raise KeyError


def test_nothing_is_left_of_it_after_an_error(terminal: Terminal) -> None:
    with pytest.raises(KeyError):
        fail(terminal)
    assert terminal.shown() == ""


def test_a_quick_command_shows_none(terminal: Terminal) -> None:
    with waiting_at(terminal):
        print("1.0")
    assert terminal.getvalue() == "1.0\n"


def test_in_a_log_progress_bars_are_drawn_seldom() -> None:
    bar = "for _ in tqdm(range(30)): time.sleep(0.1)"
    code = f"from polyqa.cli.waiting import waiting\nwith waiting():\n  import time\n  from tqdm import tqdm\n  {bar}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("/30") == 2, "at its beginning and its end"


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_a_log_holds_how_far_a_command_is(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyqa.cli.display.IN_A_LOG", seconds)
    log = io.StringIO()
    with redirect_stderr(log), waiting(), at_work(), bar(3, "passages") as move:
        for _ in range(3):
            time.sleep(0.2)  # tqdm draws ten times a second at most
            move()
        time.sleep(1)  # the end is drawn twice, and then it says another time
    *meanwhile, end = log.getvalue().splitlines()
    assert "3/3" in end
    assert end.endswith("passages]")
    assert any("1/3" in line for line in meanwhile) is (seconds == 0)
    assert not any("3/3" in line for line in meanwhile)


def test_on_a_real_terminal_it_comes_before_anything_is_loaded() -> None:
    parent, child = pty.openpty()
    begun = time.monotonic()
    words = ("ask", "When did Titanic come out?", "--program", "rac")
    with subprocess.Popen([sys.executable, "-m", "polyqa", *words], stdout=child, stderr=child) as process:
        os.close(child)
        first = os.read(parent, 1_000)
        waited = time.monotonic() - begun
        rest = b""
        try:
            while part := os.read(parent, 10_000):
                rest += part
        except OSError:  # the end of a terminal
            pass
        taken = time.monotonic() - begun
    os.close(parent)
    assert process.returncode == 0
    assert "at work" in first.decode()
    assert waited < taken / 2
    assert "1997" in re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", rest.decode())
