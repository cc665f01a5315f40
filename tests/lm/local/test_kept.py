"""What slots have read is kept from one process to the next, with a stand-in for llama.cpp that saves and restores."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from serving import QuietHandler, serving

from polyqa.lm.local import LocalServer, LocalSettings
from polyqa.models.gguf import kept_files

pytest.importorskip("xllamacpp", reason="pip install 'polyqa[local]'")


@dataclass
class Llama:
    """Saves and restores slots as llama.cpp's server does, and notes what it was asked."""

    address: str = ""
    asked: list[str] = field(default_factory=list)
    busy: bool = False


@pytest.fixture
def llama(kept: Path) -> Iterator[Llama]:
    llama = Llama()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            llama.asked.append(self.path)
            file = kept / json.loads(self.rfile.read(int(self.headers["Content-Length"])))["filename"]
            if self.path.endswith("save") and kept.is_dir():
                file.write_text(self.path)
            known = file.exists() and file.read_text().startswith("/slots")
            self.send_response(200 if known and not llama.busy else 500)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with serving(Handler) as llama.address:
        yield llama


def started(path: Path, llama: Llama, *, context: int = 1024) -> LocalServer:
    """Return a server as it is after its start, with a process that does nothing."""
    server = LocalServer(path, "m", LocalSettings(threads=1, slots=2, context=context, prompt_cache=0))
    code = "import sys; sys.stdin.read()"
    server._process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, text=True)
    server._address = llama.address
    server._restore(llama.address)
    return server


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "my [model].gguf"
    path.write_bytes(b"GGUF")
    return path


def test_only_what_changed_is_written_and_the_next_process_goes_on(model: Path, llama: Llama) -> None:
    first = started(model, llama)
    first.slots.give(first.slots.take("Tell a story."))
    used = first.slots.read.index("Tell a story.")
    first.stop()
    assert llama.asked == [f"/slots/{used}?action=save"]
    assert {file.suffix for file in kept_files(model)} == {".json", f".{used}"}
    second = started(model, llama)
    assert second.slots.read == first.slots.read
    second.stop()
    assert llama.asked[1:] == [f"/slots/{used}?action=restore"]


def test_what_other_settings_and_a_killed_process_left_is_deleted(model: Path, llama: Llama, kept: Path) -> None:
    (kept / "my [model]-old-0123456789abcdef.0").touch()  # of another model
    for context in (1024, 2048):
        server = started(model, llama, context=context)
        server.slots.take("Tell a story.")
        server._kept_prompts().with_suffix(".12345").touch()
        server.stop()
    assert sorted(file.suffix for file in kept_files(model)) == [".0", ".json"]
    assert len([*kept.iterdir()]) == 3
    assert started(model, llama, context=1024).slots.read == ["", ""]


def test_a_slot_at_work_keeps_nobody_waiting(model: Path, llama: Llama, kept: Path) -> None:
    server = started(model, llama)
    server.slots.take("Tell a story.")
    server.slots.take("Tell a joke.")
    llama.busy = True
    server.stop()
    assert len(llama.asked) == 1
    assert not [*kept.iterdir()]


def test_it_ends_where_nothing_can_be_kept(model: Path, llama: Llama, kept: Path) -> None:
    for spoil in (model.unlink, kept.rmdir):
        server = started(model, llama)
        server.slots.take("Tell a story.")
        spoil()
        server.stop()
        assert server.pid is None
        model.touch()


@pytest.mark.parametrize("prompts", ["[]", "[1, 2]", "{}", "no JSON", '["never read"]'])
def test_a_list_of_prompts_that_is_none_is_passed_over(model: Path, llama: Llama, prompts: str) -> None:
    server = started(model, llama)
    server._kept_prompts().write_text(prompts)
    server._restore(llama.address)
    assert server.slots.read == ["", ""]
    server.stop()
