"""What polyqa makes of damaged folders: indexes, databases of questions, artifacts, runs.

python -m lab.faults damage [--count 500] [--seed 0] [--json FILE]

Each trial copies a good folder, damages one drawn file, and uses the folder as its command would, in a process of its
own. A damage is *refused* where polyqa says in one line what is wrong, *harmless* where the outcome is the same as
before. What must not be: a *crash* (a signal, or an error that is no `PolyqaError`), *too long* (over 30 s, or over 2
GiB more than at its start), and *silent*: another outcome, with no word of it from the use or from the check.
"""

import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import track

from polyqa.cli.app import explain
from polyqa.evaluation.tables import markdown_table

from ..results import Part, keep, today
from .mutations import MUTATIONS, damaged_by

Outcome = Literal["refused", "harmless", "found by the check", "silent", "crashed", "too long"]
OUTCOMES: tuple[Outcome, ...] = ("refused", "harmless", "found by the check", "silent", "crashed", "too long")
_SECONDS = 30
_MEMORY = 2 * 1024**3


@dataclass(frozen=True)
class Subject:
    """A kind of folder.

    Attributes
    ----------
    folder
        A good one.
    use
        Uses one as its command does, and returns what comes out, as JSON data.
    check
        Checks it more deeply, where there is a command for that.
    """

    folder: Path
    use: Callable[[Path], Any]
    check: Callable[[Path], object] | None = None


class Damage(Part):
    """A measurement: what repeats it, and how often each outcome came, by subject and by kind of damage.

    Attributes
    ----------
    worst
        The trials that were silent, crashed or took too long: subject, kind, file, what was seen.
    """

    command: str
    date: str
    count: int
    seconds: float
    subjects: dict[str, dict[Outcome, int]]
    kinds: dict[str, dict[Outcome, int]]
    worst: list[tuple[str, str, str, str]]

    def table(self) -> str:
        """Return the outcomes as a table."""
        rows = (
            [name, str(sum(counts.values())), *(str(counts.get(one, 0)) for one in OUTCOMES)]
            for name, counts in [*self.subjects.items(), *self.kinds.items()]
        )
        return markdown_table(["damaged", "trials", *OUTCOMES], rows)


def trial(subject: Subject, folder: Path, expected: Any) -> tuple[Outcome, str]:
    """Use a damaged folder in a process of its own; return what came of it, and what was said."""
    with tempfile.TemporaryDirectory() as reported:
        report = Path(reported) / "report.json"
        child = os.fork()
        if not child:
            _in_child(subject, folder, report)
        status = _wait(child)
        if status is None:
            return "too long", f"not done after {_SECONDS} s"
        if not report.exists():
            return "crashed", f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {status >> 8}"
        seen = json.loads(report.read_text(encoding="utf-8"))
    if seen.get("bug"):
        return ("too long" if "MemoryError" in seen["bug"] else "crashed"), seen["bug"]
    if seen.get("refused"):
        return "refused", seen["refused"]
    if seen["came"] == expected:
        return "harmless", ""
    if seen.get("checked"):
        return "found by the check", seen["checked"]
    if seen.get("warned"):
        return "refused", seen["warned"]
    return "silent", "another outcome"


def _in_child(subject: Subject, folder: Path, report: Path) -> None:
    """Use a folder, write what came of it, and end the process."""
    seen: dict[str, Any] = {}
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        said = StringIO()
        with warnings.catch_warnings(record=True) as warned, redirect_stdout(said), redirect_stderr(said):
            warnings.simplefilter("always")
            seen["came"] = json.loads(json.dumps(_told("refused", seen, lambda: subject.use(folder))))
            if "refused" not in seen and "bug" not in seen and subject.check is not None:
                check = subject.check
                _told("checked", seen, lambda: check(folder))
        seen["warned"] = " ".join([*(str(one.message) for one in warned), said.getvalue()]).strip()[:300]
    finally:
        try:
            report.write_text(json.dumps(seen), encoding="utf-8")
        finally:
            os._exit(0)  # whatever happens: what this process was forked from must not go on twice


def _told(name: str, seen: dict[str, Any], work: Callable[[], Any]) -> Any:
    """Do something; note under ``name`` what the user is told if he is refused, under ``bug`` what nobody expects."""
    try:
        return work()
    except BaseException as error:
        told, code = explain(error) if isinstance(error, Exception) else (repr(error), 1)
        seen[name if code == 2 else "bug"] = f"{type(error).__name__}: {told}"[:300]
        return None


def _wait(child: int) -> int | None:
    """Return the status of a process when it ends; end it after a while and return ``None``."""
    begun = time.monotonic()
    while time.monotonic() - begun < _SECONDS:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def attack(subjects: Mapping[str, Subject], count: int, seed: int, show: bool = True) -> Damage:
    """Damage each subject in every way in turn, ``count`` times in all."""
    draw = random.Random(seed)
    by_subject: dict[str, Counter[Outcome]] = {name: Counter() for name in subjects}
    by_kind: dict[str, Counter[Outcome]] = {kind: Counter() for kind in MUTATIONS}
    worst: list[tuple[str, str, str, str]] = []
    expected = {name: undamaged(subject) for name, subject in subjects.items()}
    plan = [(name, kind) for name in subjects for kind in MUTATIONS]
    begun = time.monotonic()
    for number in track(range(count), "damaging", console=Console(stderr=True), disable=not show):
        name, kind = plan[number % len(plan)]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / subjects[name].folder.name
            shutil.copytree(subjects[name].folder, folder, symlinks=True)
            file = damaged_by(kind, folder, draw)
            if file is None:
                continue
            outcome, said = trial(subjects[name], folder, expected[name])
            where = str(file.relative_to(folder))
        by_subject[name][outcome] += 1
        by_kind[kind][outcome] += 1
        if outcome in ("silent", "crashed", "too long"):
            worst.append((name, kind, where, said))
    return Damage(
        command=f"python -m lab.faults damage --count {count} --seed {seed}",
        date=today(),
        count=sum(map(Counter.total, by_subject.values())),
        seconds=round(time.monotonic() - begun, 1),
        subjects={name: dict(counts) for name, counts in by_subject.items()},
        kinds={kind: dict(counts) for kind, counts in by_kind.items()},
        worst=worst,
    )


def undamaged(subject: Subject) -> Any:
    """Return what comes of the good folder, in a process of its own, as for the damaged ones."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / subject.folder.name
        shutil.copytree(subject.folder, folder, symlinks=True)
        report = Path(place) / "report.json"
        child = os.fork()
        if not child:
            _in_child(subject, folder, report)
        status = _wait(child)
        seen = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"bug": f"status {status}"}
        if "refused" in seen or "bug" in seen or "checked" in seen:
            raise RuntimeError(f"The undamaged {folder.name} is refused: {seen}")
        return seen["came"]


def command(
    count: Annotated[int, typer.Option(min=1, help="Trials.")] = 500,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Damage folders and see what is made of them."""
    from .subjects import made_subjects

    with tempfile.TemporaryDirectory() as place:
        measured = attack(made_subjects(Path(place)), count, seed)
    typer.echo(f"{measured.count} damaged folders, {measured.seconds:.0f} s\n\n{measured.table()}")
    for one in measured.worst:
        print(*one, sep=" | ", file=sys.stderr)
    keep(measured, json_file)
