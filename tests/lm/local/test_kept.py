"""What was read of prompts that left their slot is kept, with a stand-in for llama.cpp that saves and restores."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from lab.servers import running, send
from polyqa.lm.local import LocalServer, LocalSettings
from polyqa.lm.local.kept import KeptPrompts
from polyqa.models.gguf import kept_files

pytest.importorskip("xllamacpp", reason="pip install 'polyqa[local]'")

ABOUT = {name: f"{name}: " + "what to do, word for word. " * 40 for name in ("Infer", "Verify", "Write")}


class Llama:
    """Slots that save and restore what they have read, as llama.cpp's server has them, with notes of what was asked."""

    def __init__(self, kept: Path) -> None:
        self.kept, self.busy, self.half = kept, False, False
        self.read: dict[int, str] = {}
        self.asked = list[tuple[str, str]]()

    def ask(self, slot: int, action: str, file: str) -> bool:
        path = self.kept / file
        if self.half:
            path.write_text("half")
        if self.busy or self.half or (action == "restore" and not path.is_file()):
            return False
        if action == "save":
            path.write_text(self.read[slot])
        else:
            self.read[slot] = path.read_text()
        self.asked.append((action, self.read[slot].partition(":")[0]))
        return True


@pytest.fixture
def llama(kept: Path) -> Llama:
    return Llama(kept)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "my [model].gguf"
    path.write_bytes(b"GGUF")
    return path


def keeps(model: Path, llama: Llama, *, context: int = 1024, limit: int = 10**6) -> KeptPrompts:
    return KeptPrompts(model, context, limit, llama.ask)


def read(prompts: KeptPrompts, llama: Llama, *asked: str, slot: int = 0) -> list[int]:
    """Have a slot read one prompt after the other, and return how many characters of each had to be read."""
    costs = []
    for prompt in asked:
        prompts.turn(slot, llama.read.get(slot, ""), prompt)
        costs.append(len(prompt) - len(os.path.commonprefix([prompt, llama.read.get(slot, "")])))  # noqa: RUF071
        llama.read[slot] = prompt
    return costs


def of(names: Sequence[str], question: int) -> list[str]:
    return [f"{ABOUT[name]}Question {question}?" for name in names]


def test_how_three_prompts_begin_is_read_once_in_one_slot(model: Path, llama: Llama) -> None:
    prompts, names = keeps(model, llama), ["Infer", "Verify", "Write"]
    costs = [read(prompts, llama, *of(names, number)) for number in range(4)]
    assert all(cost > 1000 for cost in costs[0])
    assert all(cost < 20 for later in costs[1:] for cost in later)
    assert [name for action, name in llama.asked if action == "save"] == names
    assert len([*kept_files(model)]) == 6
    asked = len(llama.asked)
    read(prompts, llama, *of(["Write"], 4))  # which its slot still has
    assert len(llama.asked) == asked


def test_what_stays_in_its_slot_is_not_kept(model: Path, llama: Llama) -> None:
    read(keeps(model, llama), llama, *(prompt for number in range(4) for prompt in of(["Infer"], number)))
    assert not llama.asked


def test_more_is_kept_as_soon_as_prompts_have_more_in_common(model: Path, llama: Llama) -> None:
    prompts = keeps(model, llama)
    begins = [ABOUT["Infer"] + f"Demos of question {number}. " * 40 for number in (1, 2)]
    read(prompts, llama, begins[0], ABOUT["Write"], begins[1], ABOUT["Write"], begins[1] + "Again?", ABOUT["Write"])
    assert [name for action, name in llama.asked if action == "save"] == ["Infer", "Write", "Infer"]
    assert read(prompts, llama, begins[1] + "What?") == [5]


def test_what_comes_once_is_not_kept_beside_how_it_begins(model: Path, llama: Llama) -> None:
    once = [ABOUT["Infer"] + f"Question {number} is a long one. " * 40 for number in range(4)]
    read(keeps(model, llama), llama, *(prompt for one in once for prompt in (one, ABOUT["Write"])))
    assert [name for action, name in llama.asked if action == "save"] == ["Infer", "Write"]


def test_what_was_deleted_is_kept_again(model: Path, llama: Llama, kept: Path) -> None:
    prompts = keeps(model, llama)
    read(prompts, llama, *of(["Infer", "Verify"], 1))
    for file in kept.iterdir():
        file.unlink()
    first, _, again = read(prompts, llama, *of(["Infer", "Verify", "Infer"], 2))
    assert again < 20 < 1000 < first


def test_short_prompts_are_not_worth_a_file(model: Path, llama: Llama) -> None:
    read(keeps(model, llama), llama, "Tell a story.", ABOUT["Write"], "Tell a story.")
    assert [name for action, name in llama.asked if action == "save"] == ["Write"]


