"""Every experiment is one command, `python -m lab.NAME`; each is run on a few questions."""

import json
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polyqa
from lab.local import matched
from polyqa.evaluation.runs import open_run
from polyqa.metrics.gold import Question, Reading

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def of(name: str, *words: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
        monkeypatch.delitem(sys.modules, f"lab.{name}", raising=False)
        with pytest.raises(SystemExit) as stop:
            runpy.run_module(f"lab.{name}", run_name="__main__")
        assert not stop.value.code
        return capsys.readouterr().out

    return of


def stored(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def test_help(run: Run) -> None:
    assert "--help" in run("training.train_writer", "--help")


def test_readings_of_runs_are_counted_and_compared(run: Run, tmp_path: Path) -> None:
    asked, models = polyqa.Questions("homonyms/dev", limit=4).asked, polyqa.Models(judge=None)
    after = tmp_path / "made" / ".work" / "test-after"
    for folder, program in ((tmp_path / "before", "closed-book"), (after, "rac")):
        polyqa.evaluate(program, asked, models=models, folder=folder)
    shutil.copy(Path("compiled/rac-homonyms-local/card.json"), tmp_path / "made")
    words = ("--questions", "homonyms/dev", "--before", tmp_path / "before", "--label", "another program")
    run("local", after, *words, "--json", tmp_path / "l.json")
    tables = stored(tmp_path / "l.json")["tables"]
    (row,), (gain,) = tables["runs"]["rows"], tables["gains"]["rows"]
    readings = [one for record in open_run(after).records for one in record.interpretations]
    assert gain[:2] == ["another program", "4"]
    assert gain[8:10] == row[4:6]
    spent = stored(tmp_path / "made" / "card.json")["spent"]
    assert gain[10:] == [f"{spent[name]:,}" for name in ("calls", "input_tokens", "output_tokens")]
    run("local", tmp_path / "before", *words, "--json", tmp_path / "l.json")
    assert stored(tmp_path / "l.json")["tables"]["gains"]["rows"][0][10:] == ["–"] * 3
    assert row[4].endswith(f" of {len(readings)}")
    assert row[5].endswith(f" of {sum(len(question.readings) for question in asked)}")
    assert float(row[5].split()[0]) > 0


@pytest.mark.parametrize(
    ("answers", "right"), [(["1912", "1997", "1812"], 2), (["1912", "in 1912"], 1), (["1812"], 0), ([], 0)]
)
def test_a_gold_reading_is_counted_once(answers: list[str], right: int) -> None:
    readings = tuple(Reading("When?", (year,)) for year in ("1912", "1997"))
    assert matched(answers, Question("one", "When?", readings)) == right


def test_readings_are_matched_so_that_most_are_right() -> None:
    question = Question("one", "When?", (Reading("First?", ("November 2001",)), Reading("Then?", ("4 November 2001",))))
    answers = ["4 November 2001", "16 November 2001"]
    assert [matched(given, question) for given in (answers, answers[::-1])] == [2, 2]


def test_faults_prints_and_stores_its_tables(run: Run, tmp_path: Path) -> None:
    """Of two steps the first may get an empty reply or a page, and the question is answered all the same."""
    failures = (word for name in ("empty", "401", "reset", "drip", "html") for word in ("--failure", name))
    words = ("--program", "query-refinement", "--shown", "query-refinement", *failures, "--timeout", "1.0")
    out = run("faults", "lm", *words, "--json", tmp_path / "f.json")
    kept = stored(tmp_path / "f.json")
    assert kept["command"] == f"python -m lab.faults {shlex.join(('lm', *words))}"
    told = [row[1] for row in kept["tables"]["told"]["rows"]]
    wanted = ("was empty", "the server refused the key", "reset by peer", "within 1 second", "is not JSON")
    assert all(part in one for part, one in zip(wanted, told, strict=True)), told
    assert "| 401, a wrong key | `[openai/m] the server refused the key" in out
    assert kept["tables"]["answered"]["rows"] == [["`query-refinement`", "1 of 2", *["0 of 2"] * 3, "1 of 2"]]
    assert [row[1:] for row in kept["tables"]["kept"]["rows"]] == [
        ["`refine`", "no reading is taken from it"],
        ["`write`", "nothing: the question fails"],
    ]
