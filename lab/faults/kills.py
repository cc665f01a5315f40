"""What is left of commands that are killed at random moments, and whether the same command then finishes.

python -m lab.faults kills [--count 200] [--seed 0] [--json FILE]

Each trial begins with the same folder, starts a command in a process of its own, and ends it with SIGKILL after a time
drawn from the time that it takes undisturbed, earlier if it is quicker this time. What is left must be readable, or be
refused in one line; the same command must then finish, with the outcome of the undisturbed one, and leave no file of
the killed one behind.
"""

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from polyqa.cli.app import app as polyqa

from ..results import JsonFile, Measured, Table, command_line, report, today
from .damage import Subject, trial, undamaged
from .forks import ended, fork

_LITTER = (".*.building-*", ".*.replaced", ".*.draft", "*.tmp")
_LONGEST = 120  # seconds
_EARLIER = 0.8
_HEADS = ["command", "s", "kills", "readable", "finished as undisturbed", "litter"]


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


def start(words: Sequence[object], printed: Path) -> int:
    """Start a command of polyqa in a fork of this process; return its number."""
    return fork(lambda: polyqa([str(word) for word in words], standalone_mode=False), printed)  # Exit is its value


def litter(folder: Path) -> list[str]:
    """Return the files in a folder that only a killed command leaves."""
    return sorted({str(path.relative_to(folder)) for pattern in _LITTER for path in folder.rglob(pattern)})


def attack(base: Path, commands: Mapping[str, Command], count: int, seed: int) -> tuple[Table, list[str]]:
    """Kill every command in turn, each time in a copy of a folder; return the counts, and what went wrong."""
    draw = random.Random(seed)
    wrong: list[str] = []
    counts: dict[str, Counter[str]] = {name: Counter() for name in commands}
    usual = {name: _undisturbed(base, one) for name, one in commands.items()}
    names = list(commands)
    for number in track(range(count), "killing", console=Console(stderr=True)):
        name = names[number % len(names)]
        seconds, expected = usual[name]
        with tempfile.TemporaryDirectory() as place:
            after = _killed(base, Path(place) / "home", commands[name], draw.uniform(0, seconds))
            faults = _faults(commands[name], Path(place) / "home", expected)
        counts[name].update(["kills", *({"readable", "finished", "clean"} - faults.keys())])
        wrong += [f"{name} | killed after {after:.2f} s | not {what}: {text}" for what, text in faults.items()]
    rows = [
        [f"`polyqa {name}`", f"{usual[name][0]:.1f}"]
        + [str(count) for count in (own["kills"], own["readable"], own["finished"], own["kills"] - own["clean"])]
        for name, own in counts.items()
    ]
    return Table(heads=_HEADS, rows=rows), wrong


def _faults(one: Command, folder: Path, expected: Any) -> dict[str, str]:
    """Return what is wrong with what a killed command left, and with the same command afterwards."""
    faults: dict[str, str] = {}
    subject, printed = Subject(folder, one.outcome), folder.with_name("again.txt")
    outcome, text = trial(subject, folder, expected)
    if outcome not in ("harmless", "refused", "silent"):  # what it was before is not what it will be
        faults["readable"] = f"{outcome}: {text}"
    code = ended(start(one.words(folder), printed), _LONGEST)
    if code or trial(subject, folder, expected)[0] != "harmless":
        faults["finished"] = f"code {code}: {printed.read_text()[-300:]}"
    elif left := litter(folder):
        faults["clean"] = ", ".join(left)
    return faults


def _killed(base: Path, folder: Path, one: Command, after: float) -> float:
    """Kill a command in a copy of ``base``; return when: earlier than wanted if it would have ended before."""
    while True:
        shutil.copytree(base, folder, symlinks=True)
        if ended(start(one.words(folder), folder.with_name("killed.txt")), after) is None:
            return after
        shutil.rmtree(folder)
        after *= _EARLIER


def _undisturbed(base: Path, one: Command) -> tuple[float, Any]:
    """Run a command to its end; return the seconds that it took, and its outcome."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(base, Path(place) / "home", symlinks=True))
        printed, begun = Path(place) / "printed.txt", time.monotonic()
        if code := ended(start(one.words(folder), printed), _LONGEST):
            raise RuntimeError(f"The undisturbed command failed with code {code}: {printed.read_text()}")
        return time.monotonic() - begun, undamaged(Subject(folder, one.outcome))


def command(
    count: Annotated[int, typer.Option(min=1, help="Trials.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
    json_file: JsonFile = None,
) -> None:
    """Kill commands at random moments and see what is left."""
    from .subjects import made_commands

    with tempfile.TemporaryDirectory() as place:
        table, wrong = attack(*made_commands(Path(place)), count, seed)
    typer.echo("\n".join(wrong), err=True)
    words = command_line("lab.faults kills", {"--count": count, "--seed": seed})
    report(Measured(about=f"{count} kills; {today()}.", command=words, tables={"": table}), json_file)
