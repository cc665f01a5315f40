"""Odd texts and names, full disks, folders that take nothing: each is told in a line and leaves nothing half made."""

import errno
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from openai_server import serve
from scripted_engine import ScriptedEngine, last_message

from polyqa.cli.errors import explain
from polyqa.colbert_index.checkpoint import embedded_checkpoint
from polyqa.extractive import ExtractiveEngine

Printed = Callable[..., str]
Refused = Callable[..., str]
QUESTION = "When did Titanic come out?"
HALF = "\udce9"


def command(*words: str | bytes, most: int | None = None, **surroundings: str) -> tuple[int, str, str]:
    """Run a command in a process of its own, in which no file may grow beyond ``most`` bytes."""

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = subprocess.run(
        [sys.executable, "-m", "polyqa", *words],
        capture_output=True,
        env={**os.environ, **surroundings},
        preexec_fn=limit,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


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


@pytest.mark.parametrize("name", ["openai/[/x]", "openai/[red]", "openai/[bold]x[/bold]"])
def test_markup_in_the_name_of_a_model_is_printed_as_it_is(name: str, printed: Printed) -> None:
    with serve(ExtractiveEngine()) as server:
        out = printed("ask", QUESTION, "--program", "rac", "--lm", name, "--api-base", server.base)
    assert name in "".join(out.split("\n")).replace(" ", "") or name in out


@pytest.mark.parametrize("output", [(), ("--json",), ("--show-prompts",)], ids=["text", "json", "prompts"])
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


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.slow)])
def test_what_the_encoding_of_a_terminal_lacks_is_a_question_mark_and_json_loses_nothing(encoding: str) -> None:
    ask = ("ask", QUESTION, "--program", "rac")
    code, out, err = command(*ask, PYTHONIOENCODING=encoding)
    assert code == 0, err
    assert "?" in out
    assert "1997" in out
    _, plain, _ = command(*ask, "--json")
    code, out, err = command(*ask, "--json", PYTHONIOENCODING=encoding)
    assert code == 0, err
    assert out.isascii()
    assert json.loads(out)["answer"] == json.loads(plain)["answer"]


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


@pytest.mark.slow
def test_a_full_disk_stops_a_compilation_which_then_goes_on(tmp_path: Path, small: dict[str, Path]) -> None:
    made = tmp_path / "made"
    sets = ("--train", str(small["train"]), "--dev", str(small["dev"]))
    words = ("compile", "--program", "rac", "--recipe", "labeled-few-shot", *sets, "--yes", "--out", str(made))
    code, _, err = command(*words, most=3_000)
    assert code == 2
    assert "the disk is full" in told(err)
    assert not list(tmp_path.rglob("*.draft"))
    assert not (made / "card.json").exists()
    code, _, err = command(*words)
    assert code == 0, err
    assert (made / "card.json").exists()


def test_a_half_made_checkpoint_is_cleaned_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = embedded_checkpoint().name
    monkeypatch.setattr("polyqa.colbert_index.checkpoint.checkpoint_home", lambda: tmp_path)
    left = tmp_path / f".{name}.abc123"
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


def _ends(error: BaseException) -> Callable[[], object]:
    def raised() -> None:
        raise error

    return raised


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.empty(10**17),
        lambda: np.empty(10**17),
        _ends(OSError(errno.ENOMEM, "Cannot allocate memory")),
        _ends(RuntimeError("can't start new thread")),
        _ends(ImportError("libtorch_cpu.so: failed to map segment from shared object")),
    ],
    ids=["torch", "numpy", "the system", "a thread", "a library"],
)
def test_memory_that_is_used_up_is_told_in_a_line(use: Callable[[], object]) -> None:
    with pytest.raises((MemoryError, RuntimeError, OSError, ImportError)) as error:
        use()
    assert explain(error.value) == (
        "there is not enough memory here, or too little is allowed (ulimit -v, -u). "
        "Give it more; the same command goes on.",
        2,
    )
