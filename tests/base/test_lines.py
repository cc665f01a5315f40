"""Whatever happens to a file of lines: no line is read that was not written, and the good ones survive."""

import contextlib
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyqa.base import lines as module
from polyqa.base.errors import PolyqaError
from polyqa.base.journal import appending, read_journal
from polyqa.base.lines import DamageWarning, appending_lines, json_object, read_lines, with_checksum

SETTINGS = {"lm": "one", "corpus": "ü"}
ITEMS: list[dict[str, Any]] = [
    {"id": "a", "text": 'It says "crc": "00000000"}.', "inner": {"crc": "00000000"}},
    {"id": "ü", "text": "Grün\u2028\r\n, \x85 or blue"},
    {"id": "c", "text": "", "score": 0.5},
    {"id": "d", "crc": "its own"},
    {"id": "half a character", "text": "\ud83d"},
]
quiet = pytest.mark.filterwarnings("ignore::polyqa.base.lines.DamageWarning")
each_time = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)


def write(path: Path, items: list[dict[str, Any]] = ITEMS) -> bytes:
    """Write a journal anew; return its bytes."""
    path.unlink(missing_ok=True)
    with appending(path, SETTINGS) as append:
        for item in items:
            append(item)
    return path.read_bytes()


def read_again(path: Path) -> list[dict[str, Any]]:
    """Read a journal as a program does that goes on: the second time there is nothing to mend."""
    kept = read_journal(path, SETTINGS)
    again = read_lines(path, json_object)
    assert not again.faults
    assert not again.torn
    assert not again.unended
    assert [line.value for line in again.whole[1:]] == kept
    return kept


# Damage


