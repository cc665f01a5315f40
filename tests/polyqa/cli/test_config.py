"""polyqa.toml: what it may set, and what it comes to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import Refused, Run

from polyqa.cli.app import app
from polyqa.cli.config import defaults, home_file


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    home_file().parent.mkdir()
    return home_file()


APP = typer.main.get_command(app)


def taken(command: str, *words: str) -> dict[str, Any]:
    """Return what a command takes of its words and the file."""
    return APP.commands[command].make_context(command, [*words], parent=typer.Context(APP)).params  # type: ignore[attr-defined]


def test_a_command_takes_each_default_by_its_option(file: Path) -> None:
    file.write_text(
        'index = "mine"\nprogram = "rac"\ntemperature = 0.5\npassages = 3\nlm-set = ["seed=1"]\njson = true\n'
    )
    serve = taken("serve")
    assert (serve["indexes"], serve["programs"], serve["lm_set"]) == (["mine"], ["rac"], ["seed=1", "temperature=0.5"])
    lm_set = taken("serve", "--lm-set", "top_p=0.9")["lm_set"]
    assert lm_set == ["seed=1", "temperature=0.5", "top_p=0.9"], "another setting leaves the file's own"
    ask = taken("ask", "Who?")
    assert (ask["index"], ask["program"], ask["temperature"], ask["passages"]) == ("mine", "rac", 0.5, 3)
    assert (ask["lm_set"], ask["as_json"]) == (["seed=1"], True)


def test_a_compiled_program_has_its_own_index_and_number_of_passages(file: Path) -> None:
    file.write_text('index = "mine"\npassages = 3\n')
    for words, index, passages in [
        ([], "mine", 3),
        (["--program", "rac"], "mine", 3),
        (["--program", "compiled/mine"], None, None),
        (["--program", "compiled/mine", "-k", "8", "--index", "other"], "other", 8),
    ]:
        ask = taken("ask", "Who?", *words)
        assert (ask["index"], ask["passages"]) == (index, passages)


@pytest.mark.parametrize("args", [["--lm", "local"], ["Who?", "--lm=local"]])
def test_how_a_model_is_asked_goes_with_the_model(args: list[str], file: Path) -> None:
    file.write_text('lm = "openai/x"\nhelper-lm = "openai/y"\ntemperature = 0\ntimeout = 9\nindex = "mine"\n')
    assert defaults(args, APP) == {"index": "mine"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('api_key = "x"', "polyqa.toml sets 'api-key', which is an option of no command"),
        ("debug = true", "polyqa.toml sets 'debug', which is an option of no command"),
        ("program = ", "polyqa.toml cannot be read: Invalid value"),
        ("program = " + "[" * 100_000, "polyqa.toml cannot be read: maximum recursion"),
    ],
)
def test_mistakes_get_one_line(text: str, told: str, file: Path, refused: Refused) -> None:
    file.write_text(text)
    assert told in refused("ask", "Who?")


def test_a_value_is_what_its_option_takes(file: Path, run: Run) -> None:
    file.write_text('passages = "many"\n')
    code, _, err = run("ask", "Who?")
    assert (code, "'--passages'" in err, "valid integer" in err) == (2, True, True)


def test_help_comes_although_the_file_is_wrong(file: Path, printed: Callable[..., str]) -> None:
    file.write_text("nonsense")
    assert "--program" in printed("ask", "--help")


def test_a_default_reaches_the_command_and_an_option_overrules_it(file: Path, refused: Refused) -> None:
    file.write_text('program = "oracle"\nindex = "nowhere"\n')
    assert "Unknown program 'oracle'" in refused("ask", "Who?")
    assert "no index at" in refused("ask", "Who?", "--program", "rac")
