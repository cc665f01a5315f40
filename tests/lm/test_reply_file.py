"""The file of recorded replies: a kill loses nothing, the same records give the same bytes, damage is one line."""

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.lm.reply_file import DamageWarning, RecordedReply, RecordedRequest, Recording, pack

MODEL = "openai/m"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl.gz"


def record_of(text: str, **settings: Any) -> RecordedReply:
    request = RecordedRequest(MODEL, settings, [{"role": "user", "content": text}])
    return RecordedReply(request, f"re: {text}", "stop", {"input_tokens": 1}, 0.25)


KILLED = """
import os, signal, sys
from polyqa.lm.reply_file import Recording
sys.path.insert(0, {here!r})
from test_reply_file import record_of
recording = Recording({path!r})
for number in range(20):
    recording.add(record_of(f"text {{number}}"))
open({path!r} + ".new", "ab").write(b'\\n{{"key": "torn')
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_loses_nothing(path: Path) -> None:
    script = KILLED.format(here=str(Path(__file__).parent), path=str(path))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not path.exists()
    with pytest.warns(DamageWarning, match="not written to its end"):
        killed = Recording(path)
    assert len(killed) == 20
    killed.add(record_of("one more"))
    with pytest.warns(DamageWarning):
        pack(path)
    assert len(Recording(path)) == 21, "what follows a torn line is whole"


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
records = st.builds(
    lambda text, reply, temperature, tokens: RecordedReply(
        RecordedRequest(MODEL, {"temperature": temperature}, [{"role": "user", "content": text}]),
        reply,
        "stop",
        {"input_tokens": tokens},
        0.5,
    ),
    texts,
    texts,
    st.floats(0, 2),
    st.integers(0, 10**6),
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(records, max_size=8, unique_by=lambda record: record.request.key), st.randoms())
def test_the_same_records_give_the_same_bytes(path: Path, some: list[RecordedReply], chance: Any) -> None:
    files = []
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        file = path.with_name(name)
        file.unlink(missing_ok=True)
        shuffled = chance.sample(some, len(some))
        for part in (shuffled[:3], shuffled[3:]):
            recording = Recording(file)
            for record in part:
                assert recording.add(record) == record
            pack(file)
        assert sorted(map(repr, Recording(file))) == sorted(map(repr, some))
        files.append(file.read_bytes() if some else b"")
    assert files[0] == files[1]


def rewritten(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    path.write_bytes(gzip.compress("\n".join(change(lines)).encode()))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: rewritten(path, lambda lines: [lines[0], lines[1][:50]]), r"line 2 is damaged"),
        (lambda path: rewritten(path, lambda lines: [*lines[:2], "{}"]), r"line 3 is damaged.*'model'"),
        (lambda path: rewritten(path, lambda lines: [lines[0], lines[1].replace("one", "two")]), r"line 2.*changed"),
        (lambda path: rewritten(path, lambda lines: ['{"recording": 9, "models": {}}']), "written by another polyqa"),
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "cannot be read"),
        (lambda path: path.write_text("plain"), "cannot be read"),
        (lambda path: path.write_bytes(gzip.compress(bytes(3_000_000))), "unpacks to far more"),
        (lambda path: path.write_bytes(gzip.compress(b"\n" * 1_000)), "line 1 is damaged"),
        (lambda path: path.write_bytes(gzip.compress(b"[" * 100_000)), "line 1 is damaged"),
        (lambda path: path.write_bytes(gzip.compress(b'{"models": 7}')), "line 1 is damaged"),
        (lambda path: path.write_bytes(gzip.compress(b'{"models": {"m": {"settings": 7}}}')), "line 1 is damaged"),
        (lambda path: path.write_bytes(gzip.compress(b'{"models": {"m": {"model_type": "x"}}}')), "line 1 is damaged"),
        (lambda path: path.unlink(), "no recorded replies.*--record"),
    ],
)
def test_damage_is_one_clear_error(
    damage: Callable[[Path], object], told: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polyqa.lm.reply_file._LEAST_UNPACKED", 1_000_000)
    Recording(path).add(record_of("one"))
    pack(path)
    damage(path)
    with pytest.raises(PolyqaError, match=told):
        polyqa.recorded(path)


def test_a_file_chooses_no_address_and_no_key(path: Path) -> None:
    Recording(path).add(record_of("one"))
    pack(path)
    told = {"temperature": 0.5, "api_base": "http://evil.example", "api_key": "k"}
    head = json.dumps({"recording": 1, "models": {MODEL: {"settings": told}}})
    rewritten(path, lambda lines: [head, *lines[1:]])
    assert polyqa.recorded(path).kwargs == {"temperature": 0.5}


def test_two_language_models_at_once_lose_nothing(path: Path) -> None:
    barrier = threading.Barrier(2)

    def work(name: str) -> None:
        recording = Recording(path)
        barrier.wait()
        for number in range(10):
            recording.add(record_of(f"{name} {number}"))
            pack(path)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, ("a", "b")))
    assert len(Recording(path)) == 20
