"""A command whose language model's server fails in its midst; the processes and the server are real."""

import json
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from lab.faults import kills
from lab.faults.kills import Command
from lab.faults.lm import engine_reply
from lab.faults.outages import attack
from polyqa.lm.adapter import LeanAdapter
from polyqa.signatures import AnswerClosedBook

PROMPT = LeanAdapter().format(AnswerClosedBook, [], {"question": "When did Titanic come out?"})


def ask(address: str) -> str:
    body = json.dumps({"model": "m", "messages": PROMPT}).encode()
    with urllib.request.urlopen(f"{address}/chat/completions", body, 200) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"])


@pytest.mark.parametrize(
    ("keeps", "tells", "cells"), [(True, True, ["2", "2", "2", "2"]), (False, False, ["2", "0", "2", "0"])]
)
def test_what_a_command_does_with_an_outage_is_told_apart(
    keeps: bool, tells: bool, cells: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(words: list[str], standalone_mode: bool) -> int:
        home, address = Path(words[0]), words[1]
        kept = home / "kept"
        if not keeps and kept.exists():
            return 2
        for _ in range(3 - len(kept.read_text() if kept.exists() else "")):
            kept.touch()
            with suppress(urllib.error.HTTPError):
                ask(address)
                with kept.open("a") as file:
                    file.write("x")
                continue
            if not tells:
                raise RuntimeError("a bug")
            print("The server fails.")
            return 2
        return 0

    monkeypatch.setattr(kills, "polyqa", work)
    (tmp_path / "home").mkdir()
    engine_reply({"messages": PROMPT})  # the server loads nothing in the midst of the trials
    table, wrong = attack(
        tmp_path / "home",
        "work",
        lambda address: Command(f"{{home}} {address}", "kept", Path.read_text),
        ["500", "429"],
        count=2,
        seed=0,
    )
    (row,) = table.rows
    assert row[1:5] == cells
    assert bool(wrong) is not keeps
