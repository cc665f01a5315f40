"""polyqa.toml: whose file may set what, and what it comes to."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Refused
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.cli.config import FILE, KEYS, defaults, home_file, project_file


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, in which we are, and another home."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    (folder / "deep").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def at_home(text: str) -> None:
    home_file().parent.mkdir(parents=True, exist_ok=True)
    home_file().write_text(text)


def test_without_files_there_are_no_defaults() -> None:
    assert defaults([]) == {}


def test_a_project_s_file_goes_before_the_user_s_own(project: Path) -> None:
    at_home('program = "diva"\npassages = 7\n')
    (project / FILE).write_text('program = "rac"\nindex = "mine"\n')
    assert defaults([]) == {"program": "rac", "passages": 7, "index": "mine"}


def test_a_command_takes_each_default_by_its_option(project: Path) -> None:
    import typer

    from polyqa.cli.app import app

    (project / FILE).write_text('index = "mine"\nprogram = "rac"\ntemperature = 0.5\npassages = 3\n')
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    serve = commands["serve"].make_context("serve", []).params
    assert (serve["indexes"], serve["programs"], serve["lm_set"]) == (["mine"], ["rac"], ["temperature=0.5"])
    serve = commands["serve"].make_context("serve", ["--lm-set", "top_p=0.9"]).params
    assert serve["lm_set"] == ["temperature=0.5", "top_p=0.9"], "another setting leaves the file's own"
    ask = commands["ask"].make_context("ask", ["Who?"]).params
    assert (ask["index"], ask["program"], ask["temperature"], ask["passages"]) == ("mine", "rac", 0.5, 3)


def test_a_compiled_program_s_number_of_passages_is_its_own(project: Path) -> None:
    import typer

    from polyqa.cli.app import app

    (project / FILE).write_text("passages = 3\n")
    ask = typer.main.get_command(app).commands["ask"]  # type: ignore[attr-defined]
    for program, options, passages in [
        ("rac", [], 3),
        ("compiled/mine", [], None),
        ("compiled/mine", ["-k", "8"], 8),  # and is refused, as the user asked for it
    ]:
        assert ask.make_context("ask", ["Who?", "--program", program, *options]).params["passages"] == passages
    assert ask.make_context("ask", ["Who?"]).params["passages"] == 3


def test_the_user_s_own_file_may_name_servers() -> None:
    at_home('lm = "openai/m@http://10.0.0.1/v1"\nhelper-lm = "openai/x"\nmlflow = "http://10.0.0.2"\ntemperature = 0\n')
    assert defaults([]) == {
        "lm": "openai/m@http://10.0.0.1/v1",
        "helper_lm": "openai/x",
        "mlflow": "http://10.0.0.2",
        "temperature": 0,
    }


@pytest.mark.parametrize("args", [["--lm", "local"], ["Who?", "--lm=local"]])
def test_how_a_model_is_asked_goes_with_the_model(args: list[str], project: Path) -> None:
    at_home('lm = "openai/x"\ntemperature = 0\ntimeout = 9\nindex = "mine"\n')
    assert defaults(args) == {"index": "mine"}
    (project / FILE).write_text('lm = "local"\n')
    assert defaults([]) == {"lm": "local", "index": "mine"}


@pytest.mark.parametrize(
    "line",
    [
        'lm = "openai/gpt-4o"',
        'lm = "openai/m@http://evil.example/v1"',
        'lm = "ollama_chat/x@http://evil.example"',
        'lm = "local@http://evil.example"',
        'lm = "local/evil.gguf"',
        'lm = "local/EVIL.GGUF"',
        'lm = "local/../evil"',
        'lm = "recorded/evil.jsonl.gz"',
        'helper_lm = "openai/x"',
        'helper-lm = "openai/x@http://evil.example"',
        'mlflow = "http://evil.example"',
        'judge = "openai/x"',
        'reader = "evil/reader"',
        'index = "/etc"',
        'index = "../elsewhere"',
        'index = "~/private"',
        'index = "deep/../../elsewhere"',
        'index = ".."',
        'program = "../evil"',
        'program = "link/evil"',
    ],
)
def test_what_a_stranger_s_checkout_may_not_set(line: str, project: Path, refused: Refused) -> None:
    (project / "link").symlink_to(project.parent)
    (project / FILE).write_text(line + "\n")
    told = refused("ask", "Who?")
    name = re.split(r"\W", line.replace("-", "_"))[0]
    assert str(project / FILE) in told
    assert f"sets {name} = " in told
    assert f"a project may not. Set it in {home_file()}, or with --{name.replace('_', '-')}." in told


@pytest.mark.parametrize(
    "name", ["api_base", "api_key", "prompt_lm", "record", "lm_set", "set", "engine", "plugins", "x"]
)
def test_what_nobody_may_set(name: str, project: Path) -> None:
    for write in (at_home, (project / FILE).write_text):
        write(f'{name} = "x"\n')
        with pytest.raises(PolyqaError, match=f"sets '{name}', which is none of program, index"):
            defaults([])
        write("")


def test_paths_are_those_of_the_project_s_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git").mkdir()
    (project / FILE).write_text('index = "indexes/mine"\nprogram = "rac-homonyms-local"\n')
    monkeypatch.chdir(project / "deep")
    assert defaults([]) == {"index": str(project / "indexes/mine"), "program": "rac-homonyms-local"}


def test_a_file_above_counts_within_one_repository(project: Path) -> None:
    (project.parent / FILE).write_text('program = "diva"\n')
    assert project_file(project) is None
    (project / FILE).touch()
    assert project_file(project) == project / FILE
    assert project_file(project / "deep") is None, "no repository"
    (project / ".git").touch()
    assert project_file(project / "deep") == project / FILE


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("program = ", "cannot be read: Invalid value"),
        ("program = " + "[" * 100_000, "cannot be read: maximum recursion"),
        ("passages = true", "passages is a number, not True"),
        ('passages = "5"', "passages is a number, not '5'"),
        ("index = 5", "index is a text in quotes, not 5"),
        ('[index]\nname = "x"', "index is a text in quotes, not {'name': 'x'}"),
        ("passages = 2.5", "passages is a number, not 2.5"),
    ],
)
def test_mistakes_get_one_line(text: str, told: str, project: Path, refused: Refused) -> None:
    (project / FILE).write_text(text)
    line = refused("ask", "Who?")
    assert f"{project / FILE}" in line
    assert told in line


def test_help_comes_although_the_file_is_wrong(project: Path, printed: Callable[..., str]) -> None:
    (project / FILE).write_text("nonsense")
    assert "--program" in printed("ask", "--help")


def test_a_default_reaches_the_command_and_an_option_overrules_it(project: Path, refused: Refused) -> None:
    (project / FILE).write_text('program = "oracle"\nindex = "nowhere"\n')
    assert "Unknown program 'oracle'" in refused("ask", "Who?")
    assert "no index at" in refused("ask", "Who?", "--program", "rac")


@given(st.dictionaries(st.sampled_from(["lm", "helper_lm"]), st.text(max_size=30), min_size=1))
def test_no_text_sends_a_prompt_elsewhere(values: dict[str, str]) -> None:
    for name, value in values.items():
        refused = KEYS[name].refused(value, Path())
        assert refused or value.casefold() == "polyqa/extractive" or re.fullmatch(r"(?i)local(/[\w.-]+)?", value)
        assert refused or not value.casefold().endswith(".gguf")
