from pathlib import Path
from typing import Any

import pytest
from harness import FAILURE, long_form, record, settings_of, strict_json
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage
from polyqa.evaluation.records import Record
from polyqa.evaluation.runs import (
    PREDICTIONS,
    SETTINGS,
    SUMMARY,
    Run,
    line_of,
    open_run,
    read_identity,
    read_records,
    summarize,
    write_summary,
)

RECORDS = [record("a", {"str_em": 0.5}), record("ü", answer="Grün\u2028, \x85 or\rblue\n"), record("c", error=FAILURE)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / PREDICTIONS
    path.write_text("".join(map(line_of, RECORDS)), encoding="utf-8")
    return path


def test_a_run_that_is_named_by_a_dot_has_the_name_of_its_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    assert open_run(".").name == file.parent.name


def test_records_are_read_as_they_were_written(file: Path) -> None:
    assert read_records(file) == RECORDS
    assert len(file.read_text(encoding="utf-8").split("\n")) == 4, "one line each, whatever stands in the answer"
    file.unlink()
    assert read_records(file) == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "b", "question": "q", "go', "line: Invalid JSON"),
        ('{"id": "b", "question": "q"}', "gold_readings: Field required"),
        ('{"id": "b", "question": "q", "gold_readings": 1, "scores": {"x": null}}', "scores.x"),
        ("", "line: Invalid JSON"),
        ("[]", "valid dictionary|object"),
    ],
)
def test_a_broken_line_is_named(line: str, told: str, file: Path) -> None:
    first, last = line_of(RECORDS[0]), line_of(RECORDS[2])
    file.write_text(f"{first}{line}\n{last}", encoding="utf-8")
    with pytest.raises(PolyqaError, match=rf"{PREDICTIONS}, line 2 is damaged, or is not of polyqa .*{told}") as caught:
        read_records(file)
    assert line in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_bytes_that_are_no_text_are_named_too(file: Path) -> None:
    file.write_bytes(line_of(RECORDS[0]).encode() + b"\xff\xfe\n")
    with pytest.raises(PolyqaError, match="line 2 is damaged"):
        read_records(file)


def test_the_last_line_of_an_id_counts(file: Path) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(line_of(record("a", {"str_em": 1.0})))
    assert [(one.id, one.scores.get("str_em")) for one in read_records(file)] == [("a", 1.0), ("ü", None), ("c", None)]


@given(
    answer=st.text(st.characters()),
    extra=st.dictionaries(st.text(), st.recursive(st.none() | st.floats() | st.text(), st.lists, max_leaves=5)),
    score=st.floats(),
)
def test_whatever_a_program_says_becomes_one_line_that_can_be_read(
    answer: str, extra: dict[str, Any], score: float
) -> None:
    passage = Passage(pid="p", text="x", score=score)
    line = line_of(record(answer=answer, extra=extra, passages=(passage,)))
    data = line.encode()
    assert (data.count(b"\n"), data[-1:]) == (1, b"\n")
    again = Record.model_validate_json(data)
    assert again.answer == answer.encode("utf-8", errors="replace").decode()
    assert again.passages[0].score == score or score != score


def test_a_run_is_opened_with_and_without_settings(file: Path) -> None:
    assert open_run(file.parent).settings is None
    made = settings_of(3, lm_settings={"temperature": 0.3}, judge="j")
    (file.parent / SETTINGS).write_text(made.model_dump_json())
    run = open_run(str(file.parent))
    assert run.settings == made
    assert (run.name, len(run.records), run.failed) == (file.parent.name, 3, 1)


def test_a_run_that_is_not_finished_says_so(file: Path) -> None:
    (file.parent / SETTINGS).write_text(settings_of(5).model_dump_json())
    with pytest.warns(UserWarning, match="holds 3 of 5 questions"):
        assert len(open_run(file.parent).records) == 3


@pytest.mark.parametrize("content", [None, ""])
def test_a_folder_without_predictions_is_no_run(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / PREDICTIONS).write_text(content)
    with pytest.raises(PolyqaError, match=r"is not a run|holds no prediction"):
        open_run(tmp_path)
    with pytest.raises(PolyqaError, match="is not a run"):
        open_run(tmp_path / PREDICTIONS)


@pytest.mark.parametrize("content", ["", "{}", '{"program": "rac"', "[1]", '{"program": 1}'])
def test_damaged_settings_are_named(content: str, tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_text(content)
    with pytest.raises(PolyqaError, match=rf"{SETTINGS} is damaged .*; delete the run's folder"):
        read_identity(tmp_path)


def test_a_summary_has_what_the_records_allow() -> None:
    values = summarize([*long_form(4, lambda at: at / 4), record("last", {"length": 7.0})])
    assert {"dr", "str_em", "length", "calls", "failed"} <= values.keys()
    assert not {"mrecall@5", "g_f1", "exact_match"} & values.keys()
    assert (values["str_em"].n, values["calls"].n) == (4, 5)
    assert values["str_em"].value == pytest.approx(37.5)
    assert summarize([]) == {}


def test_a_summary_is_written_as_json_even_with_a_single_question(tmp_path: Path) -> None:
    made = settings_of(1)
    write_summary(Run(tmp_path, made, [record("a", {"str_em": 0.5}, error=FAILURE)]))
    data = strict_json((tmp_path / SUMMARY).read_text(encoding="utf-8"))
    assert data["settings"] == made.model_dump()
    assert (data["questions"], data["failed"]) == (1, 1)
    assert data["metrics"]["str_em"] == {"value": 50.0, "low": None, "high": None, "n": 1}
    write_summary(Run(tmp_path, None, RECORDS))
    assert strict_json((tmp_path / SUMMARY).read_text(encoding="utf-8"))["settings"] is None
