import json
import sys
from pathlib import Path

import pytest
from command_line import Printed, Refused, Run

from polyqa.cli.app import main
from polyqa.evaluation.homonyms import questions_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command line and gives its exit code and what it printed."""
    monkeypatch.setenv("COLUMNS", "200")

    def _run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["polyqa", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return _run


@pytest.fixture
def printed(run: Run) -> Printed:
    """Return what runs a command line that must work, and gives what it printed."""

    def _printed(*words: object) -> str:
        code, out, err = run(*words)
        assert code == 0, err
        return out

    return _printed


@pytest.fixture
def refused(run: Run) -> Refused:
    """Return what runs a command line that the user has to mend, and gives the one line that says why."""

    def _refused(*words: object) -> str:
        code, _, err = run(*words)
        told = [line for line in err.splitlines() if line.startswith("polyqa:")]
        assert (code, len(told)) == (2, 1), err
        assert "Traceback" not in err
        return told[0]

    return _refused


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of the first questions of the shipped splits, by split."""
    folder = tmp_path_factory.mktemp("questions")
    sets = {}
    for split, size in (("train", 8), ("dev", 4), ("test", 4)):
        records = json.loads(questions_path(split).read_text(encoding="utf-8"))
        kept = list(records.get(split, records).items())[:size]
        sets[split] = folder / f"{split}.json"
        sets[split].write_text(json.dumps(dict(kept)), encoding="utf-8")
    return sets