def test_lines_are_read_as_they_were_written_and_are_json(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    data = write(path)
    assert read_again(path) == ITEMS
    first, *rest = map(json.loads, data.decode().split("\n")[:-1])
    assert first["settings"] == SETTINGS
    assert [one["id"] for one in rest] == [one["id"] for one in ITEMS]
    assert all(list(one)[-1] == "crc" for one in rest)


@quiet
def test_a_file_cut_at_any_byte_keeps_every_whole_line_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    data = write(path)
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        whole = max(data[: cut + 1].count(b"\n") - 1, 0)
        assert read_again(path) == ITEMS[:whole]
        with appending(path, SETTINGS) as append:
            append(ITEMS[0])
        assert read_again(path) == [*ITEMS[:whole], ITEMS[0]]


@quiet
@each_time
@given(data=st.data())
def test_a_flipped_byte_costs_its_line_and_no_other(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "j.jsonl"
    written = write(path)
    at = data.draw(st.integers(written.index(b"\n") + 1, len(written) - 1), label="byte")
    new = data.draw(st.integers(0, 255).filter(lambda one: one != written[at]), label="new")
    path.write_bytes(written[:at] + bytes([new]) + written[at + 1 :])
    hit = written[:at].count(b"\n") - 1
    # Where the end of a line was hit, two lines have become one; where an end came in, one has become two.
    lost = {hit, hit + 1} if written[at] == ord("\n") else {hit}
    assert read_again(path) == [item for number, item in enumerate(ITEMS) if number not in lost]


@each_time
@given(data=st.data())
def test_settings_with_a_flipped_byte_are_never_taken_for_others(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "j.jsonl"
    written = write(path)
    at = data.draw(st.integers(0, written.index(b"\n")), label="byte")
    new = data.draw(st.integers(0, 255).filter(lambda one: one != written[at]), label="new")
    damaged = written[:at] + bytes([new]) + written[at + 1 :]
    path.write_bytes(damaged)
    with pytest.raises(PolyqaError, match=r"j\.jsonl is damaged: its first line, .* Remove it to start again\.$"):
        read_journal(path, SETTINGS)
    assert path.read_bytes() == damaged, "it is left as it is"


@quiet
@each_time
@given(data=st.data())
def test_rubbish_anywhere_is_never_read(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "j.jsonl"
    written = write(path)
    start = data.draw(st.integers(written.index(b"\n") + 1, len(written)), label="start")
    end = data.draw(st.integers(start, len(written)), label="end")
    rubbish = data.draw(st.binary(max_size=40) | st.just(bytes(end - start)), label="rubbish")
    path.write_bytes(written[:start] + rubbish + written[end:])
    kept = read_again(path)
    assert all(item in ITEMS for item in kept)
    before = written[:start].count(b"\n") - 1
    assert kept[:before] == ITEMS[:before]
    after = written[end:].count(b"\n") - (not written[:end].endswith(b"\n") or not rubbish.endswith(b"\n"))
    assert kept[len(kept) - max(after, 0) :] == ITEMS[len(ITEMS) - max(after, 0) :]


def test_of_52_lines_51_survive_and_what_is_lost_is_told(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    items = [{"id": f"q{at}"} for at in range(52)]
    path.write_bytes(write(path, items).replace(b'"q30"', b'"q3X"') + b'{"id": "q5')
    told = (
        r"j\.jsonl: 1 line is damaged \(32\), and the last line was not written to its end; 52 good lines are kept\.$"
    )
    with pytest.warns(DamageWarning, match=told):
        assert read_journal(path, SETTINGS) == [*items[:30], *items[31:]]
    assert read_again(path) == [*items[:30], *items[31:]], "without a warning: it is mended"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"id": "a"}\n', "no journal that polyqa began"),
        ('{"settings": 3}\n', "no journal that polyqa began"),
        ("a text without an end", "no journal that polyqa began"),
        ("a text\nof two lines\n", "damaged: its first line"),
        ("[1]\n", "damaged: its first line"),
        ('{"settings": {"lm": "two"}}\n{"id": "torn', "begun with other settings .lm was two, is one; corpus was None"),
    ],
)
def test_what_is_no_journal_of_this_work_is_left_alone(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(text)
    with pytest.raises(PolyqaError, match=told):
        read_journal(path, SETTINGS)
    assert path.read_text() == text


@quiet
@pytest.mark.parametrize("begun", [b"", b'{"sett', b'{"settings": {"lm": ', b"\0" * 300])
def test_of_a_journal_that_was_only_begun_nothing_is_kept(tmp_path: Path, begun: bytes) -> None:
    path = tmp_path / "j.jsonl"
    path.write_bytes(begun)
    assert read_journal(path, SETTINGS) == []
    with appending(path, SETTINGS) as append:
        append(ITEMS[0])
    assert read_again(path) == ITEMS[:1]


@quiet
def test_a_journal_of_an_older_polyqa_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    older = [{"settings": SETTINGS}, *ITEMS[:2]]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in older) + '{"id": "to')
    assert read_again(path) == ITEMS[:2]
    with appending(path, SETTINGS) as append:
        append(ITEMS[2])
    assert read_again(path) == ITEMS[:3]
    path.write_bytes(path.read_bytes() + b'{"id": "without a checksum"}\n')
    assert read_again(path) == ITEMS[:3], "polyqa writes none any more"


# Writing


class Disk:
    """Takes the place of `os.write`: takes so many bytes of each call, and so many in all."""

    def __init__(self, at_once: int, room: int, error: BaseException) -> None:
        self.at_once, self.room, self.error = at_once, room, error
        self.write = os.write

    def __call__(self, file: int, data: bytes) -> int:
        if not self.room:
            raise self.error
        written = self.write(file, bytes(data[: min(self.at_once, self.room)]))
        self.room -= written
        return written


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Disk]:
    def make(at_once: int = 1 << 20, room: int = 1 << 20, error: BaseException | None = None) -> Disk:
        made = Disk(at_once, room, error or OSError(errno.ENOSPC, "No space left on device"))
        monkeypatch.setattr(module.os, "write", made)
        return made

    return make


@pytest.mark.parametrize("at_once", [1, 2, 7, 64])
def test_short_writes_make_whole_lines(tmp_path: Path, disk: Callable[..., Disk], at_once: int) -> None:
    path = tmp_path / "j.jsonl"
    whole = write(path)
    disk(at_once)
    assert write(path) == whole


def test_a_full_disk_is_one_error_and_leaves_whole_lines(tmp_path: Path, disk: Callable[..., Disk]) -> None:
    path = tmp_path / "j.jsonl"
    whole = write(path)
    told = r"j\.jsonl cannot be written: No space left on device\. What it held before is kept; mend the cause"
    for room in range(len(whole)):
        full = disk(at_once=5, room=room)
        with pytest.raises(PolyqaError, match=told):
            write(path)
        full.room = 1 << 20
        lines = whole[:room].count(b"\n")
        assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:lines])


