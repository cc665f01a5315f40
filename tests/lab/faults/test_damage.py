"""Each outcome of a damage is told from the others; the processes that use the folders are real."""

import json
import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.faults.damage import MUTATIONS, Subject, attack, damaged_by, trial
from lab.faults.forks import in_fork
from polyqa.base.errors import PolyqaError


def read(path: Path) -> Any:
    return json.loads((path / "data.json").read_text())


def refuse(path: Path) -> None:
    raise PolyqaError("It is damaged.")


def warn(path: Path) -> int:
    warnings.warn("A line is left out.", stacklevel=1)
    return 2


def crash(path: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def bug(path: Path) -> None:
    raise IndexError("out of bounds")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "data.json").write_text('{"a": [1, 2], "b": {"c": "d"}}')
    return tmp_path / "good"


@pytest.mark.parametrize(
    ("use", "check", "outcome"),
    [
        (lambda path: 1, None, "harmless"),
        (lambda path: 2, None, "silent"),
        (lambda path: 2, refuse, "found by the check"),
        (warn, None, "refused"),
        (refuse, None, "refused"),
        (bug, None, "crashed"),
        (crash, None, "crashed"),
        (lambda path: bytearray(10**11), None, "too long"),
    ],
)
def test_outcomes(
    use: Callable[[Path], Any], check: Callable[[Path], object] | None, outcome: str, folder: Path
) -> None:
    assert trial(Subject(folder, use, check), folder, 1)[0] == outcome


def test_a_use_that_does_not_end_is_ended() -> None:
    assert in_fork(lambda: time.sleep(60), seconds=0.2).kind == "too long"


@pytest.mark.parametrize("kind", MUTATIONS)
@pytest.mark.parametrize("seed", range(2))
def test_one_file_is_damaged_as_the_seed_draws(kind: str, seed: int, folder: Path, tmp_path: Path) -> None:
    before = (folder / "data.json").read_bytes()
    assert damaged_by(kind, folder, random.Random(seed)) == folder / "data.json"
    after = (folder / "data.json").read_bytes() if (folder / "data.json").exists() else None
    assert after != before
    (folder / "data.json").write_bytes(before)
    damaged_by(kind, folder, random.Random(seed))
    assert ((folder / "data.json").read_bytes() if (folder / "data.json").exists() else None) == after


@pytest.mark.slow
def test_an_attack_counts_by_subject_and_by_kind_and_leaves_the_good_folder(folder: Path) -> None:
    before = (folder / "data.json").read_bytes()
    table, wrong = attack({"a file": Subject(folder, read)}, count=12, seed=0)
    assert (folder / "data.json").read_bytes() == before
    counts = {row[0]: list(map(int, row[1:])) for row in table.rows}
    assert counts["a file"][0] == sum(counts["a file"][1:]) == 12
    assert all(counts[kind][0] == 2 for kind in MUTATIONS)
    assert counts["a file"][5] >= 2, "json.loads is no reader of strangers' files"
    assert len(wrong) == sum(counts["a file"][4:])


def test_a_good_folder_that_is_refused_is_a_mistake_of_the_attack(folder: Path) -> None:
    with pytest.raises(RuntimeError, match="undamaged good is refused"):
        attack({"a file": Subject(folder, refuse)}, count=1, seed=0)
