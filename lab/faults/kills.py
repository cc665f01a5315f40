"""What is left of commands that are killed, or whose disk is full, and whether the same command then finishes.

python -m lab.faults kills [--count 20] [--full 4] [--seed 0] [--only NAME …] [--json FILE]

Each trial begins with the same folder, starts a command in a process of its own, and ends it with SIGKILL after a time
drawn from the time that it takes undisturbed, earlier if it is quicker this time. What is left must be readable, or be
refused in one line; the same command must then finish, with the outcome of the undisturbed one, and leave no file of
the killed one behind.

A full disk is one that takes no file of more than a drawn number of bytes, up to the largest that the command writes:
the command must end with one line that says so, and with more space the same command must finish as above.

Each command has draws of its own: a table that is made piece by piece, with ``--only`` and the same file, is that of
one run.
"""

import json
import os
import random
import resource
import shlex
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.cli.app import app as polyqa
from polyqa.cli.errors import fail
from polyqa.evaluation.runs import open_run

from ..results import JsonFile, Seed, Table, merged, report, stored_tables, tracked
from .damage import Subject, trial, undamaged
from .forks import ended, fork, said

_LONGEST = 600  # seconds
_A_BUG, _REFUSED = 1, 2  # exit codes
_EARLIER = 0.8
_REST = ["readable", "finished as undisturbed", "litter"]


@dataclass(frozen=True)
class Command:
    """A command of polyqa in the folder of a trial.

    Attributes
    ----------
    line
        Its words, with ``{home}`` for the folder.
    place
        Where in the folder its outcome is.
    read
        Returns, given that path, what came of it, as JSON data.
    polyqa_home
        The folder in that of the trial where polyqa keeps its indexes; without one, the usual place.
    """

    line: str
    place: str
    read: Callable[[Path], Any]
    polyqa_home: str = ""

    def outcome(self, folder: Path) -> Any:
        """Return what came of it."""
        return self.read(folder / self.place)

    def run(self, folder: Path) -> object:
        """Run it in this process; return its exit code."""
        if self.polyqa_home:
            os.environ["POLYQA_HOME"] = str(folder / self.polyqa_home)
        words = [word.format(home=folder) for word in shlex.split(self.line)]
        try:
            return polyqa(words, standalone_mode=False)  # Exit is its value
        except Exception as error:
            code = fail(error)
            if code == _A_BUG:
                raise
            return code

    def ended(
        self, folder: Path, printed: Path, seconds: float = _LONGEST, most_bytes: int | None = None
    ) -> int | None:
        """Run it in a fork of this process; return its exit code, or ``None`` if it was killed after some seconds.

        Parameters
        ----------
        printed
            A file for what it prints.
        most_bytes
            The bytes of a file that the disk still takes.
        """

        def limited() -> object:
            if most_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
            try:
                return self.run(folder)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        return ended(fork(limited, printed), seconds)


@dataclass(frozen=True)
class Usual:
    """A command that was not disturbed: its seconds, the bytes of its largest file, its outcome, its hidden files."""

    seconds: float
    largest: int
    outcome: Any
    hidden: frozenset[str]


def answers_in(path: Path) -> list[Any]:
    """Return what a file of answers holds, without what differs from run to run."""
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return sorted([record["id"], record["answer"]] for record in records)


def answers_of(path: Path) -> list[Any]:
    """Return what a run holds, without what differs from one to another."""
    return [[record.id, record.answer, str(record.error)] for record in open_run(path).records]


def hidden(folder: Path) -> frozenset[str]:
    """Return the names of hidden and of temporary files and folders anywhere in a folder."""
    return frozenset(path.name for pattern in (".*", "*.tmp") for path in folder.rglob(pattern))


def attack(
    base: Path, name: str, command: Command, count: int, seed: int, *, full: int = 0
) -> tuple[dict[str, Table], list[str]]:
    """Kill a command so often, and fill its disk, each time in a copy of a folder; return tables and faults."""
    usual = _undisturbed(base, command)
    wrong: list[str] = []
    tables = {"": _trials(base, name, command, usual, "kills", count, seed, wrong)}
    if full:
        tables["full"] = _trials(base, name, command, usual, "full disks", full, seed, wrong)
    return tables, wrong