def test_a_disk_that_has_room_again_is_gone_on_with_in_the_same_file(tmp_path: Path, disk: Callable[..., Disk]) -> None:
    path = tmp_path / "j.jsonl"
    full = disk(at_once=5)
    with appending_lines(path) as file:
        for room in (3, 0, 12):
            full.room = room
            with pytest.raises(PolyqaError):
                file.append(with_checksum('{"id": "lost"}'))
            full.room = 1 << 20
            file.append(with_checksum('{"id": "kept"}'))
    assert path.read_text() == with_checksum('{"id": "kept"}') * 3


@pytest.mark.parametrize("room", range(0, 40, 3))
def test_ctrl_c_in_the_middle_of_a_line_breaks_none(tmp_path: Path, disk: Callable[..., Disk], room: int) -> None:
    path = tmp_path / "j.jsonl"
    line = with_checksum('{"id": "interrupted"}')
    stopped = disk(at_once=4, error=KeyboardInterrupt())
    with appending_lines(path) as file:
        file.append(with_checksum('{"id": "first"}'))
        stopped.room = room
        with contextlib.suppress(KeyboardInterrupt):
            file.append(line)
        stopped.room = 1 << 20
        file.append(with_checksum('{"id": "after"}'))
    kept = [found.value["id"] for found in read_lines(path, json_object).whole]
    assert kept == ["first", *(["interrupted"] if room >= len(line) else []), "after"]
    assert path.read_bytes().count(b"\n") == len(kept)


def test_a_file_system_with_a_limit_is_told_once_and_keeps_whole_lines(tmp_path: Path) -> None:
    """A real one: the limit of a file's size, in another process."""
    path = tmp_path / "j.jsonl"
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom polyqa.base.journal import appending\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "with appending(Path(sys.argv[1]), {'lm': 'one', 'corpus': 'ü'}) as append:\n"
        "    for number in range(1_000):\n        append({'id': number, 'text': 'x' * 90})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "j.jsonl cannot be written: File too large." in done.stderr.splitlines()[-1]
    assert path.stat().st_size <= 10_000
    kept = read_again(path)
    assert [item["id"] for item in kept] == list(range(len(kept)))
    assert len(kept) > 60


def test_lines_are_synced_about_once_a_second_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[float] = []
    now = 0.0
    monkeypatch.setattr(module, "sync", lambda file: synced.append(now))
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with appending_lines(tmp_path / "j.jsonl") as file:
        for step in range(60):
            now = step / 10
            file.append(with_checksum("{}"))
    assert synced == [1.0, 2.0, 3.0, 4.0, 5.0, 5.9]


def test_a_file_system_that_cannot_sync_does_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(file: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", unknown)
    write(tmp_path / "j.jsonl")
    assert read_again(tmp_path / "j.jsonl") == ITEMS

    def broken(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(PolyqaError, match="cannot be written: Input/output error"):
        write(tmp_path / "k.jsonl")


@quiet
def test_a_writer_killed_again_and_again_loses_no_line_that_it_had_told(tmp_path: Path) -> None:
    """A real process, killed at drawn moments: it tells each line after it was added."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom polyqa.base.journal import appending, read_journal\n"
        "path, settings = Path(sys.argv[1]), {'lm': 'one', 'corpus': 'ü'}\n"
        "number = len(read_journal(path, settings))\n"
        "with appending(path, settings) as append:\n"
        "    while True:\n"
        "        append({'id': number, 'text': f'{number} ' * (number % 5_000)})\n"
        "        number += 1\n        print(number, flush=True)\n"
    )
    path = tmp_path / "j.jsonl"
    chance = random.Random(7)
    before = 0
    for _ in range(8):
        child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        child.send_signal(signal.SIGKILL)
        told = [int(line) for line in child.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        assert child.wait() == -signal.SIGKILL
        kept = read_again(path)
        assert [item["id"] for item in kept] == list(range(len(kept)))
        assert len(kept) >= max(told, default=before + 1)
        before = len(kept)
