"""What readers of an index find while it is changed again and again.

python -m lab.faults updates [--reads 1000] [--updates 500] [--seed 0] [--json FILE]

One process adds passages to a small index, removes them, and now and then builds it again. Others read meanwhile: one
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
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from polyqa.base.values import Passage
from polyqa.colbert_index import ColBERTIndex, add_passages, build_index, remove_passages
from polyqa.colbert_index.settings import fingerprint
from polyqa.models import Encoder

from ..results import JsonFile, Seed, Table, report
from . import counted
from .forks import fork, in_fork, outcome_of

OUTCOMES = ("whole", "refused", "wrong", "crashed")
_HELD_FOR = 10  # reads
_REBUILT_EVERY = 25  # updates
_LOOK = 0.05  # seconds


def problem_of(index: ColBERTIndex) -> str:
    """Use all that an index has; return what is not of one piece, or nothing."""
    first, newest = index.passages[0], index.passages[-1]
    queries = [first.indexed_text, newest.indexed_text]
    for name, found in (("search", index.search_many(queries, 3)), ("bm25", index.bm25.search_many(queries, 3))):
        for wanted, hits in zip((first, newest), found, strict=True):
            if wanted.pid not in {hit.pid for hit in hits}:
                return f"{name} does not find {wanted.pid} in {index.version}"
    if fingerprint(index.positions, index.manifest.checkpoint_hash, index.settings) != index.fingerprint:
        return f"the passages are not those of {index.version}"
    stored = index.vectors(index.manifest.encoder or "")
    if stored is None or len(stored) != len(index.positions):
        return f"the sentence vectors are not those of {index.version}"
    return ""


def _held(path: Path) -> Callable[[], str]:
    held: list[ColBERTIndex] = []

    def read() -> str:
        if not held:
            held.extend([ColBERTIndex(path)] * _HELD_FOR)
        return problem_of(held.pop())

    return read


WAYS: Mapping[str, Callable[[Path], Callable[[], str]]] = {
    "opens the index": lambda path: lambda: problem_of(ColBERTIndex(path)),
    "in a process of its own": lambda path: lambda: problem_of(ColBERTIndex(path)),
    "with a handle that serves ten reads": _held,
}


def read(way: str, use: Callable[[], str]) -> tuple[str, str]:
    """Read once; return one of `OUTCOMES`, and why."""
    seen = (in_fork if way == "in a process of its own" else outcome_of)(use)
    kind = {"done": "wrong" if seen.value else "whole", "refused": "refused"}.get(seen.kind, "crashed")
    return kind, seen.value or seen.text


def _read_on(way: str, path: Path, log: Path, stop: Path) -> None:
    use = WAYS[way](path)
    while not stop.exists():
        _note(log, json.dumps(read(way, use)))


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


def _note(log: Path, line: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def attack(index: Path, reads: int, updates: int, seed: int) -> tuple[Table, list[str], str]:
    """Read a copy of an index in all ways, while it is changed, until there are enough reads and updates.

    What is to be shared by the processes must be loaded, but nothing be searched: threads do not survive a fork.

    Returns
    -------
    Table, list of str, str
        How often each outcome came; the reads that were not whole; how many updates there were.
    """
    with tempfile.TemporaryDirectory() as place:
        home, begun = Path(place), time.monotonic()
        path = Path(shutil.copytree(index, home / "index"))
        stop, log, printed = home / "stop", home / "updates.log", home / "printed.txt"
        logs = {way: home / f"{number}.log" for number, way in enumerate(WAYS)}
        children = [fork(partial(_update, path, seed, log, stop), printed)]
        children += [fork(partial(_read_on, way, path, logs[way], stop), home / f"{way}.txt") for way in WAYS]
        try:
            while sum(len(_lines(one)) for one in logs.values()) < reads or len(_lines(log)) < updates:
                if os.waitpid(-1, os.WNOHANG)[0]:
                    raise RuntimeError(f"A process ended: {' '.join(one.read_text() for one in home.glob('*.txt'))}")
                time.sleep(_LOOK)
        finally:
            stop.touch()
            for child in children:
                with suppress(ChildProcessError):  # it has been waited for
                    os.waitpid(child, 0)
        seen = {way: [json.loads(line) for line in _lines(one)] for way, one in logs.items()}
        counts = {way: Counter(kind for kind, _ in outcomes) for way, outcomes in seen.items()}
        wrong = [f"{way} | {kind}: {why}" for way, own in seen.items() for kind, why in own if kind != "whole"]
        left = len(list((path / "versions").iterdir()))
        about = f"{len(_lines(log))} updates in {time.monotonic() - begun:.0f} s; versions left at the end: {left}"
        return counted(["each read", "reads"], OUTCOMES, counts), wrong, about


def command(
    reads: Annotated[int, typer.Option(min=1, help="At least so many reads.")] = 1000,
    updates: Annotated[int, typer.Option(min=1, help="At least so many updates.")] = 500,
    seed: Seed = 0,
    json_file: JsonFile = None,
) -> None:
    """Read an index while it is changed."""
    from .subjects import made_index

    with tempfile.TemporaryDirectory() as place:
        table, wrong, about = attack(made_index(Path(place)), reads, updates, seed)
    typer.echo("\n".join(wrong), err=True)
    report(about, table, json_file)
