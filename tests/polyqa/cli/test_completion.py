"""A shell completes names as they are in the registries, at once."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from polyqa.artifacts.store import artifact_names
from polyqa.cli import completion
from polyqa.colbert_index.store import index_home, index_names
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.loading import FORMATS
from polyqa.models.gguf import MODELS
from polyqa.optimizers.recipes import RECIPES
from polyqa.programs import PROGRAMS

HEAVY = {"torch", "dspy", "transformers", "colbert", "scipy", "lancedb"}


def complete(*words: str, shell: str = "bash", **surroundings: str) -> list[str]:
    """Return what a shell is given for the last word, by a process that loads nothing heavy."""
    script = (
        "import sys; sys.argv = ['polyqa']\n"
        "from polyqa.cli import main\n"
        "try: main()\n"
        "finally: sys.stderr.write(repr(sorted(set(sys.modules) & " + repr(HEAVY) + ")))\n"
    )
    asked = {
        "_POLYQA_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": " ".join(("polyqa", *words)),
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": " ".join(("polyqa", *words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **asked, **surroundings}
    )
    assert done.stderr.endswith("[]"), done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["ask", "--program", ""], [*PROGRAMS, *artifact_names()]),
        (["ask", "--program", "di"], [name for name in (*PROGRAMS, *artifact_names()) if name.startswith("di")]),
        (["compile", "--program", "d"], [name for name in PROGRAMS if name.startswith("d")]),
        (["compile", "--recipe", ""], list(RECIPES)),
        (["model", "pull", "qwen"], [model.name for model in MODELS if model.name.startswith("qwen")]),
        (["adapt", "--recipe", "knn"], [name for name in RECIPES if name.startswith("knn")]),
        (["evaluate", "--index", ""], index_names()),
        (["index", "info", ""], index_names()),
        (["questions", "build", "--index", ""], index_names()),
        (["show", "rac"], ["rac", "rac-homonyms-local"]),
        (["compare", "a", "b", "--metric", "g_"], [name for name in COLUMNS if name.startswith("g_")]),
        (["evaluate", "--questions", "h"], list(completion.QUESTION_SETS)),
        (["index", "del"], ["delete"]),
        (["ask", "--pass"], ["--passages"]),
    ],
    ids=" ".join,
)
def test_values_are_completed_as_the_registries_have_them(words: list[str], names: list[str]) -> None:
    assert complete(*words) == names


def test_names_of_indexes_are_those_of_the_home(tmp_path: Path) -> None:
    for name, file in (("new", "current"), ("old", "polyqa.json"), ("other", "notes.txt")):
        (tmp_path / "indexes" / name).mkdir(parents=True)
        (tmp_path / "indexes" / name / file).touch()
    assert complete("ask", "--index", "", POLYQA_HOME=str(tmp_path)) == ["new", "old"]


@pytest.mark.parametrize("home", [None, "~/somewhere"])
def test_the_home_is_the_same(home: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if home is None:
        monkeypatch.delenv("POLYQA_HOME", raising=False)
    else:
        monkeypatch.setenv("POLYQA_HOME", home)
    assert completion.index_folder() == index_home()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script_and_installs_it(shell: str, tmp_path: Path) -> None:
    surroundings = {**os.environ, "HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown, installed = (
        subprocess.run(
            [sys.executable, "-c", "from polyqa.cli import main; import sys; sys.argv[0] = 'polyqa'; main()", *words],
            capture_output=True,
            text=True,
            env=surroundings,
        )
        for words in (("--show-completion", shell), ("--install-completion", shell))
    )
    assert shown.returncode == installed.returncode == 0, shown.stderr + installed.stderr
    assert "_POLYQA_COMPLETE" in shown.stdout
    assert f"{shell} completion installed in" in installed.stdout
    assert any("_POLYQA_COMPLETE" in path.read_text() for path in tmp_path.rglob("*polyqa*") if path.is_file())


def test_lists_that_are_written_down_are_those_of_the_commands(refused: Callable[..., str]) -> None:
    assert set(completion.FORMAT_NAMES) == set(FORMATS)
    told = refused("index", "search", "homonyms", "Rome", "--retriever", "oracle")
    assert f"--retriever is one of {', '.join(completion.RETRIEVER_NAMES)}, not" in told
