"""What is left of commands that are killed at random moments, and whether the same command then finishes.

python -m lab.faults kills [--count 200] [--seed 0] [--json FILE]

Each trial begins with the same folder, starts a command in a process of its own, and ends it with SIGKILL after a time
drawn from the time that it takes undisturbed, earlier if it is quicker this time. What is left must be readable, or be
told in one line; the same command must then finish, with the outcome of the undisturbed one, and leave no file of the
killed one behind.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from polyqa.base.files import write_atomically
from polyqa.cli.app import app as polyqa
from polyqa.cli.app import explain
from polyqa.evaluation.tables import markdown_table

from ..results import Part, today
from . import forks
from .damage import Subject, trial, undamaged

_LITTER = (".*.building-*", ".*.replaced", ".*.draft", "*.tmp")
_LONGEST = 120  # seconds
_EARLIER = 0.8


@dataclass(frozen=True)
class Command:
    """A command that is killed.

    Attributes
    ----------
    words
        Of the command line, given the folder of the trial.
    outcome
        What came of it, as JSON data, read from the folder of the trial.
    """

    words: Callable[[Path], Sequence[object]]
    outcome: Callable[[Path], Any]


class Row(Part):
    """What became of a command.

    Attributes
    ----------
    kills
        How often it was killed.
    read
        How often what was left could be read, or was told in one line not to be there.
    finished
        How often the same command then gave what the undisturbed one gave.
    litter
        How often a file of the killed one was left after that.
    seconds
        That the undisturbed one took.
    """

    kills: int = 0
    read: int = 0
    finished: int = 0
    litter: int = 0
    seconds: float = 0.0


class Kills(Part):
    """A measurement: what repeats it, the rows by command, and what went wrong: command, second of the kill, what."""

    command: str
    date: str
    rows: dict[str, Row]
    worst: list[tuple[str, float, str]]

    def table(self) -> str:
        """Return the rows as a table."""
        rows = (
            [f"`polyqa {name}`", f"{one.seconds:.1f}", *map(str, (one.kills, one.read, one.finished, one.litter))]
            for name, one in self.rows.items()
        )
        return markdown_table(["command", "s", "kills", "readable", "finished as undisturbed", "litter"], rows)


def started(words: Sequence[object], said: Path) -> int:
    """Start a command of polyqa in a fork of this process; return its number. What it prints goes into a file."""
    return forks.started(lambda: _run([str(word) for word in words]), said)


def _run(words: Sequence[str]) -> int:
    try:
        polyqa(words, standalone_mode=False)
    except typer.Exit as end:
        return end.exit_code
    except Exception as error:
        told, code = explain(error)
        print(told)
        return code
    return 0


def ended(child: int, after: float) -> int | None:
    """Wait for a process, and kill it after so many seconds; return its exit code, ``None`` if it was killed."""
    until = time.monotonic() + after
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def litter(folder: Path) -> list[str]:
    """Return the files in a folder that only a killed command leaves."""
    return sorted({str(path.relative_to(folder)) for pattern in _LITTER for path in folder.rglob(pattern)})


def attack(base: Path, commands: dict[str, Command], count: int, seed: int, show: bool = True) -> Kills:
    """Kill every command in turn, ``count`` times in all, each time in a copy of the folder ``base``."""
    draw = random.Random(seed)
    worst: list[tuple[str, float, str]] = []
    rows: dict[str, Row] = {}
    expected: dict[str, Any] = {}
    for name, one in commands.items():
        rows[name], expected[name] = _undisturbed(base, one)
    names = list(commands)
    for number in track(range(count), "killing", console=Console(stderr=True), disable=not show):
        name = names[number % len(names)]
        one, row = commands[name], rows[name]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "home"
            after = _killed(base, folder, one, draw.uniform(0, row.seconds))
            outcome, told = trial(Subject(folder, one.outcome), folder, expected[name])
            read = outcome in ("harmless", "refused", "silent")  # what it was before is not what it will be
            said = Path(place) / "again.txt"
            code = ended(started(one.words(folder), said), _LONGEST)
            finished = code == 0 and trial(Subject(folder, one.outcome), folder, expected[name])[0] == "harmless"
            left = litter(folder) if finished else []
            rows[name] = Row(
                kills=row.kills + 1,
                read=row.read + read,
                finished=row.finished + finished,
                litter=row.litter + bool(left),
                seconds=row.seconds,
            )
            if not read:
                worst.append((name, round(after, 2), f"{outcome}: {told}"))
            if not finished:
                worst.append((name, round(after, 2), f"again, code {code}: {said.read_text()[-300:]}"))
            if left:
                worst.append((name, round(after, 2), f"left: {', '.join(left)}"))
    return Kills(
        command=f"python -m lab.faults kills --count {count} --seed {seed}",
        date=today(),
        rows=rows,
        worst=worst,
    )


def _killed(base: Path, folder: Path, one: Command, after: float) -> float:
    """Kill a command in a copy of ``base``; return when: earlier than wanted if it would have ended before."""
    while True:
        shutil.copytree(base, folder, symlinks=True)
        if ended(started(one.words(folder), folder.with_name("killed.txt")), after) is None:
            return after
        shutil.rmtree(folder)
        after *= _EARLIER


def _undisturbed(base: Path, one: Command) -> tuple[Row, Any]:
    """Run a command to its end; return a row with the time that it took, and its outcome."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(base, Path(place) / "home", symlinks=True))
        said = Path(place) / "said.txt"
        begun = time.monotonic()
        code = ended(started(one.words(folder), said), _LONGEST)
        seconds = time.monotonic() - begun
        if code:
            raise RuntimeError(f"The undisturbed command failed with code {code}: {said.read_text()}")
        return Row(seconds=round(seconds, 2)), undamaged(Subject(folder, one.outcome))


def command(
    count: Annotated[int, typer.Option(min=1, help="Trials.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Kill commands at random moments and see what is left."""
    from .subjects import made_commands

    with tempfile.TemporaryDirectory() as place:
        measured = attack(*made_commands(Path(place)), count, seed)
    typer.echo(measured.table())
    for name, after, what in measured.worst:
        print(name, f"killed after {after} s", what, sep=" | ", file=sys.stderr)
    if json_file is not None:
        write_atomically(json_file, json.dumps(measured.model_dump(), indent=1) + "\n")
