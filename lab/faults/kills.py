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
    return sorted([one["id"], one["answer"]] for one in records)


def answers_of(path: Path) -> list[Any]:
    """Return what a run holds, without what differs from one to another."""
    return [[one.id, one.answer, str(one.error)] for one in open_run(path).records]


def hidden(folder: Path) -> frozenset[str]:
    """Return the names of hidden and of temporary files and folders anywhere in a folder."""
    return frozenset(path.name for pattern in (".*", "*.tmp") for path in folder.rglob(pattern))


def attack(
    base: Path, name: str, one: Command, count: int, seed: int, *, full: int = 0
) -> tuple[dict[str, Table], list[str]]:
    """Kill a command so often, and fill its disk, each time in a copy of a folder; return tables and faults."""
    usual = _undisturbed(base, one)
    wrong: list[str] = []
    tables = {"": _trials(base, name, one, usual, "kills", count, seed, wrong)}
    if full:
        tables["full"] = _trials(base, name, one, usual, "full disks", full, seed, wrong)
    return tables, wrong


def _trials(
    base: Path, name: str, one: Command, usual: Usual, what: str, count: int, seed: int, wrong: list[str]
) -> Table:
    """Disturb a command so often; return the counts, and add to what went wrong."""
    draw, counts = random.Random(f"{seed} {what} {name}"), Counter[str]()
    for _ in tracked(range(count), f"{name}: {what}"):
        with tempfile.TemporaryDirectory() as place:
            home = Path(place) / "home"
            if what == "kills":
                told, how = "", _killed(base, home, one, draw.uniform(0, usual.seconds))
            else:
                most = draw.randrange(usual.largest)
                told, how = _without_space(base, home, one, most), f"for {most:,} bytes a file"
            faults = _faults(one, home, usual) | ({"told": told} if told else {})
        counts.update(["trials", *({"told", "readable", "finished", "clean"} - faults.keys())])
        wrong += [f"{name} | {what} {how} | not {fault}: {text}" for fault, text in faults.items()]
    shown = ["trials", *([] if what == "kills" else ["told"]), "readable", "finished"]
    numbers = [*(counts[each] for each in shown), counts["trials"] - counts["clean"]]
    row = [f"`polyqa {name}`", f"{usual.seconds:.1f}", *map(str, numbers)]
    return Table(heads=["command", "s", what, *([] if what == "kills" else ["told in one line"]), *_REST], rows=[row])


def _without_space(base: Path, folder: Path, one: Command, most: int) -> str:
    """Run a command in a copy of ``base`` on a full disk; return what is wrong with how it ended, or nothing."""
    shutil.copytree(base, folder, symlinks=True)
    printed = folder.with_name("full.txt")
    code = one.ended(folder, printed, most_bytes=most)
    return "" if code in (0, _REFUSED) else f"code {code}: {said(printed).strip()[-300:]}"


def _faults(one: Command, folder: Path, usual: Usual) -> dict[str, str]:
    """Return what is wrong with what a killed command left, and with the same command afterwards."""
    faults: dict[str, str] = {}
    subject, printed = Subject(folder, one.outcome), folder.with_name("again.txt")
    outcome, text = trial(subject, folder, usual.outcome)
    if outcome not in ("harmless", "refused", "silent"):  # what it was before is not what it will be
        faults["readable"] = f"{outcome}: {text}"
    code = one.ended(folder, printed)
    refuses_to_repeat = outcome == "harmless" and code == _REFUSED  # such as to delete what is deleted
    if (code and not refuses_to_repeat) or trial(subject, folder, usual.outcome)[0] != "harmless":
        faults["finished"] = f"code {code}: {said(printed)[-300:]}"
    elif left := hidden(folder) - usual.hidden:
        faults["clean"] = ", ".join(sorted(left))
    return faults


def _killed(base: Path, folder: Path, one: Command, after: float) -> str:
    """Kill a command in a copy of ``base``; return when: earlier than wanted if it would have ended before."""
    while True:
        shutil.copytree(base, folder, symlinks=True)
        if one.ended(folder, folder.with_name("killed.txt"), after) is None:
            return f"after {after:.2f} s"
        shutil.rmtree(folder)
        after *= _EARLIER


def _undisturbed(base: Path, one: Command) -> Usual:
    """Run a command to its end."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(base, Path(place) / "home", symlinks=True))
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
        printed, begun = Path(place) / "printed.txt", time.monotonic()
        if (code := one.ended(folder, printed)) != 0:
            raise RuntimeError(f"The undisturbed command failed with code {code}: {said(printed)}")
        seconds = time.monotonic() - begun
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        written = [path.stat().st_size for path in files if before.get(path) != path.stat().st_mtime_ns]
        return Usual(seconds, max(written, default=0) + 1, undamaged(Subject(folder, one.outcome)), hidden(folder))


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
            found, wrong = attack(base, name, commands[name], count, seed, full=full)
            typer.echo("\n".join(wrong), err=True)
            tables = merged(found, tables)
            sums = {one: sum(int(row[2]) for row in table.rows) for one, table in tables.items()}
            # After each command: this campaign may be killed, too.
            report(f"{sums['']} kills, {sums.get('full', 0)} full disks", tables, json_file)
