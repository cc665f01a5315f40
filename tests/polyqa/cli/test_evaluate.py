import json
import re
import shutil
import uuid
from pathlib import Path

import pytest
from command_line import Printed, Refused, Run
from harness import strict_json, table_rows
from openai_server import serve
from scripted_engine import ScriptedEngine

from polyqa.artifacts.store import CARD, compiled_home
from polyqa.colbert_index.store import index_path
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.runs import PREDICTIONS, SETTINGS, SUMMARY, read_records
from polyqa.extractive.prompt import Prompt
from polyqa.question_sets import Questions

PLAIN = ("--judge", "none")


@pytest.fixture
def some(small: dict[str, Path]) -> Path:
    """A file of four of the shipped questions, two of them ambiguous."""
    return small["dev"]


@pytest.fixture
def ids(some: Path) -> list[str]:
    return list(json.loads(some.read_text(encoding="utf-8")))


# evaluate


def test_evaluate_prints_a_table_and_goes_on_where_it_stopped(
    run: Run, printed: Printed, refused: Refused, some: Path, tmp_path: Path
) -> None:
    words = ("evaluate", "--program", "rac", "--questions", some, "--runs", tmp_path, *PLAIN)
    code, out, err = run(*words)
    assert code == 0, err
    folder = tmp_path / "rac--dev"
    assert re.match(r"rac--dev: DR [\d.]+ \[[\d.]+, [\d.]+\] on 4 questions\n", out)
    assert out.index("\n| DR | ") < out.index("\n| D-F1 | "), "the headline comes first"
    for column in COLUMNS.values():
        if f"\n| {column.label} | " in out:
            assert column.meaning in out
    assert f"{folder}: 4 questions, 0 failed" in err
    whole = (folder / PREDICTIONS).read_bytes()
    (folder / PREDICTIONS).write_bytes(whole[: whole.index(b"\n") + 1])
    printed(*words)
    again = read_records(folder / PREDICTIONS)
    assert [one.id for one in again] == [json.loads(line)["id"] for line in whole.splitlines()]
    assert [one.answer for one in again] == [json.loads(line)["answer"] for line in whole.splitlines()]
    told = r"rac--dev holds another run: program_state was \w+, is \w+\. Choose another"
    assert re.search(told, refused(*words, "-k", "2"))


def test_evaluate_json_says_what_was_run_on_what(printed: Printed, some: Path, tmp_path: Path) -> None:
    words = ("evaluate", "--program", "rac", "--questions", some, "--limit", "2", "--runs", tmp_path, "--name", "mine")
    out = printed(*words, "--reader", "embedded", "--where", "pid <> '0'", "--json")
    (one,) = strict_json(out)
    assert (one["name"], one["questions"], one["failed"]) == ("mine", 2, 0)
    settings = one["settings"]
    assert (settings["program"], settings["lm"], settings["n"]) == ("rac", "polyqa/extractive", 2)
    assert settings["questions"].startswith("dev.json, 2 questions (")
    assert settings["index"].startswith("homonyms (")
    assert settings["index"].endswith(") where pid <> '0'")
    assert settings["reader"] in settings["judge"]
    assert settings["versions"].keys() == {"polyqa", "dspy"}
    assert {"dr", "g_f1", "mrecall@5", "calls"} <= one["metrics"].keys()
    assert one["metrics"]["dr"].keys() == {"value", "low", "high", "n"}
    assert one["metrics"]["calls"]["value"] == 1.0
    assert strict_json((tmp_path / "mine" / SUMMARY).read_text())["metrics"] == one["metrics"]
    assert strict_json((tmp_path / "mine" / SETTINGS).read_text()) == settings


@pytest.mark.parametrize("words", [("--limit", "0"), ("-k", "0"), ("--threads", "0")])
def test_numbers_out_of_range_are_refused(run: Run, words: tuple[str, str]) -> None:
    code, _, err = run("evaluate", *words)
    in_one_line = " ".join(err.replace("│", " ").split())  # of a box as wide as the terminal was when Typer was loaded
    assert (code, "greater than or equal to 1" in in_one_line) == (2, True), err


def judge(prompt: Prompt) -> dict[str, str]:
    """Find everything supported, and no reading covered."""
    return {"supported": "Yes", "covered": "[]", "kept": "[1]"}


