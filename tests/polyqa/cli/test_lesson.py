"""`polyqa lesson`: the list, a copy that is opened."""

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Printed, Refused

from polyqa.lesson_files import lesson, lessons


def test_the_command_lists_the_lessons(printed: Printed) -> None:
    out = printed("lesson")
    assert all(one.title in out for one in lessons())


@pytest.mark.parametrize("installed", [True, False])
def test_the_command_opens_a_copy_in_jupyter_lab(
    installed: bool, tmp_path: Path, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    def start(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        started.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("polyqa.base.extras.find_spec", lambda name: object() if installed else None)
    monkeypatch.setattr("polyqa.cli.lesson.subprocess.run", start)
    out = printed("lesson", "1")
    name = lesson(1).path.name
    assert (tmp_path / name).is_file()
    assert f"Your copy is {name}." in out
    if installed:
        assert started == [[sys.executable, "-P", "-m", "jupyter", "lab", name]]
    else:
        assert not started
        assert "pip install 'polyqa[lessons]'" in out


def test_a_full_disk_leaves_no_part_of_a_lesson(
    tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert "No space left on device" in refused("lesson", "1", "--out", tmp_path)
    assert list(tmp_path.iterdir()) == []
