"""A language model on this machine on the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import Printed
from local_model import NAME, local_model_file

from polyqa.lm.local import local_settings
from polyqa.lm.local import process as process_module

ASK = ("ask", "Who?", "--program", "closed-book", "--lm")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that is no model: what is checked before it is opened is checked first."""
    path = tmp_path / "m.gguf"
    path.write_bytes(b"none")
    return path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--lm-set", "threads=two"], "threads of a local model is a whole number of at least 1, not 'two'."),
        (["--lm-set", "slots=0"], "slots of a local model is a whole number of at least 1, not 0."),
        (["--lm-set", "context=64"], "context of a local model is a whole number of at least 256, not 64."),
        (["--lm-set", "prompt_cache=0.5"], "prompt_cache of a local model is a whole number of at least 0, not 0.5."),
        (["--requests-per-minute", "9"], "no provider limits it. Leave out --requests-per-minute."),
        (["--api-base", "http://127.0.0.1:1/v1"], "runs on this machine; it takes no address"),
        ([], "m.gguf is no language model of llama.cpp (GGUF)"),
    ],
)
def test_what_cannot_be_is_one_line(refused: Printed, file: Path, words: list[str], told: str) -> None:
    assert told in refused(*ASK, f"local/{file}", *words)


@pytest.mark.parametrize(("cores", "runs"), [(2, "threads=2 slots=1"), (8, "threads=8 slots=2")])
def test_the_list_says_how_one_would_run(
    printed: Printed, monkeypatch: pytest.MonkeyPatch, cores: int, runs: str
) -> None:
    monkeypatch.setattr(process_module, "physical_cores", lambda: cores)
    assert f"on this machine they run with {runs} context=8192" in printed("model").splitlines()[-1]


def test_judge_and_helper_run_in_the_same_process() -> None:
    from polyqa.language_models import LMSettings, Models, judge_model

    local_model_file()
    settings = LMSettings(more={"threads": 1, "context": 512, "top_p": 0.9})
    models = Models(lm=NAME, helper_lm=NAME, prompt_lm=NAME, settings=settings)
    answering, helping = models.answering(), models.helping()
    assert answering.engine.server.settings == local_settings(threads=1, context=512)
    assert helping is not None
    for other in (helping, models.writing(answering), judge_model(NAME, settings)):
        assert other.engine is answering.engine
        assert "top_p" not in other.kwargs


@pytest.mark.slow
def test_all_settings_are_heeded(printed: Printed) -> None:
    local_model_file()
    sets = [word for name in ("threads=1", "slots=1", "context=2048", "prompt_cache=0") for word in ("--lm-set", name)]
    options = [*sets, "--temperature", "0.5", "--max-tokens", "7", "--timeout", "60", "--json"]
    told = json.loads(printed(*ASK, NAME, *options))
    assert (told["lm"], told["calls"]) == (NAME, 1)
    assert 0 < told["output_tokens"] <= 7


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(small: dict[str, Path], tmp_path: Path) -> None:
    local_model_file()
    words = ["evaluate", "--program", "closed-book", "--judge", "none", "--questions", str(small["dev"])]
    words += ["--lm", NAME, "--lm-set", "threads=1", "--lm-set", "slots=1", "--max-tokens", "150"]
    words += ["--temperature", "0.9", "--runs", str(tmp_path), "--name", "run"]
    command = [sys.executable, "-m", "polyqa", *words]
    begun = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    lines = tmp_path / "run" / "predictions.jsonl"
    deadline = time.monotonic() + 60
    while not (lines.is_file() and lines.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(begun.pid, signal.SIGINT)  # as a terminal does: llama.cpp gets it, too
    _, err = begun.communicate(timeout=20)
    assert (begun.returncode, err.splitlines()[-1]) == (130, "interrupted"), err
    assert "Traceback" not in err
    done = lines.read_text().splitlines()
    assert 1 <= len(done) < 4
    subprocess.run(command, check=True, capture_output=True)
    assert lines.read_text().splitlines()[: len(done)] == done
    assert len(lines.read_text().splitlines()) == 4
