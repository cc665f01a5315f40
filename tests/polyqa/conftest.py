import sys
from collections.abc import Callable

import pytest

from polyqa.cli.app import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("COLUMNS", "200")

    def _run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["polyqa", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return _run
