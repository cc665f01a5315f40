"""What is left of a killed command is told apart; the processes are real."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lab.faults import kills
from lab.faults.forks import ended, fork
from lab.faults.kills import Command, attack, hidden
from lab.results import Table, merged


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def command(monkeypatch: pytest.MonkeyPatch, work: Any) -> Command:
    """A command of polyqa that does something else."""
    monkeypatch.setattr(kills, "polyqa", lambda words, standalone_mode: work(Path(words[0])))
    return Command("{home}", "out", Path.read_text)


def slowly(home: Path, *, draft: bool) -> int:
    place = home / (".out.draft" if draft else "out")
    with place.open("w") as file:
        for _ in range(20):
            file.write("x")
            file.flush()
            time.sleep(0.01)
    place.replace(home / "out")
    return 0


# A fork of this process, whose threads earlier tests have started, may wait for ever for a lock of one of them.
_ATTACK = """
import sys
from dataclasses import replace
from pathlib import Path
from lab.faults.kills import attack
from lab.faults.subjects import made_commands
name = sys.argv[2]
base, commands = made_commands(Path(sys.argv[1]))
one = replace(commands[name], line=commands[name].line.replace("labeled-few-shot", "knn-bootstrap"))
_, wrong = attack(base, name, one, count=2, seed=0, full=1)
assert not wrong, wrong
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["evaluate", "compile", "adapt"])
def test_a_command_that_is_killed_or_whose_disk_is_full_then_finishes(name: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _ATTACK, tmp_path, name], stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
def test_a_command_that_writes_aside_holds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(home: Path) -> int:
        (home / ".out.draft").unlink(missing_ok=True)
        return slowly(home, draft=True)

    (home / "out").write_text("old")
    tables, wrong = attack(home, "write", command(monkeypatch, work), count=5, seed=0)
    assert wrong == []
    assert [row[:1] + row[2:] for row in tables[""].rows] == [["`polyqa write`", "5", "5", "5", "0"]]


@pytest.mark.slow
def test_a_command_that_cannot_go_on_and_leaves_files_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(home: Path) -> int:
        if (home / "begun").exists():
            return 2
        (home / "begun").touch()
        return slowly(home, draft=False)

    tables, wrong = attack(home, "write", command(monkeypatch, work), count=3, seed=1)
    (row,) = tables[""].rows
    assert int(row[4]) < int(row[2]) == 3
    assert any("not finished: code 2" in one for one in wrong)


@pytest.mark.parametrize(("says", "held"), [(True, "2"), (False, "0")])
def test_a_full_disk_is_told_or_named(says: bool, held: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(home: Path) -> int:
        with suppress(OSError):
            (home / "new").write_bytes(bytes(50_000))
            (home / "new").replace(home / "out")
            return 0
        (home / "new").unlink()
        if not says:
            raise RuntimeError("a bug")
        return 2

    (home / "out").write_text("old")
    tables, wrong = attack(home, "write", command(monkeypatch, work), count=1, seed=0, full=2)
    (row,) = tables["full"].rows
    assert row[2:] == ["2", held, "2", "2", "0"]
    assert len(wrong) == (0 if says else 2)


def test_files_that_only_a_killed_command_leaves_are_litter(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = home.parent / "runs"
    runs.touch()

    def work(home: Path) -> int:
        with runs.open("a") as file:
            file.write("x")
        draft = home / f".out.{os.getpid()}"
        draft.write_text("whole")
        if runs.read_text() == "xx":
            time.sleep(60)  # the second run is the one that is killed
        (home / ".out.lock").touch()
        draft.replace(home / "out")
        return 0

    (home / ".kept").touch()
    (home / "out").write_text("old")
    monkeypatch.setattr(random.Random, "uniform", lambda self, least, most: 2.0)
    tables, wrong = attack(home, "write", command(monkeypatch, work), count=1, seed=0)
    assert [row[2:] for row in tables[""].rows] == [["1", "1", "1", "1"]]
    assert [one.partition(".out.")[0] for one in wrong] == ["write | kills after 2.00 s | not clean: "]
    (home / "a.tmp").touch()
    assert hidden(home) == {".kept", "a.tmp"}


def test_a_table_is_made_piece_by_piece() -> None:
    first, second = (Table(heads=["command", "kills"], rows=rows) for rows in ([["a", "1"], ["b", "2"]], [["b", "3"]]))
    assert merged({"": second, "full": second}, {"": first}) == {
        "": Table(heads=first.heads, rows=[["a", "1"], ["b", "3"]]),
        "full": second,
    }


def test_a_process_that_ends_by_itself_is_not_killed(home: Path) -> None:
    assert ended(fork(lambda: 7, home / "printed"), 20) == 7
    assert ended(fork(signal.pause, home / "printed"), 0.1) is None
