"""A shell completes names as they are in the registries, at once."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from polyqa.artifacts.store import artifact_names
from polyqa.cli import completion
from polyqa.colbert_index.store import index_names
from polyqa.evaluation.loading import FORMATS
from polyqa.optimizers.recipes import RECIPES
from polyqa.programs import PROGRAMS

ASKED = {
    "ask --program ": [*PROGRAMS, *artifact_names()],
    "ask --program di": [name for name in (*PROGRAMS, *artifact_names()) if name.startswith("di")],
    "compile --program d": [name for name in PROGRAMS if name.startswith("d")],
    "compile --recipe ": list(RECIPES),
    "adapt --recipe knn": [name for name in RECIPES if name.startswith("knn")],
    "evaluate --index ": index_names(),
    "index info ": index_names(),
    "questions build --index ": index_names(),
    "show rac": ["rac", "rac-homonyms-local"],
    "evaluate --questions h": list(completion.QUESTION_SETS),
    "index del": ["delete"],
    "ask --pass": ["--passages"],
}
SCRIPT = f"""
import contextlib, io, json, os, sys
from polyqa.cli.app import main
sys.argv = ["polyqa"]
told = {{}}
for line in {[*ASKED]!r}:
    os.environ |= dict(COMP_WORDS=f"polyqa {{line}}", COMP_CWORD=str(len(line.split(" "))))
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main()
    told[line] = out.getvalue().split()
heavy = {{"torch", "dspy", "transformers", "colbert", "scipy", "lancedb"}} & {{*sys.modules}}
os.write(1, json.dumps([told, sorted(heavy)]).encode())
"""


def test_values_are_completed_as_the_registries_have_them_and_nothing_heavy_is_loaded() -> None:
    shell = {**os.environ, "_POLYQA_COMPLETE": "complete_bash"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=shell, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [ASKED, []]


def test_names_of_indexes_are_those_of_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, file in (("new", "current"), ("old", "current"), ("other", "notes.txt")):
        (tmp_path / "indexes" / name).mkdir(parents=True)
        (tmp_path / "indexes" / name / file).touch()
    monkeypatch.setenv("POLYQA_HOME", str(tmp_path))
    assert completion.indexes("") == ["new", "old"]


def test_lists_that_are_written_down_are_those_of_the_commands(refused: Callable[..., str]) -> None:
    assert set(completion.FORMAT_NAMES) == set(FORMATS)
    told = refused("index", "search", "homonyms", "Rome", "--retriever", "oracle")
    assert f"--retriever is one of {', '.join(completion.RETRIEVER_NAMES)}, not" in told
