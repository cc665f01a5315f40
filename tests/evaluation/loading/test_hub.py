from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from memory_records import questions_from_records
from refusals import told

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import load_questions

Write = Callable[..., Path]
SINGLE = {"type": "singleAnswer", "answer": ["Ann"]}
SEVERAL = {
    "type": "multipleQAs",
    "qaPairs": [{"question": "Who won first?", "answer": ["Bea"]}, {"question": "Who won last?", "answer": ["Cat"]}],
}
RECORDS: dict[str, list[dict[str, Any]]] = {
    "asqa": [
        {
            "id": "a",
            "ambiguous_question": "Who won?",
            "qa_pairs": [{"question": "Who won first?", "short_answers": ["Bea"], "wikipage": None}],
            "annotations": [{"long_answer": "Bea won first.", "knowledge": []}],
        },
        {
            "id": "b",
            "ambiguous_question": "Who lost?",
            "qa_pairs": [{"question": "Who lost first?", "short_answers": ["Dot", "D."], "wikipage": "Dot"}],
            "annotations": [],
        },
    ],
    "ambignq": [
        {"id": "a", "question": "Who won?", "annotations": [SINGLE, SEVERAL]},
        {"id": "b", "question": "Who lost?", "annotations": [SINGLE]},
    ],
    "situatedqa": [
        {"id": 1, "question": "who won", "edited_question": f"who won in {place}", "answer": [place]}
        for place in ("oslo", "kiel")
    ],
    "nq-open": [{"question": "who won", "answer": ["Ann", "A."]}, {"question": "who lost", "answer": ["Dot"]}],
    "multi-answer": [{"url": "", "question": "who won", "answers": ["Ann", "Bea"]}],
}
AMBIG_QA = datasets.Features(
    {
        "id": datasets.Value("string"),
        "question": datasets.Value("string"),
        "annotations": datasets.Sequence(
            {
                "type": datasets.Value("string"),
                "answer": datasets.Sequence(datasets.Value("string")),
                "qaPairs": datasets.Sequence(
                    {"question": datasets.Value("string"), "answer": datasets.Sequence(datasets.Value("string"))}
                ),
            }
        ),
    }
)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, write: Write, tmp_path: Path) -> list[Any]:
    """Put local files where the hub would be; return the calls."""
    load, calls = datasets.load_dataset, []
    train, dev = write(RECORDS["nq-open"], "train.jsonl"), write(RECORDS["nq-open"][:1], "dev.jsonl")

    def load_dataset(name: str, config: str | None, split: str | None) -> Any:
        calls.append((name, config, split))
        files = {"train": str(train)} if name == "one-split" else {"train": str(train), "dev": str(dev)}
        return load("json", data_files=files, split=split, cache_dir=str(tmp_path / "cache"))

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return calls


@pytest.mark.parametrize("name", RECORDS)
def test_rows_mean_what_their_records_mean(name: str, write: Write, tmp_path: Path) -> None:
    expected = load_questions(write(RECORDS[name], "q.jsonl"))
    rows = datasets.load_dataset(
        "json", data_files=str(tmp_path / "q.jsonl"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert questions_from_records(rows) == expected
    rows.save_to_disk(tmp_path / "saved")
    assert questions_from_records(datasets.load_from_disk(tmp_path / "saved"), format=name) == expected


def test_annotations_stored_by_column(tmp_path: Path) -> None:
    def column(notes: list[dict[str, Any]]) -> dict[str, Any]:
        pairs = [note.get("qaPairs", []) for note in notes]
        return {
            "type": [note["type"] for note in notes],
            "answer": [note.get("answer", []) for note in notes],
            "qaPairs": [{key: [pair[key] for pair in own] for key in ("question", "answer")} for own in pairs],
        }

    rows = [{**record, "annotations": column(record["annotations"])} for record in RECORDS["ambignq"]]
    datasets.Dataset.from_list(rows, features=AMBIG_QA).save_to_disk(tmp_path / "saved")
    loaded = datasets.load_from_disk(tmp_path / "saved")
    assert isinstance(loaded[0]["annotations"], dict)
    assert questions_from_records(loaded) == questions_from_records(RECORDS["ambignq"])


@pytest.mark.parametrize(
    ("source", "split", "call"),
    [
        ("someone/nq", "train", ("someone/nq", None, "train")),
        ("hub:someone/nq", "train", ("someone/nq", None, "train")),
        ("hub:nq_open@light", "train", ("nq_open", "light", "train")),
        ("one-split@a.b-c", None, ("one-split", "a.b-c", None)),
        ("hub:homonyms", "train", ("homonyms", None, "train")),
    ],
)
def test_a_name_on_the_hub(hub: list[Any], source: str, split: str | None, call: tuple[str | None, ...]) -> None:
    assert load_questions(source, split=split) == questions_from_records(RECORDS["nq-open"])
    assert hub == [call]


def test_a_sample_and_a_format_of_the_hub(hub: list[Any]) -> None:
    assert len(load_questions("hub:nq_open", split="train", limit=1)) == 1
    message = told(load_questions, "nq_open", split="train", format="asqa")
    assert "hub:nq_open: train: record 1: no asqa record: qa_pairs: Field required" in message


def test_splits_of_the_hub_are_listed(hub: list[Any]) -> None:
    assert "hub:someone/nq: name a split; there are train, dev" in told(load_questions, "someone/nq")
    with pytest.raises(PolyqaError, match=r"hub:someone/nq: .*Unknown split \"test\".*train.*dev"):
        load_questions("someone/nq", split="test")


def test_offline_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(PolyqaError) as caught:
        load_questions("hub:someone/no-such-set@light", split="dev")
    message = str(caught.value)
    assert message.startswith("hub:someone/no-such-set@light: the data set cannot be loaded from the Hugging Face hub")
    assert "give a .json or .jsonl file" in message
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize("error", [RuntimeError(""), ValueError("one\ntwo"), KeyError("x"), ConnectionError("down")])
def test_whatever_the_hub_raises_is_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(PolyqaError) as caught:
        load_questions("hub:someone/nq")
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.__cause__ is error
