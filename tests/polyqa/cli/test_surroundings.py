"""Odd texts and names, full disks, folders that take nothing: each is told in a line and leaves nothing half made."""

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from command_line import Printed, Refused
from openai_server import serve
from scripted_engine import ScriptedEngine, last_message
from web_server import started

from polyqa.artifacts.store import read_artifact
from polyqa.cli.errors import explain
from polyqa.colbert_index.checkpoint import embedded_checkpoint
from polyqa.extractive import ExtractiveEngine

QUESTION = "When did Titanic come out?"
HALF = "\udce9"
_LONGEST = 900  # seconds that a command may take beside other work


def at_once(
    *commands: Sequence[object], folder: Path | None = None, most: int | None = None, **surroundings: str
) -> list[tuple[int, str, str]]:
    """Run commands at the same time in a folder; return the code of each and what it printed.

    No file may grow beyond ``most`` bytes.
    """

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    running = [
        subprocess.Popen(
            [sys.executable, "-m", "polyqa", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            cwd=folder,
            env={**os.environ, **surroundings},
            preexec_fn=limit,
        )
        for words in commands
    ]
    try:
        with ThreadPoolExecutor(len(running)) as threads:
            printed = list(threads.map(lambda one: one.communicate(timeout=_LONGEST), running))
    finally:
        for one in running:
            one.kill()
    return [(one.returncode, *texts) for one, texts in zip(running, printed, strict=True)]


def command(*words: object, **how: Any) -> tuple[int, str, str]:
    return at_once(words, **how)[0]


def told(err: str) -> str:
    """Return the only line in which the command says what was wrong."""
    (line,) = [line for line in err.splitlines() if line.startswith("polyqa:")]
    assert "Traceback" not in err
    assert "unexpected" not in err
    return line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ask", f"Who founded {HALF}?"), r"Character 13 of the question is half of one \(U\+DCE9\)"),
        (("ask", QUESTION, "--lm", f"openai/{HALF}", "--api-base", "http://127.0.0.1:9"), "is one line of text"),
        (("ask", QUESTION, "--lm", "openai/a\nb", "--api-base", "http://127.0.0.1:9"), "is one line of text"),
        (("ask", QUESTION, "--lm", "openai/\x1b[2J", "--api-base", "http://127.0.0.1:9"), "is one line of text"),
        (
            ("ask", QUESTION, "--lm", "openai/a", "--api-base", f"http://{HALF}"),
            "address of its server is one line of text",
        ),
        (("ask", QUESTION, "--helper-lm", f"openai/{HALF}@http://a"), "is one line of text"),
        (("ask", QUESTION, "--index", f"[/x]{HALF}\n"), "no index"),
        (("ask", QUESTION, "--program", f"[/x]{HALF}\n"), "Unknown program"),
        (("ask", QUESTION, "--set", f"reranker=[/x]{HALF}\n"), "Repo id"),
        (("show", f"[/x]{HALF}\n"), "no compiled program"),
    ],
)
def test_names_and_questions_that_are_no_text_are_refused(words: tuple[str, ...], said: str, refused: Refused) -> None:
    line = refused(*words)
    assert re.search(said, line, re.I), line
    assert not any("\ud800" <= one <= "\udfff" for one in line)


def test_markup_in_the_name_of_a_model_is_printed_as_it_is(printed: Printed) -> None:
    name = "openai/[/x][red]"
    with serve(ExtractiveEngine()) as server:
        out = printed("ask", QUESTION, "--program", "rac", "--lm", name, "--api-base", server.base)
    assert name in out


@pytest.mark.parametrize("output", [(), ("--json",)], ids=["text", "json"])
def test_half_characters_in_replies_are_shown_as_such(output: tuple[str, ...], printed: Printed) -> None:
    engine = ScriptedEngine(lambda text: f"Rome {HALF} was founded in 753 BC.", given=last_message)
    with serve(engine) as server:
        words = ("--program", "closed-book", "--lm", "openai/half", "--api-base", server.base)
        out = printed("ask", "Who founded Rome?", *words, *output)
    assert "Rome" in out
    assert HALF not in out


@pytest.mark.slow
def test_an_answer_needs_no_place_to_write_to() -> None:
    """Home and cache lie where nothing can be made."""
    code, out, err = command("ask", QUESTION, HOME="/proc/none", DSPY_CACHEDIR="/proc/none/cache")
    assert (code, err) == (0, "")
    assert "1997" in out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_the_encoding_of_a_terminal_lacks_is_a_question_mark_and_json_loses_nothing(
    encoding: str, tmp_path: Path
) -> None:
    code, out, err = command("programs", PYTHONIOENCODING=encoding)
    assert code == 0, err
    assert "polyqa ask ? --program NAME" in out
    damaged = tmp_path / "電 ä" / "indexes" / "damaged"
    damaged.mkdir(parents=True)
    (damaged / "current").write_text("nonsense")
    code, out, err = command("index", "info", "--json", PYTHONIOENCODING=encoding, POLYQA_HOME=str(tmp_path / "電 ä"))
    assert code == 0, err
    assert out.isascii()
    assert json.loads(out)[0]["path"] == str(damaged)


