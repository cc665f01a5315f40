"""What the corpus says of a passage beside its text stays with it, whatever becomes of the index."""

import json
import math
from pathlib import Path

import pytest

from polyqa.base.values import Passage
from polyqa.colbert_index import (
    ColBERTIndex,
    IndexSettings,
    add_passages,
    build_index,
    check_index,
    remove_passages,
)
from polyqa.colbert_index.files import passage_line
from polyqa.colbert_index.settings import fingerprint

MANUALS = [
    Passage(pid="f1", title="Falcon", text="The Falcon pump is started with the green lever.", metadata={
        "product": "Falcon", "date": "2024-03-01", "page": 14, "draft": False, "price": 9.5}),
    Passage(pid="f0", title="Falcon", text="The Falcon pump is started with the old crank.", metadata={
        "product": "Falcon", "date": "2021-05-30", "page": 3, "draft": False, "price": 10.0}),
    Passage(pid="h1", title="Heron", text="The Heron pump is started by its red button.", metadata={
        "product": "Heron", "date": "2025-01-31", "page": 2, "draft": True}),
    Passage(pid="n", title="Notes", text="A pump wants oil once a year."),
]  # fmt: skip
SWIFT = Passage(pid="s", title="Swift", text="The Swift pump starts itself.", metadata={"product": "Swift", "page": 1})


def metadata_of(passages: list[Passage]) -> dict[str, dict[str, object]]:
    return {passage.pid: dict(passage.metadata) for passage in passages}


@pytest.mark.parametrize("shards", [1, 2])
def test_metadata_outlives_every_change_and_comes_back_with_every_result(tmp_path: Path, shards: int) -> None:
    index = build_index(iter(MANUALS), tmp_path / "manuals", shards=shards, progress=False)
    expected = metadata_of(MANUALS)
    for changed in (index, add_passages(index, [SWIFT])):
        for retriever in (changed, changed.bm25):
            hits = retriever.search("how is the pump started", 5)
            assert hits
            assert metadata_of(hits) == {hit.pid: expected.get(hit.pid, dict(SWIFT.metadata)) for hit in hits}
    index = remove_passages(ColBERTIndex(index.path), ["f0"])
    del expected["f0"]
    assert metadata_of(index.passages) == {**expected, "s": SWIFT.metadata}
    assert type(index.passage("f1").metadata["draft"]) is bool
    assert type(index.passage("f1").metadata["page"]) is int
    assert check_index(index.path).fingerprint == index.fingerprint


def test_other_metadata_is_another_index_and_none_is_the_index_of_before() -> None:
    bare = [passage.model_copy(update={"metadata": {}}) for passage in MANUALS]
    assert [set(json.loads(passage_line(passage))) for passage in bare] == [{"pid", "title", "text"}] * 4
    assert fingerprint(bare, "0" * 16, IndexSettings()) == "131053c94cd2b0f0"  # of the time before metadata
    assert fingerprint(MANUALS, "0" * 16, IndexSettings()) != "131053c94cd2b0f0"


def test_what_is_missing_is_left_out() -> None:
    passage = Passage(pid="1", text="a text", metadata={"price": math.nan, "author": None, "page": 0})
    assert passage.metadata == {"page": 0}
