import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from harness import long_form, settings_of
from typer.testing import CliRunner

from lab import documents, figures, results
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.runs import PREDICTIONS, SETTINGS, line_of


def run_folder(home: Path, program: str, value: float, *, n: int = 4, done: int = 4, **settings: object) -> Path:
    """Write a run whose questions all have one value."""
    path = home / program
    path.mkdir()
    told = settings_of(n, program=program, **{"questions": f"/home/somebody/mine.json, {n} questions (f00)"} | settings)
    (path / SETTINGS).write_text(told.model_dump_json())
    (path / PREDICTIONS).write_text("".join(line_of(one) for one in long_form(done, lambda at: value + at / 100)))
    return path


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folders = [run_folder(tmp_path, name, value) for name, value in (("diva", 0.6), ("rac", 0.5))]
    monkeypatch.setattr(results, "HOME", tmp_path)
    to = tmp_path / "mine.json"
    said = CliRunner().invoke(figures.app, ["store", *map(str, folders), "--to", str(to)])
    assert (said.exit_code, said.stdout) == (0, f"{to}: 2 runs\n")
    return to


def test_a_summary_says_what_was_run_and_what_came_out(stored: Path) -> None:
    data = json.loads(stored.read_text())
    assert data["baseline"] == "rac"
    diva, rac = data["runs"]
    assert diva["command"] == "polyqa evaluate --program diva --questions mine.json --lm none --judge none"
    assert diva["settings"]["questions"] == "mine.json, 4 questions (f00)"
    assert (diva["n"], diva["failed"], diva["settings"]["reader"]) == (4, 0, "embedded")
    assert diva["date"].count("-") == 2
    dr = diva["dr"]
    assert (dr["value"], dr["n"]) == (61.5, 4)
    assert 60.0 <= dr["low"] < 61.5 < dr["high"] <= 63.0
    assert diva["change"]["difference"] == 10.0
    assert rac["change"] is None
    assert diva["metrics"]["str_em"] == 61.5
    assert "/home" not in stored.read_text()


def test_a_table_of_answers_has_the_best_first(stored: Path) -> None:
    text = documents.answers("mine")
    assert text.startswith(
        "mine.json, 4 questions (f00); index none; language model none; reader embedded; judge none; "
    )
    assert "polyqa evaluate --program PROGRAM --questions mine.json" in text
    diva, rac = text.splitlines()[-2:]
    assert diva.startswith("| `diva` | 61.5 [")
    assert "| +10.0 [+10.0, +10.0], p = 0.12 |" in diva
    assert rac.startswith("| `rac` | 51.5 [")
    assert rac.split(" | ")[2] == "–"


@pytest.mark.parametrize(("p", "said"), [(0.2, "p = 0.20"), (0.004, "p = 0.004"), (0.0001, "p < 0.001")])
def test_no_p_is_told_as_zero(p: float, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    side = SimpleNamespace(value=40.0, n=72)
    gain = SimpleNamespace(before=side, after=side, change="+0.0", p=p)
    card = SimpleNamespace(
        name="mine", program="rac", recipe={"name": "knn"}, lm="m", measure="dr", dev_gain=None, test_gain=gain
    )
    monkeypatch.setattr(documents, "artifact_names", lambda: ["mine"])
    monkeypatch.setattr(documents, "read_artifact", lambda name: SimpleNamespace(card=card))
    assert f"| 40.0 → 40.0, +0.0, {said}, n = 72 |" in documents.compiled()


def test_storing_again_replaces_what_was_stored(stored: Path, tmp_path: Path) -> None:
    results.store_runs([run_folder(tmp_path, "jpr", 0.1)], stored)
    kept = results.read_results("mine")
    assert (kept.baseline, [run.settings.program for run in kept.runs]) == (None, ["jpr"])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"done": 3}, "not a finished run"),
        ({"reader": "another"}, "differ in reader: another, embedded"),
        ({"questions": "theirs, 4 questions (f01)"}, "differ in questions"),
    ],
)
def test_only_finished_runs_that_compare_are_stored(other: dict[str, object], message: str, tmp_path: Path) -> None:
    folders = [run_folder(tmp_path, "rac", 0.5), run_folder(tmp_path, "diva", 0.5, **other)]  # type: ignore[arg-type]
    with pytest.raises(PolyqaError, match=message):
        results.store_runs(folders, tmp_path / "mine.json")
    assert not (tmp_path / "mine.json").exists()
