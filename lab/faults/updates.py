"""What readers of an index find while it is changed again and again.

python -m lab.faults updates [--reads 1000] [--updates 500] [--seed 0] [--json FILE]

One process adds passages to a small index, removes them, and now and then builds it anew. Others read meanwhile: one
opens the index for every read, one does so in a process of its own each time, one holds what it opened for ten reads. A
read is *whole* if the index finds a passage that was always there and its newest one, by vectors and by words, and its
passages give its fingerprint: all of it is of one version. Else it was *refused* in one line, *wrong*, or it *crashed*.
"""

import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import Progress

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, add_passages, build_index, remove_passages
from polyqa.colbert_index.settings import fingerprint
from polyqa.evaluation.tables import markdown_table
from polyqa.models import Encoder

from ..results import Part, keep, today
from .forks import started

Outcome = Literal["whole", "refused", "wrong", "crashed"]
OUTCOMES: tuple[Outcome, ...] = ("whole", "refused", "wrong", "crashed")
_HELD_FOR = 10  # reads
_REBUILT_EVERY = 25  # updates
_LOOK = 0.05  # seconds


class Reads(Part):
    """A measurement: what repeats it, how many updates there were, and how often each outcome came, by way of reading.

    Attributes
    ----------
    left
        Versions that were left when all had ended; the one in force is one.
    worst
        The reads that were not whole: way, outcome, what was told.
    """

    command: str
    date: str
    seconds: float
    updates: int
    left: int
    rows: dict[str, dict[Outcome, int]]
    worst: list[tuple[str, str, str]]

    def table(self) -> str:
        """Return the outcomes as a table."""
        rows = (
            [name, str(sum(counts.values())), *(str(counts.get(one, 0)) for one in OUTCOMES)]
            for name, counts in self.rows.items()
        )
        return markdown_table(["each read", "reads", *OUTCOMES], rows)


def read(index: ColBERTIndex) -> None:
    """Use all that an index has.

    Raises
    ------
    ValueError
        If it is not of one piece.
    """
    first, newest = index.passages[0], index.passages[-1]
    queries = [first.indexed_text, newest.indexed_text]
    for name, found in (("search", index.search_many(queries, 3)), ("bm25", index.bm25.search_many(queries, 3))):
        for wanted, hits in zip((first, newest), found, strict=True):
            if wanted.pid not in {hit.pid for hit in hits}:
                raise ValueError(f"{name} does not find {wanted.pid} in {index.version}")
    if fingerprint(index.positions, index.manifest.checkpoint_hash, index.settings) != index.fingerprint:
        raise ValueError(f"the passages are not those of {index.version}")
    stored = index.vectors(index.manifest.encoder or "")
    if stored is None or len(stored) != len(index.positions):
        raise ValueError(f"the sentence vectors are not those of {index.version}")


def _outcome(work: Callable[[], None]) -> tuple[Outcome, str]:
    try:
        work()
    except PolyqaError as error:
        return "refused", str(error)
    except ValueError as error:
        return "wrong", str(error)
    except Exception as error:
        return "crashed", f"{type(error).__name__}: {error}"
    return "whole", ""


def _anew(path: Path) -> Callable[[], tuple[Outcome, str]]:
    return lambda: _outcome(lambda: read(ColBERTIndex(path)))


def _held(path: Path) -> Callable[[], tuple[Outcome, str]]:
    held: list[ColBERTIndex] = []
    uses = 0

    def use() -> None:
        nonlocal uses
        if uses % _HELD_FOR == 0:
            held[:] = [ColBERTIndex(path)]
        uses += 1
        read(held[0])

    return lambda: _outcome(use)


def _apart(path: Path) -> Callable[[], tuple[Outcome, str]]:
    def use() -> tuple[Outcome, str]:
        with tempfile.TemporaryFile() as report:
            child = os.fork()
            if not child:
                try:
                    report.write(json.dumps(_outcome(lambda: read(ColBERTIndex(path)))).encode())
                    report.flush()
                finally:
                    os._exit(0)
            _, status = os.waitpid(child, 0)
            report.seek(0)
            told = report.read()
        if os.WIFSIGNALED(status) or not told:
            return "crashed", f"status {status}"
        outcome, why = json.loads(told)
        return outcome, why

    return use


