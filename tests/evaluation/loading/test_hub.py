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
RECORDS = [{"question": "who won", "answer": ["Ann", "A."]}, {"question": "who lost", "answer": ["Dot"]}]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, write: Write, tmp_path: Path) -> list[Any]:
    """Put local files where the hub would be; return the calls."""
    load, calls = datasets.load_dataset, []
    train, dev = write(RECORDS, "train.jsonl"), write(RECORDS[:1], "dev.jsonl")

    def load_dataset(name: str, config: str | None, split: str | None) -> Any:
        calls.append((name, config, split))
        files = {"train": str(train)} if name == "one-split" else {"train": str(train), "dev": str(dev)}
        return load("json", data_files=files, split=split, cache_dir=str(tmp_path / "cache"))

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return calls


@pytest.mark.parametrize(
    ("source", "split", "call"),
    [
        ("hub:someone/nq", "train", ("someone/nq", None, "train")),
        ("hub:nq_open@light", "train", ("nq_open", "light", "train")),
        ("hub:one-split@a.b-c", None, ("one-split", "a.b-c", None)),
        ("hub:homonyms", "train", ("homonyms", None, "train")),
    ],
)
def test_a_name_on_the_hub(hub: list[Any], source: str, split: str | None, call: tuple[str | None, ...]) -> None:
    assert load_questions(source, split=split) == questions_from_records(RECORDS)
    assert hub == [call]


def test_a_sample_and_a_format_of_the_hub(hub: list[Any]) -> None:
    assert len(load_questions("hub:nq_open", split="train", limit=1)) == 1
    message = told(load_questions, "hub:nq_open", split="train", format="asqa")
    assert "hub:nq_open: train: record 1: no asqa record: qa_pairs: Field required" in message


def test_splits_of_the_hub_are_listed(hub: list[Any]) -> None:
    assert "hub:someone/nq: name a split; there are train, dev" in told(load_questions, "hub:someone/nq")
    with pytest.raises(PolyqaError, match=r"hub:someone/nq: .*Unknown split \"test\".*train.*dev"):
        load_questions("hub:someone/nq", split="test")


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