def test_a_judge_of_ones_own_server_judges(
    printed: Printed, refused: Refused, ids: list[str], some: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = f"openai/judge-{uuid.uuid4().hex}"
    words = ("--questions", some, "--judge")
    program = ("evaluate", "--program", "rac", "-k", "2", "--runs", tmp_path, "--name", "mine", "--json")
    outputs = tmp_path / "theirs.json"
    outputs.write_text(json.dumps([{"id": ids[0], "answer": "In 1991.", "passages": ["It was in 1991."]}]))
    for command in (program, ("evaluate", outputs, "--json")):
        err = refused(*command, *words, model)
        assert "OPENAI_API_KEY" in err
        assert "or name a local server" in err
        with serve(ScriptedEngine(judge)) as server:
            out = printed(*command, *words, f"{model}@{server.base}")
        assert {request["model"] for request in server.requests} == {model.removeprefix("openai/")}
        assert strict_json(out)[0]["metrics"]["sufficient"]["n"] >= 1
    assert "judge" in (tmp_path / "mine" / SETTINGS).read_text()
    assert "127.0.0.1" not in (tmp_path / "mine" / SETTINGS).read_text(), "addresses are not kept"


# scoring the answers of others


def test_the_limits_of_a_judge_of_answers_count(printed: Printed, ids: list[str], some: Path, tmp_path: Path) -> None:
    outputs, record = tmp_path / "theirs.json", tmp_path / "judged.jsonl.gz"
    outputs.write_text(json.dumps([{"id": one, "answer": "1991.", "passages": [f"About {one}."]} for one in ids]))
    with serve(ScriptedEngine(judge)) as server:
        address = f"openai/judge-{uuid.uuid4().hex}@{server.base}"
        words = ("evaluate", outputs, "--questions", some, "--judge", address, "--record", record, "--json")
        printed(*words)
        asked = len(server.requests)
        printed(*words)
        assert len(server.requests) == asked > 0, "what is recorded is not asked again"
    assert record.exists()


def test_questions_about_the_shipped_index_are_not_asked_of_another_unless_named(
    run: Run, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").symlink_to(index_path("homonyms").resolve())
    monkeypatch.setattr("polyqa.colbert_index.store.index_home", lambda: tmp_path)
    told = refused("evaluate", "--program", "rac", "--index", "mine")
    assert "Name questions about the index mine (--questions)" in told
    told = refused("compile", "--index", "mine", "--out", "made", "--train", "homonyms/train")
    assert "Name questions about the index mine (--dev)" in told
    assert "There is no index at" in refused("evaluate", "--index", "other")
    # Nor by a compiled program, which searches the index of its card, or that of polyqa.toml.
    card = json.loads((compiled_home() / "rac-homonyms-local" / CARD).read_text(encoding="utf-8"))
    card["index"]["name"] = "mine"
    shutil.copytree(compiled_home() / "rac-homonyms-local", tmp_path / "made")
    (tmp_path / "made" / CARD).write_text(json.dumps(card), encoding="utf-8")
    assert "about the index mine" in refused("evaluate", "--program", tmp_path / "made")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "polyqa").mkdir()
    (tmp_path / "polyqa" / "polyqa.toml").write_text('index = "mine"\n', encoding="utf-8")
    assert "about the index mine" in refused("evaluate", "--program", "rac")


def test_score_takes_the_answers_of_any_system(
    printed: Printed, refused: Refused, ids: list[str], some: Path, tmp_path: Path
) -> None:
    outputs, out = tmp_path / "theirs.json", tmp_path / "scored"
    outputs.write_text(json.dumps({ids[0]: "January 1991, then March 2003.", ids[1]: "Nobody knows.", ids[2]: None}))
    words = ("evaluate", outputs, "--questions", some, *PLAIN)
    told = printed(*words, "--runs", out.parent, "--name", out.name, "--json")
    (one,) = strict_json(told)
    assert (one["name"], one["questions"], one["failed"], one["settings"]) == ("scored", 4, 2, None)
    assert one["metrics"]["str_em"]["value"] == 25.0
    assert one["metrics"]["str_em"]["n"] == 4
    assert {path.name for path in out.iterdir()} == {PREDICTIONS, SUMMARY}
    assert "holds a run already" in refused(*words, "--runs", out.parent, "--name", out.name)
    assert "theirs" in printed(*words)

    few = strict_json(printed("evaluate", outputs, "--questions", some, "--limit", 2, "--seed", 0, *PLAIN, "--json"))[0]
    drawn = {one.id for one in Questions(str(some), limit=2, seed=0).asked}
    assert (few["questions"], few["failed"]) == (2, len(drawn - {ids[0], ids[1]}))

    again = strict_json(printed("evaluate", out / PREDICTIONS, "--questions", some, *PLAIN, "--json"))[0]
    assert again["metrics"] == one["metrics"]
    words = ("evaluate", "--program", "closed-book", "--questions", some, *PLAIN, "--runs", tmp_path)
    assert "outputs of another system" in refused(*words, "--name", "scored")


def test_score_by_alces_rules(printed: Printed, ids: list[str], some: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "theirs.jsonl"
    outputs.write_text("\n".join(json.dumps({"id": one, "answer": "Two words [1].\nAnd more."}) for one in ids))
    words = ("evaluate", outputs, "--questions", some, *PLAIN, "--json")
    lengths = [strict_json(printed(*words, *extra))[0]["metrics"]["length"]["value"] for extra in ((), ("--alce",))]
    assert lengths == [5.0, 2.0]


# compare


def test_compare_prints_markdown_or_json(printed: Printed, runs: Path) -> None:
    out = printed("compare", runs / "poor", runs / "good")
    metrics, by_ambiguity, by_readings = table_rows(out)
    assert out.startswith("A: poor\nB: good\n10 questions in both.\n\nB is better in DR: ")
    assert metrics[0][2:4] == ["A", "B"]
    assert "calls" not in [row[0] for row in metrics], "they are equal"
    assert "calls" in [row[0] for row in table_rows(printed("compare", runs / "poor", runs / "good", "--all"))[0]]
    assert {len(row) for table in (metrics, by_ambiguity, by_readings) for row in table} == {7}
    words = ("compare", runs / "poor", runs / "good", "--metric", "str_em", "--json")
    out = printed(*words)
    data = strict_json(out)
    assert (data["headline"], data["n"]) == ("str_em", 10)
    assert data["metrics"]["str_em"]["difference"] == pytest.approx(30)
    assert data["by_ambiguity"]["time"]["p"] < 0.01


def test_runs_of_a_single_common_question_are_compared(printed: Printed, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    first = (runs / "good" / PREDICTIONS).read_text().splitlines(keepends=True)[0]
    (tmp_path / "one" / PREDICTIONS).write_text(first)
    out = printed("compare", runs / "poor", tmp_path / "one", "--json")
    assert strict_json(out)["metrics"]["dr"]["p"] == 1.0


# table


def test_table_leaves_out_what_is_no_run(run: Run, runs: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    code, out, err = run("table", notes, runs / "poor", runs / "good")
    assert code == 0
    assert [row[0] for row in table_rows(out)[0]] == ["system", "---", "poor", "good"]
    assert f"1 path left out, as no run is there: {notes}" in " ".join(err.split())
    assert run("table", notes)[0] == 2


def test_a_run_is_named_and_not_placed(run: Run, tmp_path: Path) -> None:
    for name in ("../x", ".."):
        code, _, err = run("evaluate", "--program", "rac", "--runs", tmp_path / "runs", "--name", name, "--limit", "1")
        assert (code, "--runs says where" in " ".join(err.split())) == (2, True)
    assert not (tmp_path / "x").exists()


def test_table_prints_markdown(printed: Printed, runs: Path) -> None:
    out = printed("table", runs / "poor", runs / "good")
    (table,) = table_rows(out)
    assert [row[0] for row in table] == ["system", "---", "poor", "good"]
    assert len({len(row) for row in table}) == 1
    assert "papers" not in out
    (table,) = table_rows(printed("table", runs / "poor", "--columns", "str_em, dr"))
    assert table[0] == ["system", "LM", "n", "STR-EM", "DR"]


def test_runs_are_json_or_a_picture(printed: Printed, runs: Path, tmp_path: Path) -> None:
    printed("compare", runs / "poor", runs / "good", "--plot", tmp_path / "changes.svg")
    assert " won" in (tmp_path / "changes.svg").read_text()
    out = printed("table", runs / "poor", runs / "good", "--json")
    assert [one["name"] for one in strict_json(out)] == ["poor", "good"]
    out = printed("table", runs / "poor", "--plot", tmp_path / "figure.svg")
    assert len(table_rows(out)) == 1
    assert "<svg" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    _ = printed("table", runs / "poor", "--plot", tmp_path / "figure.png", "--columns", "str_em")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
