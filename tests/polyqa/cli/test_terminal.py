"""No text of a stranger's steers the terminal, and none is taken for markup."""

import json
from pathlib import Path

import pytest
from command_line import Printed
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.text import printable

ATTACK = "\x1b]52;c;cm0=\x07\x1b[2J\u009b31m\u202e\r[/x] [red]"
SAW = "When was the saw made?"


@pytest.fixture
def index(printed: Printed, tmp_path: Path) -> Path:
    """An index whose passages try to steer the terminal."""
    corpus = tmp_path / "corpus.jsonl"
    rows = [
        {"id": f"saw{ATTACK}", "title": f"Saw{ATTACK}", "text": f"A saw was made in 1894 {ATTACK} in London."},
        {"id": "plane", "title": "Plane", "text": "A plane smooths boards by shaving them."},
    ]
    corpus.write_text("\n".join(map(json.dumps, rows)))
    printed("index", "build", corpus, "--name", tmp_path / "tools")
    return tmp_path / "tools"


@given(st.text())
def test_lines_and_letters_stay(text: str) -> None:
    shown = printable(text)
    assert printable(shown) == shown
    assert shown.splitlines() or not shown.strip()
    assert [one for one in shown if one.isprintable() or one.isspace()] == [
        one for one in text if one in shown and (one.isprintable() or one.isspace())
    ]


def steers(text: str) -> list[str]:
    return [one for one in text if one in "\x1b\x07\u009b\u202e\r"]


@pytest.mark.parametrize(
    "words",
    [
        ("ask", SAW, "--program", "rac", "--index", None),
        ("ask", SAW, "--program", "rac", "--show-prompts", "--index", None),
        ("ask", f"{SAW} {ATTACK}", "--program", "toc", "--index", None),
        ("ask", SAW, "--json", "--program", "rac", "--index", None),
        ("index", "search", None, SAW),
    ],
    ids=["ask", "prompts", "question", "json", "search"],
)
def test_what_is_printed_steers_nothing(words: tuple[str | None, ...], index: Path, printed: Printed) -> None:
    out = printed(*(word or index for word in words))
    assert "1894" in out
    assert not steers(out)
    if "--json" in words:
        assert any(ATTACK.replace("\r", " ").split()[0][:5] in one["title"] for one in json.loads(out)["passages"])


def test_no_text_becomes_a_picture(printed: Printed, tmp_path: Path) -> None:
    text = "The sign :warning: was made in 1894, as x[:100:] says."
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "a", "title": "Sign :100:", "text": text}))
    printed("index", "build", tmp_path / "c.jsonl", "--name", tmp_path / "signs")
    out = printed("ask", "When was the sign :warning: made?", "--program", "rac", "--index", tmp_path / "signs")
    assert ":warning:" in out
    assert "Sign :100:" in out
    assert out.isascii() or not {"⚠", "💯"} & {*out}


def test_a_line_of_an_error_steers_nothing(refused: Printed) -> None:
    assert not steers(refused("ask", "Who?", "--program", f"none{ATTACK}"))


def test_an_index_s_facts_are_no_markup(printed: Printed, index: Path) -> None:
    (manifest,) = index.glob("versions/*/polyqa.json")
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "checkpoint": ATTACK}))
    out = printed("index", "info", index)
    assert "[/x] [red]" in out
    assert not steers(out)
