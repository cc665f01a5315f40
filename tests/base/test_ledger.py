"""Whatever happens to a ledger: what it told to have kept is there, and nothing is read that was not written."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.base.ledger import exporting, json_line, open_ledger, read_lines

IDENTITY = {"lm": "one", "corpus": "ü", "nothing": None}
RESULTS: dict[str, dict[str, Any]] = {
    "a": {"text": "Grün\u2028\r\n, \x85 or blue", "inner": {"score": 0.5}},
    "ü": {"text": "", "scores": [float("-inf"), 1]},
    "half a character": {"text": "\ud83d"},
}


def fill(path: Path, results: dict[str, dict[str, Any]] = RESULTS) -> None:
    with open_ledger(path, IDENTITY) as ledger:
        for id, result in results.items():
            ledger.keep(id, result)


def working(path: Path, work: str, **how: Any) -> subprocess.Popen[str]:
    """Start a process that opens a ledger and does some work with it."""
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom polyqa.base.ledger import open_ledger\n"
        f"with open_ledger(Path(sys.argv[1]), {IDENTITY}) as ledger:\n{indent(work, '    ')}"
    )
    return subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True, **how)


def read(path: Path) -> dict[str, dict[str, Any]]:
    with open_ledger(path, IDENTITY) as ledger:
        return dict(ledger)


def test_results_are_read_as_they_were_kept(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "l.sqlite"
    fill(path)
    assert read(path) == RESULTS
    with open_ledger(path, IDENTITY) as ledger:
        assert ledger.get("ü") == RESULTS["ü"]
        assert ledger.get("b") is None
        ledger.keep("a", {"text": "again"})
    assert read(path) == {**RESULTS, "a": {"text": "again"}}
    with open_ledger(path, IDENTITY) as ledger:
        ledger.replace({"c": {}})
    assert read(path) == {"c": {}}
    with open_ledger(path, IDENTITY) as ledger:
        ledger.finished = True
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("identity", "told"),
    [
        ({**IDENTITY, "lm": "two"}, r"l\.sqlite was begun with other settings \(lm was one, is two\); remove it"),
        ({"lm": "one"}, "corpus was ü, is None"),
        ({**IDENTITY, "seed": 1}, "seed was None, is 1"),
    ],
)
def test_a_ledger_of_other_work_is_left_alone(tmp_path: Path, identity: dict[str, Any], told: str) -> None:
    path = tmp_path / "l.sqlite"
    fill(path)
    with pytest.raises(PolyqaError, match=told), open_ledger(path, identity):
        pass
    assert read(path) == RESULTS


def test_one_process_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    other = working(path, "print('open', flush=True)\nsys.stdin.read()\n", stdin=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == "open\n"
    with pytest.raises(PolyqaError, match=r"l\.sqlite is being written by another process"):
        read(path)
    other.communicate("")
    assert read(path) == {}


@pytest.mark.parametrize("data", [b"no ledger at all, but a text of more than a hundred bytes" * 10, b"\0" * 4096])
def test_a_file_that_is_no_ledger_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "l.sqlite"
    path.write_bytes(data)
    with pytest.raises(PolyqaError, match=r"l\.sqlite is damaged .* Remove it to begin again"):
        read(path)
    assert path.read_bytes() == data


def test_a_damaged_ledger_gives_no_result_that_was_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    results = {f"q{number}": {"text": f"answer {number} " * 40} for number in range(60)}
    fill(path, results)
    whole = path.read_bytes()
    draw = random.Random(3)
    told = 0
    for _ in range(40):
        at = draw.randrange(0, len(whole) - 600)
        path.write_bytes(whole[:at] + bytes(600) + whole[at + 600 :])
        try:
            found = read(path)
        except PolyqaError as error:
            told += "is damaged" in str(error)
        else:
            assert found.keys() <= results.keys()
    assert told > 10


def test_a_ledger_that_is_found_damaged_while_it_is_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    fill(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + bytes(len(whole) - 8192))  # two pages are of no results
    with (
        open_ledger(path, IDENTITY) as ledger,
        pytest.raises(PolyqaError, match=r"l\.sqlite is damaged .* Remove it to begin again"),
    ):
        ledger.keep("b", {})


def test_a_full_disk_is_one_error_and_keeps_what_was_kept(tmp_path: Path) -> None:
    """A real one: the limit of a file's size, in another process."""
    path = tmp_path / "l.sqlite"
    work = (
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "for number in range(1_000):\n"
        "    ledger.keep(str(number), {'text': 'x' * 1_000})\n    print(number, flush=True)\n"
    )
    child = working(path, work, stderr=subprocess.PIPE)
    output, errors = child.communicate()
    assert child.returncode == 1
    last = errors.splitlines()[-1]
    assert "l.sqlite cannot be written: " in last
    assert "mend the cause and run the same command again" in last
    told = output.split()
    assert len(told) > 10
    assert list(read(path)) == told


