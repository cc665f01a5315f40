"""`--record FILE`, then `--lm recorded/FILE` without a server."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Printed, Refused
from openai_server import serve

from polyqa.extractive import ExtractiveEngine

ASK = ("ask", "When did Titanic come out?", "--program", "rac", "--json")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")


def test_ask_is_recorded_and_replayed_offline(printed: Printed, refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl.gz"
    record = ("--record", path, "--lm")
    with serve(ExtractiveEngine()) as server:
        real = printed(*ASK, *record, f"openai/m@{server.base}")
        again = printed(*ASK, *record, f"openai/m@{server.base}")
        assert len(server.requests) == 1
    replayed = printed(*ASK, "--lm", f"recorded/{path}")
    results = [_without_time(json.loads(text)) for text in (real, again, replayed)]
    assert results[0] == results[1] == results[2]
    assert results[0]["input_tokens"] > 100
    said = refused("ask", "Who wrote Solaris?", "--program", "rac", "--lm", f"recorded/{path}")
    assert "no reply of openai/m" in said
    assert "'Who wrote Solaris?'" in said
    assert f"--record {path}" in said


def _without_time(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if "second" not in name}
