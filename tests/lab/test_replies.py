"""Recorded replies are counted and drawn by kind, and labels are counted."""

import json
from pathlib import Path

from typer.testing import CliRunner

import lab.replies

RECORDING = Path(__file__).parents[2] / "lessons" / "spanwise.jsonl.gz"


def run(*arguments: object) -> str:
    app = lab.replies.typer.Typer()
    app.command()(lab.replies.main)
    found = CliRunner().invoke(app, list(map(str, arguments)))
    assert found.exit_code == 0, found.output
    return found.output


def test_a_sheet_is_drawn_evenly_and_its_labels_are_counted(tmp_path: Path) -> None:
    sheet, stored = tmp_path / "sheet.jsonl", tmp_path / "replies.json"
    run(RECORDING, "--draw", sheet, "--limit", 6)
    lines = [json.loads(line) for line in sheet.read_text().splitlines()]
    assert len(lines) == len({line["reply"] for line in lines}) == 6
    assert {line["signature"] for line in lines} == {"TellFindings", "VerifyFinding"}
    assert all("read" in line for line in lines)

    labels = ["read right"] * 5 + ["read wrong"]
    filled = [line | {"label": label} for line, label in zip(lines, labels, strict=True)]
    sheet.write_text("".join(json.dumps(line) + "\n" for line in filled))
    printed = run(RECORDING, "--labels", sheet, "--json", stored)
    assert "interpretations.py: " in printed, "lines that no reply ran"
    (table,) = json.loads(stored.read_text())["tables"].values()
    assert table["heads"][-4:] == list(lab.replies.LABELS)
    assert table["rows"][-1][-4:] == ["5", "1", "0", "0"]
