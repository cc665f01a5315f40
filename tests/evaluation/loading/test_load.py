import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import told

from polyqa.evaluation.homonyms import SPLITS
from polyqa.evaluation.loading import load_questions

Write = Callable[..., Path]
RECORDS = [{"question": f"who won in {year}", "answer": [str(year)]} for year in range(1900, 2000)]


@pytest.mark.parametrize("split", SPLITS)
def test_the_shipped_questions_by_name(split: str) -> None:
    questions = load_questions(f"homonyms/{split}")
    assert questions == load_questions("homonyms", split=split) == load_questions(f"homonyms/{split}", split=split)
    assert all(question.readings and question.long_answers and question.reason for question in questions)
    assert all(reading.pid for question in questions for reading in question.readings)


def test_the_shipped_questions_have_their_splits_of_which_dev_is_taken() -> None:
    assert load_questions("homonyms") == load_questions("homonyms/dev")
    named = told(load_questions, "homonyms", split="all")
    assert "homonyms: there is no split 'all'; there are train, dev, test" in named
    assert "homonyms/more: there is no split 'more'" in told(load_questions, "homonyms/more")
    both = told(load_questions, "homonyms/dev", split="test")
    assert "this names the split 'dev', but 'test' is asked for" in both


def test_a_file_may_be_called_like_the_shipped_questions(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "homonyms").mkdir()
    write(RECORDS, "homonyms/dev.json")
    monkeypatch.chdir(tmp_path)
    assert len(load_questions("homonyms/dev.json")) == len(RECORDS)
    assert len(load_questions("homonyms/dev")) == 54


def test_a_path_under_the_home_folder(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(RECORDS, "q.json")
    assert load_questions("~/q.json") == load_questions(Path("~/q.json"))
    assert "cannot be read" in told(load_questions, "~nobody-of-this-name/q.json")


@pytest.mark.parametrize("source", ["", "two words", "a/b/c", "hub:", "hub:a/b/c", "@light", "x" * 5000, "new\nline"])
def test_a_name_that_means_nothing(source: str) -> None:
    told(load_questions, source)


@pytest.mark.parametrize("source", ["./here", "/nowhere/at/all", "~/nothing", Path("plain"), Path("with\0null.json")])
def test_a_path_that_leads_nowhere(source: str | Path) -> None:
    assert "the file cannot be read: " in told(load_questions, source)


def test_a_folder_is_not_taken_for_a_name_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nq_open").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "nq_open: this folder holds no questions" in told(load_questions, "nq_open")
    assert "nq_open hides the hub's data set of this name" in told(load_questions, "hub:nq_open")


def test_a_sample_is_random_and_in_the_order_of_the_file(write: Write) -> None:
    path = write(RECORDS, "q.jsonl")
    every = load_questions(path)
    sample = load_questions(path, limit=10)
    assert sample == load_questions(path, limit=10, seed=0)
    assert sample == sorted(sample, key=every.index)
    assert len(set(sample)) == 10
    assert sample not in (every[:10], load_questions(path, limit=10, seed=1))


@pytest.mark.parametrize("limit", [100, 101, 10_000])
def test_a_sample_of_all(write: Write, limit: int) -> None:
    path = write(RECORDS, "q.jsonl")
    assert load_questions(path, limit=limit) == load_questions(path)


def test_a_sample_counts_questions_not_records(write: Write) -> None:
    records = [
        {"id": id, "question": "how far", "edited_question": f"how far from {place}", "answer": ["1 mile"]}
        for id in range(5)
        for place in ("oslo", "kiel")
    ]
    sample = load_questions(write(records), limit=3)
    assert [len(question.readings) for question in sample] == [2, 2, 2]


def test_a_sample_of_none_is_refused_and_an_unknown_format_before_anything_is_read() -> None:
    for limit in (0, -1):
        assert f"at least 1 question, got {limit}" in told(load_questions, "homonyms", limit=limit)
    assert "there is no format 'quads'" in told(load_questions, "nowhere.json", format="quads")


def test_files_need_no_library_of_the_hub(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert load_questions(write(json.dumps(RECORDS)))
