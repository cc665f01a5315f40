"""The process in which llama.cpp runs: what is refused before it starts, and what its faults do."""

import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from local_model import local_model_file

from polyqa.base.errors import PolyqaError
from polyqa.lm.local import LocalEngine, LocalLM, LocalServer, LocalSettings, physical_cores
from polyqa.lm.local import process as process_module

SETTINGS = LocalSettings(threads=1, slots=1, context=1024, prompt_cache=0)


@pytest.fixture(scope="module")
def small() -> Path:
    return local_model_file()


@pytest.fixture
def server(small: Path) -> Iterator[LocalServer]:
    server = LocalServer(small, "small", SETTINGS)
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"threads": 0}, "threads"),
        ({"threads": True}, "threads"),
        ({"threads": "2"}, "threads"),
        ({"threads": 1, "slots": 0}, "slots"),
        ({"threads": 1, "context": 10}, "context"),
        ({"threads": 1, "prompt_cache": -1}, "prompt_cache"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(settings: dict[str, int], told: str) -> None:
    with pytest.raises(PolyqaError, match=told):
        LocalSettings(**settings)


def test_there_are_cores() -> None:
    assert 1 <= physical_cores() <= (os.cpu_count() or 1)


LYING = b"GGUF" + struct.pack("<IQQ", 3, 1 << 63, 1 << 40)  # about how much it holds


@pytest.mark.parametrize(
    ("content", "told"), [(b"", "is damaged"), (b"PK\3\4" * 100, "no language model"), (LYING, "is damaged")]
)
def test_a_file_that_is_no_model_is_told_apart(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(PolyqaError, match=told):
        LocalServer(path, "m", SETTINGS).address()


def test_too_little_memory_is_told_before_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(process_module, "free_memory", lambda: 2**20)
    with pytest.raises(PolyqaError, match=r"needs about 0\.5 GiB of memory, and 0\.0 GiB are free"):
        LocalServer(path, "m", SETTINGS).address()
    with pytest.raises(PolyqaError, match=r"needs about 7\.5 GiB of memory.* fewer slots"):
        LocalServer(path, "m", replace(SETTINGS, slots=8, context=32_768)).address()


@pytest.mark.slow
def test_a_model_that_is_cut_off_is_damaged_and_another_architecture_is_named(small: Path, tmp_path: Path) -> None:
    cut, other = tmp_path / "cut.gguf", tmp_path / "other.gguf"
    content = small.read_bytes()
    cut.write_bytes(content[: len(content) // 2])
    with pytest.raises(PolyqaError, match="the file is damaged"):
        LocalServer(cut, "m", SETTINGS).address()
    other.write_bytes(content[:4000].replace(b"llama", b"lhama") + content[4000:])
    with pytest.raises(PolyqaError, match="does not know its architecture"):
        LocalServer(other, "m", SETTINGS).address()


@pytest.mark.slow
def test_a_killed_process_is_started_again_and_an_ended_one_leaves_nothing(server: LocalServer) -> None:
    first, pid = server.address(), server.pid
    assert pid is not None
    assert server.address() == first
    assert server.ended() == ""
    os.kill(pid, signal.SIGKILL)
    for _ in range(100):
        if server.ended():
            break
        time.sleep(0.05)
    assert "status -9" in server.ended()
    assert server.address() != first
    server.stop()
    assert server.pid is None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("killed", [True, False])
def test_it_ends_with_the_process_that_started_it_and_ctrl_c_is_not_its(small: Path, killed: bool) -> None:
    code = (
        "import sys, time; from pathlib import Path; from polyqa.lm.local import LocalServer, LocalSettings\n"
        f"server = LocalServer(Path({str(small)!r}), 'm', LocalSettings(1, 1, 1024, 0))\n"
        "server.address()\n"
        "try:\n    print(server.pid, flush=True); time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print(bool(server.pid), flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    if killed:
        parent.kill()
    else:
        os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: both processes get it
        assert parent.stdout.readline() == "True\n"
    parent.wait(20)
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]:
            break
        time.sleep(0.05)
    else:
        pytest.fail("llama.cpp outlived the process that started it")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_does_not_wait_until_a_model_is_loaded() -> None:
    code = (
        "import time; from pathlib import Path; from polyqa.lm.local import LocalLM, LocalServer, LocalSettings\n"
        "from polyqa.lm.local.engine import LocalEngine\n"
        "def address(self):\n    print('loading', flush=True); time.sleep(60)\n"
        "LocalServer.address = address\n"
        "LocalLM('local/m', LocalEngine(Path('m.gguf'), 'm', LocalSettings(1)), cache=False)('Hello')\n"
    )
    waiting = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "loading\n"
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=30)  # it would be loading for a minute
    assert "KeyboardInterrupt" in said


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_a_process_that_is_loading(tmp_path: Path) -> None:
    model, loading = tmp_path / "m.gguf", tmp_path / "loading"
    model.write_bytes(b"GGUF")
    (tmp_path / "server.py").write_text(
        f"import os, pathlib, time\npathlib.Path({str(loading)!r}).write_text(str(os.getpid()))\ntime.sleep(60)\n"
    )
    code = (
        "from pathlib import Path; from polyqa.lm.local import LocalLM, LocalSettings, process\n"
        "from polyqa.lm.local.engine import LocalEngine\n"
        f"process.__file__ = {str(tmp_path / 'process.py')!r}\n"
        f"process.needs, process.kept_folder = lambda *_, **__: None, lambda: Path({str(tmp_path)!r})\n"
        f"LocalLM('local/m', LocalEngine(Path({str(model)!r}), 'm', LocalSettings(1)), cache=False)('Hello')\n"
    )
    waiting = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    while not loading.is_file() or not loading.read_text():
        assert waiting.poll() is None
        time.sleep(0.05)
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=30)  # it would be loading for a minute
    assert "KeyboardInterrupt" in said
    assert "Exception in thread" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(loading.read_text()), 0)


def test_a_process_that_is_started_again_has_read_nothing(small: Path) -> None:
    server = LocalServer(small, "small", SETTINGS)
    server.address()
    server.slots.take("Hello")
    assert server._process is not None
    server._process.kill()
    server._process.wait()
    server.address()
    assert server.slots.read == [""]
    server.stop()


def test_what_was_read_is_kept_for_the_next_process(small: Path, kept: Path) -> None:
    prompt = "Once upon a time there was a cat. " * 20
    read = []
    for again in range(3):
        engine = LocalEngine(small, "small", replace(SETTINGS, prompt_cache=10))
        if again == 2:
            for file in kept.iterdir():  # what is damaged is not used
                file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        lm = LocalLM("local/small", engine, max_tokens=2, cache=False)
        lm(prompt)
        read.append(lm.history[-1]["response"].usage.cache_read_tokens or 0)
        engine.server.stop()
        assert not [file for file in kept.iterdir() if file.suffix.startswith(f".{os.getpid()}")]
    assert read[0] == 0 == read[2]
    assert read[1] > 100
