"""A language model on this machine on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Printed
from interrupting import interrupted
from local_model import NAME, local_model_file

from polyqa.lm.local import local_settings
from polyqa.lm.local import process as process_module

ASK = ("ask", "Who?", "--program", "closed-book", "--lm")


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
    lines = tmp_path / "run" / "predictions.jsonl"
    ended = interrupted(words, lambda: lines.is_file() and bool(lines.read_text().strip()))  # llama.cpp gets it, too
    assert (ended.code, ended.err.splitlines()[-1]) == (130, "interrupted"), ended.err
    assert "Traceback" not in ended.err
    done = lines.read_text().splitlines()
    assert 1 <= len(done) < 4
    subprocess.run([sys.executable, "-m", "polyqa", *words], check=True, capture_output=True)
    assert lines.read_text().splitlines()[: len(done)] == done
    assert len(lines.read_text().splitlines()) == 4
