"""On a terminal of 80 columns nothing is cut off, and nothing is wider."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Printed
from harness import two_runs
from hypothesis import given
from hypothesis import strategies as st

from polyqa.cli.display import fitting
from polyqa.optimizers.recipes import RECIPES
from polyqa.programs.registry import REGISTRY

NAMES = ("diva--homonyms-dev", "diva-mine--homonyms-dev--openai-gpt-4o-mini")


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch, printed: Printed) -> Printed:
    """Return what runs a command on a terminal of 80 columns, and gives what that shows, without its styles."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")

    def shown(*words: object) -> str:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        return re.sub(r"\x1b\[[0-9;]*m", "", printed(*words))

    return shown


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = two_runs(tmp_path_factory.mktemp("runs"), *NAMES)
    return [folder / name for name in NAMES]


def whole(text: str) -> str:
    """Return a text without line breaks and spaces, so that what was folded can be found."""
    return "".join(text.split())


def check(text: str) -> None:
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text.replace("polyqa ask …", "")


def test_programs_are_told_whole(narrow: Printed) -> None:
    out = narrow("programs")
    check(out)
    for name, entry in REGISTRY.items():
        assert name in out
        for part in (entry.summary, entry.paper, entry.calls):
            assert all(word in out for word in part.split())


def test_recipes_are_told_whole(narrow: Printed) -> None:
    out = narrow("programs", "--recipes")
    check(out)
    assert all(word in out for name, one in RECIPES.items() for word in (name, *one.summary.split()))


@pytest.mark.parametrize("program", ["auto", "toc"])
def test_answers_are_told_whole(narrow: Printed, program: str) -> None:
    out = narrow("ask", "When did Titanic come out?", "--program", program)
    check(out)
    assert re.search(r" · \d+ calls · .* · \d+\.\d s$", " ".join(out.split()))


def test_runs_are_shown_in_parts_that_fit(narrow: Printed, runs: list[Path]) -> None:
    out = narrow("table", *runs)
    check(out)
    for label in ("STR-EM", "D-F1", "DR", "tokens out", "95% bootstrap"):
        assert whole(label) in whole(out)
    assert out.count("42.5 [33.5, 51.5]") == 4, "figures are never folded"
    assert "|" not in out


def test_a_comparison_is_shown_in_parts_that_fit(narrow: Printed, runs: list[Path]) -> None:
    out = narrow("compare", *runs)
    check(out)
    lines = out.splitlines()
    assert lines[:2] == [f"A: {NAMES[0]}", f"B: {NAMES[1]}"]
    assert "B is better in DR: 42.5 → 72.5, +30.0 [+30.0, +30.0]" in " ".join(lines)
    assert re.search(r"^DR +10 +42.5 +72.5 +\+30.0 \[\+30.0, \+30.0\] +0.002 +10 / 0 / 0 *$", out, re.M), "in one part"


@pytest.mark.parametrize("words", [["index", "search", "homonyms", "Titanic"], ["index", "info", "homonyms"]])
def test_what_an_index_holds_fits(narrow: Printed, words: list[str]) -> None:
    out = narrow(*words)
    assert max(map(len, out.splitlines())) <= 80


def test_a_long_path_is_folded_and_not_cut_off(narrow: Printed, tmp_path: Path, copy_index: Callable[[], Path]) -> None:
    path = tmp_path / ("long" * 30) / "x"
    path.parent.mkdir()
    copy_index().rename(path)
    assert str(path) in whole(narrow("index", "info", path))


@given(st.lists(st.lists(st.text("ab ", max_size=30), min_size=4, max_size=4), min_size=2), st.integers(30, 120))
def test_every_column_stands_in_a_part_that_fits(rows: list[list[str]], width: int) -> None:
    parts = fitting(rows, width)
    assert [column for part in parts for column, _ in part if column] == [1, 2, 3]
    for part in parts:
        assert part[0][0] == 0
        assert len(part) > 1
        assert len(part) == 2 or sum(own + 2 for _, own in part) <= width
        assert all(own >= max(len(row[column]) for row in rows[1:]) for column, own in part[1:])