_WITHOUT_IPV6 = """
import errno, runpy, socket
usual = socket.socket.__init__
def init(self, family=-1, *rest, **named):
    if family == socket.AF_INET6:
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
    usual(self, family, *rest, **named)
socket.socket.__init__, socket.has_ipv6 = init, False
runpy.run_module("polyqa", run_name="__main__")
"""


@pytest.mark.slow
def test_questions_are_asked_and_served_without_ipv6() -> None:
    """``localhost`` may still be ``::1``, too."""
    polyqa = [sys.executable, "-c", _WITHOUT_IPV6]
    with serve(ScriptedEngine(lambda text: "It came out in 1972.", given=last_message)) as server:
        address = server.base.replace("127.0.0.1", "localhost")
        ask = ["ask", QUESTION, "--program", "closed-book", "--lm", "openai/m", "--api-base", address, "--json"]
        done = subprocess.run([*polyqa, *ask], capture_output=True, text=True, timeout=_LONGEST, check=False)
    assert done.returncode == 0, done.stderr
    assert "1972" in json.loads(done.stdout)["answer"]
    with started(*polyqa, "serve", "--port", "0", "--index", "homonyms", "--program", "rac") as (base, _):
        found = httpx.post(f"{base}/ask", json={"question": QUESTION}, timeout=120).json()
    assert "1997" in found["answer"]


@pytest.mark.slow
def test_two_who_share_an_empty_home_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Both make the checkpoint and DSPy's cache."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.md").write_text("# Möwe\n\nThe lighthouse Möwe was built in 1867.", encoding="utf-8")
    own = {"POLYQA_HOME": str(tmp_path / "home"), "DSPY_CACHEDIR": str(tmp_path / "cache")}
    for words in (("index", "build", "papers", "--name"), ("ask", "When was the Möwe built?", "--index")):
        for code, out, err in at_once((*words, "one"), (*words, "other"), folder=tmp_path, **own):
            assert code == 0, err
            assert words[0] == "index" or "1867" in out
    assert sorted(path.name for path in (tmp_path / "home" / "indexes").glob("[!.]*")) == ["one", "other"]
    assert len(list((tmp_path / "home" / "checkpoints").glob("[!.]*"))) == 1
    assert not list(tmp_path.rglob("*.draft"))


@pytest.mark.slow
def test_two_compile_at_once_into_different_folders(small: dict[str, Path], tmp_path: Path) -> None:
    files = ("--train", small["train"], "--dev", small["dev"])
    words = ("compile", "--program", "rac", "--recipe", "labeled-few-shot", *files, "--yes", "--out")
    for code, _, err in at_once((*words, "one"), (*words, "other"), folder=tmp_path):
        assert code == 0, err
    assert read_artifact(tmp_path / "one").state == read_artifact(tmp_path / "other").state


SURROUNDINGS: dict[str, dict[str, str]] = {
    "locale C": {"LC_ALL": "C"},
    "umask 077": {"umask": "077"},
    "temporary files on another disk": {"TMPDIR": "/dev/shm"},
    "a home that is read-only": {"HOME": "/proc"},
}


@pytest.mark.slow
@pytest.mark.parametrize("surroundings", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_an_index_of_own_documents_is_built_and_asked_wherever_people_are(
    surroundings: dict[str, str], tmp_path: Path
) -> None:
    documents = tmp_path / "my papers ä"
    documents.mkdir()
    (documents / "möwe.md").write_text("# Möwe\n\nThe lighthouse Möwe was built in 1867.", encoding="utf-8")
    before = os.umask(int(surroundings.get("umask", "022"), 8))
    try:
        code, _, err = command("index", "build", str(documents), "--name", str(tmp_path / "an index"), **surroundings)
        assert code == 0, err
        code, out, err = command(
            *("ask", "When was the lighthouse Möwe built?", "--index", str(tmp_path / "an index"), "--json"),
            **surroundings,
        )
    finally:
        os.umask(before)
    assert code == 0, err
    assert "1867" in json.loads(out)["answer"]


def test_a_half_made_checkpoint_is_cleaned_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = embedded_checkpoint().name
    monkeypatch.setattr("polyqa.colbert_index.checkpoint.checkpoint_home", lambda: tmp_path)
    left = tmp_path / f".{name}.building-1"
    left.mkdir()
    (left / "model.safetensors").write_bytes(b"half")
    other = tmp_path / ".another-checkpoint.abc123"
    other.mkdir()
    assert embedded_checkpoint() == tmp_path / name
    assert not left.exists()
    assert other.exists()


@pytest.mark.parametrize("most_bytes", range(0, 1_400, 100))
def test_wherever_the_disk_is_full_what_torch_says_of_it_is_known(most_bytes: int, tmp_path: Path) -> None:
    saved, limit = {"centroids": torch.ones(100)}, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, limit[1]))
    try:
        with pytest.raises((RuntimeError, OSError)) as error:
            torch.save(saved, tmp_path / "centroids.pt")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert explain(error.value) == (
        "the disk is full, or a file is at its size limit. Free space; the same command goes on.",
        2,
    )