def _trials(
    base: Path, name: str, command: Command, usual: Usual, disturbance: str, count: int, seed: int, wrong: list[str]
) -> Table:
    """Disturb a command so often; return the counts, and add to what went wrong."""
    draw, counts = random.Random(f"{seed} {disturbance} {name}"), Counter[str]()
    for _ in tracked(range(count), f"{name}: {disturbance}"):
        with tempfile.TemporaryDirectory() as place:
            home = Path(place) / "home"
            if disturbance == "kills":
                ending_fault, how = "", _killed(base, home, command, draw.uniform(0, usual.seconds))
            else:
                most_bytes = draw.randrange(usual.largest)
                ending_fault, how = _without_space(base, home, command, most_bytes), f"for {most_bytes:,} bytes a file"
            faults = _faults(command, home, usual) | ({"told": ending_fault} if ending_fault else {})
        counts.update(["trials", *({"told", "readable", "finished", "clean"} - faults.keys())])
        wrong += [f"{name} | {disturbance} {how} | not {fault}: {text}" for fault, text in faults.items()]
    expectations = ["trials", *([] if disturbance == "kills" else ["told"]), "readable", "finished"]
    numbers = [*(counts[each] for each in expectations), counts["trials"] - counts["clean"]]
    row = [f"`polyqa {name}`", f"{usual.seconds:.1f}", *map(str, numbers)]
    heads = ["command", "s", disturbance, *([] if disturbance == "kills" else ["told in one line"]), *_REST]
    return Table(heads=heads, rows=[row])


def _without_space(base: Path, folder: Path, command: Command, most_bytes: int) -> str:
    """Run a command in a copy of ``base`` on a full disk; return what is wrong with how it ended, or nothing."""
    shutil.copytree(base, folder, symlinks=True)
    printed = folder.with_name("full.txt")
    code = command.ended(folder, printed, most_bytes=most_bytes)
    return "" if code in (0, _REFUSED) else f"code {code}: {said(printed).strip()[-300:]}"


def _faults(command: Command, folder: Path, usual: Usual) -> dict[str, str]:
    """Return what is wrong with what a killed command left, and with the same command afterwards."""
    faults: dict[str, str] = {}
    subject, printed = Subject(folder, command.outcome), folder.with_name("again.txt")
    outcome, text = trial(subject, folder, usual.outcome)
    if outcome not in ("harmless", "refused", "silent"):  # what it was before is not what it will be
        faults["readable"] = f"{outcome}: {text}"
    code = command.ended(folder, printed)
    refuses_to_repeat = outcome == "harmless" and code == _REFUSED  # such as to delete what is deleted
    if (code and not refuses_to_repeat) or trial(subject, folder, usual.outcome)[0] != "harmless":
        faults["finished"] = f"code {code}: {said(printed)[-300:]}"
    elif left_over := hidden(folder) - usual.hidden:
        faults["clean"] = ", ".join(sorted(left_over))
    return faults


def _killed(base: Path, folder: Path, command: Command, after: float) -> str:
    """Kill a command in a copy of ``base``; return when: earlier than wanted if it would have ended before."""
    while True:
        shutil.copytree(base, folder, symlinks=True)
        if command.ended(folder, folder.with_name("killed.txt"), after) is None:
            return f"after {after:.2f} s"
        shutil.rmtree(folder)
        after *= _EARLIER


def _undisturbed(base: Path, command: Command) -> Usual:
    """Run a command to its end."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(base, Path(place) / "home", symlinks=True))
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
        printed, begun = Path(place) / "printed.txt", time.monotonic()
        if (code := command.ended(folder, printed)) != 0:
            raise RuntimeError(f"The undisturbed command failed with code {code}: {said(printed)}")
        seconds = time.monotonic() - begun
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        written = [path.stat().st_size for path in files if before.get(path) != path.stat().st_mtime_ns]
        return Usual(seconds, max(written, default=0) + 1, undamaged(Subject(folder, command.outcome)), hidden(folder))


def command(
    count: Annotated[int, typer.Option(min=1, help="Kills of each command.")] = 20,
    full: Annotated[int, typer.Option(min=0, help="Full disks of each command.")] = 4,
    seed: Seed = 0,
    only: Annotated[list[str] | None, typer.Option(help="A command, such as 'index build'; repeat for more.")] = None,
    json_file: JsonFile = None,
) -> None:
    """Kill commands at random moments, fill their disk, and see what is left."""
    from .subjects import made_commands

    tables = stored_tables(json_file) if only else {}
    with tempfile.TemporaryDirectory() as place:
        base, commands = made_commands(Path(place))
        for name in only or commands:
            command_tables, wrong = attack(base, name, commands[name], count, seed, full=full)
            typer.echo("\n".join(wrong), err=True)
            tables = merged(command_tables, tables)
            sums = {table_name: sum(int(row[2]) for row in table.rows) for table_name, table in tables.items()}
            # After each command: this campaign may be killed, too.
            report(f"{sums['']} kills, {sums.get('full', 0)} full disks", tables, json_file)