def test_a_writer_killed_again_and_again_loses_nothing_that_it_had_told(tmp_path: Path) -> None:
    """A real process, killed at drawn moments: it tells each result after it was kept."""
    work = (
        "number = len(dict(ledger))\n"
        "while True:\n"
        "    ledger.keep(str(number), {'text': f'{number} ' * (number % 5_000)})\n"
        "    print(number, flush=True)\n    number += 1\n"
    )
    path = tmp_path / "l.sqlite"
    chance = random.Random(7)
    for _ in range(6):
        child = working(path, work)
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        child.send_signal(signal.SIGKILL)
        told = [int(first), *(int(line) for line in child.stdout.read().splitlines(keepends=True) if line[-1] == "\n")]
        assert child.wait() == -signal.SIGKILL
        kept = read(path)
        assert list(kept) == [str(number) for number in range(len(kept))]
        assert len(kept) > told[-1]


# What people read


def test_lines_come_in_order_and_the_ledger_goes(tmp_path: Path) -> None:
    path, out = tmp_path / ".l.sqlite", tmp_path / "out.jsonl"
    with open_ledger(path, IDENTITY) as ledger, exporting(ledger, out, ["ü", "missing", "a"]) as export:
        for id, result in RESULTS.items():
            ledger.keep(id, result)
            export()
            assert out.exists(), "it is there from the first result on"
    assert [json.loads(line) for line in out.read_text(encoding="utf-8").split("\n")[:-1]] == [
        {"id": id, **RESULTS[id]} for id in ("ü", "a")
    ]
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_lines_are_written_when_work_is_stopped(tmp_path: Path, stop: type[BaseException]) -> None:
    path, out = tmp_path / ".l.sqlite", tmp_path / "out.jsonl"
    with (  # noqa: PT012
        pytest.raises(stop),
        open_ledger(path, IDENTITY) as ledger,
        exporting(ledger, out, list(RESULTS)) as export,
    ):
        for id, result in RESULTS.items():
            ledger.keep(id, result)
            export()  # only the first time: then not for some seconds
        raise stop
    assert len(out.read_bytes().splitlines()) == len(RESULTS)
    assert not path.exists()


def test_lines_that_cannot_be_written_leave_the_ledger(tmp_path: Path) -> None:
    path, out = tmp_path / ".l.sqlite", tmp_path / "out.jsonl"
    out.mkdir()
    (out / "something").touch()

    def work(stop: type[BaseException] | None) -> None:
        with open_ledger(path, IDENTITY) as ledger, exporting(ledger, out, ["a"]):
            ledger.keep("a", RESULTS["a"])
            if stop:
                raise stop

    with pytest.raises(PolyqaError, match=r"out\.jsonl cannot be written"):
        work(None)
    assert read(path) == {"a": RESULTS["a"]}
    with pytest.raises(KeyboardInterrupt):
        work(KeyboardInterrupt)
    assert read(path) == {"a": RESULTS["a"]}


def test_a_line_that_is_damaged_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"id": "a"}\n{"id": "b\n{"id": "c"}\n')
    told = r'out\.jsonl, line 2 is damaged, or is not of polyqa \(.*\)\. Remove the line, .* it again: {"id": "b$'
    with pytest.raises(PolyqaError, match=told):
        read_lines(path, json.loads)
    path.write_text('{"id": "a"}\n{"id": "b"}')
    assert read_lines(path, json.loads) == [{"id": "a"}, {"id": "b"}], "the last line lacks nothing but its end"
    assert read_lines(tmp_path / "none.jsonl", json.loads) == []
    path.write_text("[" * 100_000 + "\n")
    with pytest.raises(PolyqaError, match="line 1 is damaged"):
        read_lines(path, json.loads)


@settings(max_examples=100)
@given(st.dictionaries(st.text(st.characters()), st.none() | st.floats() | st.lists(st.text(st.characters()))))
def test_whatever_is_said_becomes_one_line(value: dict[str, Any]) -> None:
    line = json_line(value).encode()
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    json.loads(line)
