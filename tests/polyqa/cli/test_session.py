"""Several questions over what is loaded once, typed at a prompt."""

import io
import os
import pty
import re
import subprocess
import sys

import pytest
from command_line import Refused, Run

TITANIC = "When did Titanic come out?"


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that are loaded."""
    import polyqa.loading

    load, names = polyqa.loading.load, []

    def counting(name: str, **settings: object) -> object:
        names.append(name)
        return load(name, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(polyqa.loading, "load", counting)
    return names


def test_without_a_question_somebody_has_to_type_one(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{TITANIC}\n"))
    assert "polyqa answer FILE" in refused("ask", "--program", "rac")
    monkeypatch.setattr(sys, "stdin", Typed())
    assert "go with a question" in refused("ask", "--json")


class Typed(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def typed(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs `polyqa ask` with lines that are typed at its prompt; an error is raised where it is one."""

    def _typed(lines: list[str | type[BaseException]], *words: object) -> tuple[int, str, str]:
        rest = iter(lines)

        def line(prompt: str) -> str:
            given = next(rest, EOFError)
            if isinstance(given, str):
                return given
            raise given

        monkeypatch.setattr("builtins.input", line)
        monkeypatch.setattr(sys, "stdin", Typed())
        return run("ask", *words)

    return _typed


def test_a_session_answers_until_it_ends_and_loads_once(typed: Run, loaded: list[str]) -> None:
    code, out, err = typed([TITANIC, "", "Who founded Alexandria?"], "--program", "rac")
    assert code == 0, err
    assert out.startswith("rac · homonyms · polyqa/extractive\n")
    assert "1997" in out
    assert "Alexander the Great" in out
    assert loaded == ["rac"]


def test_why_shows_how_the_last_answer_came_about(typed: Run) -> None:
    code, out, err = typed([":why", TITANIC, ":why", "why " * 600, ":why"], "--program", "rac-homonyms-local")
    assert code == 0, err
    assert out.count("No answer yet") == 2, "an answer of another question is not the last one's"
    assert out.count("call 1 of 1") == 1


def test_help_lists_the_commands_and_so_does_one_that_is_none(typed: Run) -> None:
    _, out, _ = typed([":help", ":nonsense"], "--program", "closed-book")
    assert "There is no :nonsense." in out
    for name in (":why", ":help", ":quit"):
        assert out.count(f"  {name} ") == 2


def test_a_number_shows_that_reading_and_one_that_is_none_is_told(typed: Run) -> None:
    _, out, err = typed(["2", TITANIC, "2", "9", "exit", "Who founded Alexandria?"], "--program", "rac")
    assert "polyqa: No answer yet: ask a question first." in err, "a number asks nothing"
    second = re.findall(r"^  2  .*?: (.*?) ·", out, re.MULTILINE)
    assert re.findall(r"^  1  (.*?) ·", out, re.MULTILINE)[1:] == second, out
    assert "There is no reading 9: the last answer has " in err
    assert "Alexander the Great" not in out, "the session had ended"


def test_ctrl_c_ends_what_is_typed_and_not_the_session(typed: Run) -> None:
    code, out, _ = typed([KeyboardInterrupt, TITANIC], "--program", "rac")
    assert (code, "1997" in out) == (0, True)


def test_the_embedded_engine_in_place_of_the_model_of_a_program_is_told(run: Run) -> None:
    told = "rac-homonyms-local was compiled for local/qwen2.5-coder-1.5b; without --lm the embedded engine answers."
    for program, said in (("rac-homonyms-local", True), ("rac", False)):
        code, _, err = run("ask", TITANIC, "--program", program)
        assert (code, told in err) == (0, said), err


def test_a_chosen_reading_says_what_the_question_took(typed: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer._click.termui.visible_prompt_func", lambda prompt: "2")
    code, out, err = typed([TITANIC], "--program", "rac", "--ask-back")
    assert code == 0, err
    assert re.search(r"^rac · .* · 1 call · [1-9]", out, re.MULTILINE | re.IGNORECASE), out


@pytest.mark.parametrize(("ending", "interrupted"), [(KeyboardInterrupt, True), (EOFError, False)])
def test_an_answer_stays_where_its_choice_is_given_up(
    ending: type[BaseException], interrupted: bool, typed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given_up(prompt: str) -> str:
        raise ending

    monkeypatch.setattr("typer._click.termui.visible_prompt_func", given_up)
    code, out, err = typed([TITANIC, "1"], "--program", "rac", "--ask-back")
    assert (code, "interrupted" in err, "report it" in err) == (0, interrupted, False), err
    assert "1997" in out, "the first reading was chosen after all"


@pytest.mark.slow
def test_on_a_real_terminal_the_prompt_comes_and_questions_are_remembered() -> None:
    parent, child = pty.openpty()
    words = [sys.executable, "-m", "polyqa", "ask", "--program", "rac"]
    with subprocess.Popen(
        words, stdin=child, stdout=child, stderr=child, env={**os.environ, "TERM": "dumb"}
    ) as process:
        os.close(child)
        seen = ""
        while not seen.endswith("? "):
            seen += os.read(parent, 10_000).decode()
        for typed in (f"{TITANIC}\n", "\x10\n"):  # Ctrl-P is the line before
            os.write(parent, typed.encode())
            seen = ""
            while not re.search(r"[\d.]+ s\s+\? $", seen):
                seen += os.read(parent, 10_000).decode()
            assert TITANIC in seen
            assert "1997" in seen
        os.write(parent, b":quit\n")
        assert process.wait(60) == 0
    os.close(parent)