def test_the_next_process_reads_on(model: Path, llama: Llama) -> None:
    first = keeps(model, llama)
    read(first, llama, *of(["Infer", "Verify"], 1))
    first.keep(0, llama.read[0])
    first.keep(0, llama.read[0])  # once
    assert [name for action, name in llama.asked if action == "save"] == ["Infer", "Verify"]
    llama.read.clear()
    assert all(cost < 20 for cost in read(keeps(model, llama), llama, *of(["Verify", "Infer"], 2)))


def test_what_was_read_with_another_context_is_left_alone(model: Path, llama: Llama) -> None:
    read(keeps(model, llama), llama, *of(["Infer", "Verify"], 1))
    other = keeps(model, llama, context=2048)
    llama.read.clear()
    assert read(other, llama, *of(["Infer"], 2))[0] > 1000


def test_files_not_used_for_longest_make_room(model: Path, llama: Llama, kept: Path) -> None:
    (kept / "my [model]-0123456789abcdef.77-0").write_text("a draft of a process that was killed " * 10)
    (kept / "my [model]-old-0123456789abcdef.0").touch()  # of another model
    for number, file in enumerate(kept.iterdir()):
        os.utime(file, (number, number))

    def date(name: str, second: int) -> None:  # files that are written at once have the same time
        for file in kept_files(model):
            if file.read_text().startswith(name):
                os.utime(file, (second, second))

    prompts = keeps(model, llama, limit=5_000)
    read(prompts, llama, *of(["Infer", "Verify", "Infer"], 1))
    assert {file.suffix for file in kept_files(model)} >= {".txt", ".77-0"}
    date("Infer", 100)
    read(prompts, llama, *of(["Verify", "Infer"], 2))
    date("Verify", 200)
    costs = read(prompts, llama, *of(["Write", "Infer", "Verify"], 3))
    assert costs[1] < 20 < 1000 < costs[2]
    texts = [file.read_text() for file in kept_files(model)]
    assert sum(map(len, texts)) <= 5_000
    assert {text.partition(":")[0] for text in texts} == {"Infer", "Write"}
    assert (kept / "my [model]-old-0123456789abcdef.0").exists()
    assert read(prompts, llama, *of(["Infer"], 4))[0] < 20


def test_nothing_is_kept_with_a_limit_of_0(model: Path, llama: Llama) -> None:
    prompts = keeps(model, llama, limit=0)
    read(prompts, llama, *of(["Infer", "Verify"], 1))
    prompts.keep(0, llama.read[0])
    assert not llama.asked


@pytest.mark.parametrize("spoiled", ["nothing saved", "half saved", "model gone", "folder gone", "files gone"])
def test_where_nothing_can_be_kept_all_is_read(model: Path, llama: Llama, kept: Path, spoiled: str) -> None:
    prompts = keeps(model, llama)
    if spoiled == "files gone":
        read(prompts, llama, *of(["Infer", "Verify"], 1))
        for file in kept.iterdir():
            file.unlink()
    llama.busy, llama.half = spoiled == "nothing saved", spoiled == "half saved"
    if spoiled == "model gone":
        model.unlink()
    if spoiled == "folder gone":
        kept.rmdir()
        llama.busy = True
    assert read(prompts, llama, *of(["Infer", "Verify"], 2))[0] > 1000
    assert not [file for file in kept_files(model) if ".txt" not in file.suffixes and "-" in file.suffix]


def test_a_text_that_cannot_be_read_is_passed_over(model: Path, llama: Llama) -> None:
    read(keeps(model, llama), llama, *of(["Infer", "Verify"], 1))
    for file in kept_files(model):
        if file.suffix == ".txt":
            file.write_bytes(b"\xff\xfe\xff")
    assert read(keeps(model, llama), llama, *of(["Write"], 2))[0] > 1000


def test_a_prompt_with_half_a_character_is_read_and_not_kept(model: Path, llama: Llama) -> None:
    half = "\ud83d" + ABOUT["Infer"]
    assert read(keeps(model, llama), llama, half, ABOUT["Write"], half)[2] > 1000


def test_a_server_keeps_what_its_idle_slots_have_read(model: Path, kept: Path) -> None:
    asked = []

    def respond(handler: BaseHTTPRequestHandler, _body: dict[str, Any]) -> None:
        asked.append(handler.path)
        send(handler, 500, b"")

    server = LocalServer(model, "m", LocalSettings(threads=1, slots=2))
    code = "import sys; sys.stdin.read()"
    server._process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, text=True)
    with running(respond) as server._address:
        server._kept = KeptPrompts(model, 1024, 10**6, partial(server._slot, server._address))
        (idle, _), (at_work, _) = server.slots.take(ABOUT["Infer"]), server.slots.take(ABOUT["Write"])
        server.slots.give(idle)
        assert idle != at_work
        server.stop()
    assert asked == [f"/slots/{idle}?action=save"]
    assert server.pid is None
