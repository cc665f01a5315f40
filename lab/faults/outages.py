"""What commands keep when the language model's server begins to fail in the midst of them.

python -m lab.faults outages [--count 40] [--seed 0] [--only NAME …] [--json FILE]

Each trial runs a command with a server that answers well until a drawn request, and fails from then on in one of the
ways of `lm`, which come in turn. The command must end by itself, with its results or with one line that says why it has
none. Then the server is well again, and the same command must finish with the outcome of one that was not disturbed.
"""

import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

import dspy
import typer

from polyqa.asking import ask
from polyqa.cli.errors import NOTHING_DONE, WITH_FAILURES
from polyqa.extractive import embedded_lm
from polyqa.language_models import embedded_engine

from ..results import JsonFile, Seed, Table, merged, report, stored_tables, tracked
from .damage import Subject, undamaged
from .forks import said
from .kills import Command, answers_in, answers_of
from .lm import FAILURES, FaultyServer, faulty_server

_LONGEST = 240.0  # seconds
_HEADS = ["command", "outages", "no signal and no traceback", "told or done", "finished as undisturbed"]
_HEADS.append("requests answered before, and sent again")


@dataclass
class Trial:
    """How a command ended: its exit code, ``None`` if it had to be ended; what it printed; requests answered to it."""

    code: int | None
    printed: str
    answered: int


def _run(one: Command, home: Path, server: FaultyServer) -> Trial:
    printed, before = home.with_name("printed.txt"), server.answered
    code = one.ended(home, printed, _LONGEST)
    return Trial(code, said(printed), server.answered - before)


def _usual(one: Command, base: Path, server: FaultyServer) -> tuple[Any, int]:
    """Run a command undisturbed; return its outcome, and its requests.

    Before that it runs in this process: what it loads its forks need not load, and the server knows its replies.
    """
    with _copied(base) as home, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        one.run(home)
    with _copied(base) as home:
        usual = _run(one, home, server)
        if usual.code != 0:
            raise RuntimeError(f"The undisturbed command failed with code {usual.code}: {usual.printed}")
        return undamaged(Subject(home, one.outcome)), usual.answered


@contextmanager
def _copied(base: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        yield Path(shutil.copytree(base, Path(place) / "home", symlinks=True))


def attack(
    base: Path, name: str, made: Callable[[str], Command], failures: Sequence[str], count: int, seed: int
) -> tuple[Table, list[str]]:
    """Let the server fail in the midst of a command so often; return the counts, and what went wrong.

    Parameters
    ----------
    base
        The folder that each trial begins with.
    made
        Returns the command, given the server's address.
    failures
        Names of `FAILURES`, which come in turn.
    """
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    draw = random.Random(f"{seed} {name}")
    with faulty_server() as server:
        one = made(server.base)
        outcome, requests = _usual(one, base, server)
        for failure in tracked(islice(cycle(failures), count), name):
            with _copied(base) as home:
                with server.failing(FAILURES[failure], after=draw.randrange(requests)):
                    during = _run(one, home, server)
                after = _run(one, home, server)
                same = after.code == 0 and undamaged(Subject(home, one.outcome)) == outcome
            crashed = during.code not in (0, NOTHING_DONE, WITH_FAILURES)
            told = during.code == 0 or bool(during.printed.strip())
            counts.update(trials=1, held=int(not crashed), told=int(told), finished=int(same), before=during.answered)
            counts["again"] += max(0, during.answered + after.answered - requests)
            for fault in ("crashed",) * crashed + ("silent",) * (not told) + ("not finished",) * (not same):
                wrong.append(f"{name} | {failure} | {fault}: {during.code} {during.printed[-200:]!r} {after.code}")
    cells = [str(counts[each]) for each in ("trials", "held", "told", "finished")]
    row = [f"`polyqa {name}`", *cells, f"{counts['before']}, {counts['again']}"]
    return Table(heads=_HEADS, rows=[row]), wrong


def asked_commands(address: str, timeout: float) -> dict[str, Command]:
    """Return commands that ask a server, and wait so many seconds for a reply."""
    asking = f"--program rac --lm openai/m --api-base '{address}' --timeout {timeout} --retries 0"
    sets = "--threads 1 --yes --train {home}/train.json --dev {home}/dev.json"
    return {
        "ask": Command(f"ask 'When did Titanic come out?' {asking}", "", lambda home: None),
        "answer": Command(f"answer {{home}}/asked.jsonl --out {{home}}/a.jsonl --yes {asking}", "a.jsonl", answers_in),
        "evaluate": Command(
            f"evaluate --judge none --questions {{home}}/dev.json --runs {{home}} --name run --threads 1 {asking}",
            "run",
            answers_of,
        ),
        "compile": Command(
            f"compile --recipe labeled-few-shot --out {{home}}/made {sets} {asking}",
            "made/program.json",
            lambda path: json.loads(path.read_text(encoding="utf-8")),
        ),
    }


def command(
    count: Annotated[int, typer.Option(min=1, help="Outages of each command.")] = 40,
    failure: Annotated[list[str] | None, typer.Option(help=f"Repeat for more: {', '.join(FAILURES)}.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="A command, such as answer; repeat for more.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a call may take.")] = 5.0,
    seed: Seed = 0,
    json_file: JsonFile = None,
) -> None:
    """Let a language model's server fail in the midst of commands."""
    from .subjects import prepare_forks, write_questions

    os.environ["OPENAI_API_KEY"] = "none"
    tables = stored_tables(json_file) if only else {}
    with tempfile.TemporaryDirectory() as place:
        dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
        prepare_forks()
        # The server's model, and what the forks share; its first reply takes longer than a call may.
        ask("When did Titanic come out?", program="rac", lm=embedded_lm(embedded_engine()))
        base = Path(place) / "home"
        base.mkdir()
        write_questions(base)
        for name in only or asked_commands("", timeout):
            made = lambda address, name=name: asked_commands(address, timeout)[name]  # noqa: E731
            table, wrong = attack(base, name, made, failure or list(FAILURES), count, seed)
            typer.echo("\n".join(wrong), err=True)
            tables = merged({"": table}, tables)
            report(f"A server that fails in one of {len(failure or FAILURES)} ways", tables, json_file)