_WAYS: dict[str, Callable[[Path], Callable[[], tuple[Outcome, str]]]] = {
    "opens the index": _anew,
    "in a process of its own": _apart,
    "with a handle that is kept for ten": _held,
}


def _update(path: Path, seed: int, log: Path, stop: Path) -> None:
    """Change an index again and again until there is the file ``stop``."""
    draw, encoder = random.Random(seed), Encoder()
    kept = ColBERTIndex(path).passages
    extra: list[Passage] = []
    number = 0
    while not stop.exists():
        number += 1
        if number % _REBUILT_EVERY == 0:
            extra = extra[-1:]
            build_index([*kept, *extra], path, encoder=encoder, overwrite=True, progress=False)
        elif extra and draw.random() < 0.5:
            gone = extra.pop(draw.randrange(len(extra)))
            remove_passages(ColBERTIndex(path), [gone.pid])
        else:
            text = f"Beacon {number} of the coast stands {draw.randrange(10, 90)} metres above the sea."
            extra.append(Passage(pid=f"beacon-{number}", title=f"Beacon {number}", text=text))
            add_passages(ColBERTIndex(path), extra[-1:])
        _note(log, "")


def _read_on(way: str, path: Path, log: Path, stop: Path) -> None:
    use = _WAYS[way](path)
    while not stop.exists():
        _note(log, json.dumps(use()))


def _note(log: Path, line: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def attack(index: Path, reads: int, updates: int, seed: int, show: bool = True) -> Reads:
    """Read a copy of an index in all ways, while it is changed, until there are enough reads and updates.

    What is to be shared by the processes must be loaded, but nothing be searched: threads do not survive a fork.
    """
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        path = Path(shutil.copytree(index, home / "index"))
        stop, log, said = home / "stop", home / "updates.log", home / "said.txt"
        logs = {way: home / f"{number}.log" for number, way in enumerate(_WAYS)}
        begun = time.monotonic()

        def reader(way: str) -> int:
            return started(lambda: _read_on(way, path, logs[way], stop), said)

        writer = started(lambda: _update(path, seed, log, stop), said)
        running = {reader(way): way for way in _WAYS}
        try:
            with Progress(console=Console(stderr=True), disable=not show) as bar:
                task = bar.add_task("reading", total=reads)
                while True:
                    done = sum(len(_lines(one)) for one in logs.values())
                    bar.update(task, completed=done)
                    if done >= reads and len(_lines(log)) >= updates:
                        break
                    ended, status = os.waitpid(-1, os.WNOHANG)
                    if ended == writer:
                        raise RuntimeError(f"The writer ended with status {status}: {said.read_text()[-1000:]}")
                    if ended:
                        way = running.pop(ended)
                        _note(logs[way], json.dumps(["crashed", f"status {status}"]))
                        running[reader(way)] = way
                    time.sleep(_LOOK)
        finally:
            stop.touch()
            for child in (writer, *running):
                with suppress(ChildProcessError):  # it has been waited for
                    os.waitpid(child, 0)
        seconds = time.monotonic() - begun
        outcomes = {way: [json.loads(line) for line in _lines(one)] for way, one in logs.items()}
        return Reads(
            command=f"python -m lab.faults updates --reads {reads} --updates {updates} --seed {seed}",
            date=today(),
            seconds=round(seconds, 1),
            updates=len(_lines(log)),
            left=len(list((path / "versions").iterdir())),
            rows={way: dict(Counter(outcome for outcome, _ in own)) for way, own in outcomes.items()},
            worst=[(way, outcome, why) for way, own in outcomes.items() for outcome, why in own if outcome != "whole"],
        )


def command(
    reads: Annotated[int, typer.Option(min=1, help="At least so many reads.")] = 1000,
    updates: Annotated[int, typer.Option(min=1, help="At least so many updates.")] = 500,
    seed: Annotated[int, typer.Option(help="Of the updates.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the table as JSON.")] = None,
) -> None:
    """Read an index while it is changed."""
    from .subjects import made_index

    with tempfile.TemporaryDirectory() as place:
        measured = attack(made_index(Path(place)), reads, updates, seed)
    typer.echo(f"{measured.updates} updates, {measured.seconds:.0f} s\n\n{measured.table()}")
    for one in measured.worst:
        typer.echo(" | ".join(one), err=True)
    keep(measured, json_file)
