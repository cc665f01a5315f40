"""What polyqa makes of damaged folders: indexes, databases of questions, artifacts, runs.

python -m lab.faults damage [--count 500] [--seed 0] [--json FILE]

Each trial copies a good folder, damages one drawn file, and uses the folder as its command would, in a process of its
own. A damage is *refused* where polyqa says in one line what is wrong, *harmless* where the outcome is the same as
before. What must not be: a *crash* (a signal, or an error that is no `PolyqaError`), *too long* (over 30 s, or over 2
GiB more than at its start), and *silent*: another outcome, with no word of it from the use or from the check.
"""

import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..results import JsonFile, Seed, Table, report, tracked
from . import counted
from .forks import in_fork

OUTCOMES = ("refused", "harmless", "found by the check", "silent", "crashed", "too long")
_EVIL: tuple[Any, ...] = (
    *(-1, 0, 10**7, 10**18, 1e308, True, None, "", [], {}, [[[[[]]]]]),
    "../../../../etc/passwd",
    "\x1b]52;c;aGk=\x07[red]\udcff",
    "x" * 100_000,
)


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


def trial(subject: Subject, folder: Path, expected: Any) -> tuple[str, str]:
    """Use a damaged folder in a process of its own; return one of `OUTCOMES`, and what was said."""
    used = in_fork(lambda: subject.use(folder))
    if used.kind != "done":
        return used.kind, used.text
    if used.value == expected:
        return "harmless", ""
    if subject.check is not None:
        check = subject.check
        checked = in_fork(lambda: bool(check(folder)))
        if checked.kind == "refused":
            return "found by the check", checked.text
    return ("refused", used.text) if used.text else ("silent", "another outcome")


def undamaged(subject: Subject) -> Any:
    """Return what comes of the good folder, in a process of its own, as for the damaged ones."""
    used = in_fork(lambda: subject.use(subject.folder))
    if used.kind != "done":
        raise RuntimeError(f"The undamaged {subject.folder.name} is {used.kind}: {used.text}")
    return used.value


def _cut(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


def _flip(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 4, 64])):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def _remove(path: Path, draw: random.Random) -> None:
    path.unlink()


def _fill(path: Path, draw: random.Random) -> None:
    path.write_bytes(draw.choice([b"", b"\0" * path.stat().st_size, b"null", b"{}", b"PK\x03\x04", b"\x80\x04."]))


def _append(path: Path, draw: random.Random) -> None:
    with path.open("ab") as file:
        file.write(draw.choice([b"\0", b"\n{}\n", b"\xff" * 1000, b"null\n"]))


def _value(path: Path, draw: random.Random) -> None:
    """Put an unexpected value in the place of a drawn one, in the file or in a line of it."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines() if path.suffix == ".jsonl" else [text]
    at = draw.randrange(len(lines))
    data = json.loads(lines[at])
    if places := list(_places(data)):
        holder, key = draw.choice(places)
        holder[key] = draw.choice(_EVIL)
    else:
        data = draw.choice(_EVIL)
    lines[at] = json.dumps(data)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield data, key
        yield from _places(value)


MUTATIONS: Mapping[str, Callable[[Path, random.Random], None]] = {
    "cut": _cut,
    "bits flipped": _flip,
    "removed": _remove,
    "overwritten": _fill,
    "bytes appended": _append,
    "an unexpected value": _value,
}
"""What is done to a file; unexpected values are put into files of JSON only."""


def damaged_by(kind: str, folder: Path, draw: random.Random) -> Path | None:
    """Damage a drawn file of a folder; return it, or ``None`` if there is none that can be damaged so."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    if kind == "an unexpected value":
        files = [path for path in files if path.suffix in (".json", ".jsonl")]
    if not files:
        return None
    chosen = draw.choice(files)
    MUTATIONS[kind](chosen, draw)
    return chosen


def attack(subjects: Mapping[str, Subject], count: int, seed: int) -> tuple[Table, list[str]]:
    """Damage each subject in every way in turn; return how often each outcome came, and the trials that went wrong."""
    draw = random.Random(seed)
    counts: dict[str, Counter[str]] = {name: Counter() for name in (*subjects, *MUTATIONS)}
    wrong = []
    expected = {name: undamaged(subject) for name, subject in subjects.items()}
    plan = [(name, kind) for name in subjects for kind in MUTATIONS]
    for number in tracked(range(count), "damaging"):
        name, kind = plan[number % len(plan)]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(shutil.copytree(subjects[name].folder, Path(place) / subjects[name].folder.name))
            file = damaged_by(kind, folder, draw)
            if file is None:
                continue
            outcome, text = trial(subjects[name], folder, expected[name])
        counts[name][outcome] += 1
        counts[kind][outcome] += 1
        if outcome in ("silent", "crashed", "too long"):
            wrong.append(f"{name} | {kind} | {file.relative_to(folder)} | {outcome}: {text}")
    return counted(["damaged", "trials"], OUTCOMES, counts), wrong


def command(
    count: Annotated[int, typer.Option(min=1, help="Trials.")] = 500,
    seed: Seed = 0,
    json_file: JsonFile = None,
) -> None:
    """Damage folders and see what is made of them."""
    from .subjects import made_subjects

    with tempfile.TemporaryDirectory() as place:
        table, wrong = attack(made_subjects(Path(place)), count, seed)
    typer.echo("\n".join(wrong), err=True)
    report(f"{count} damaged folders", table, json_file)
