"""Files that users of other systems had trouble with, from ``../shared/field``; tests of their kinds are elsewhere."""

import os
from pathlib import Path
from typing import Any

import pytest

from polyqa.base.errors import PolyqaError
from polyqa.batch.asked import read_asked
from polyqa.colbert_index import read_corpus
from polyqa.evaluation.loading import read_questions
from polyqa.evaluation.outputs import read_outputs

FIELD = Path(os.environ.get("POLYQA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")).parent / "field"
pytestmark = pytest.mark.skipif(not FIELD.is_dir(), reason="../shared/field is not there")

CASTLE, ARD = "Harbour Castle stands on the river Ard.", "The river Ard is 80 miles long."


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("08-nan-titles-and-ids/nan.jsonl", [("1", "", CASTLE), ("2", "Ard", ARD)]),
        ("08-nan-titles-and-ids/floatid.jsonl", [("1", "", CASTLE), ("2", "", ARD)]),
        ("08-nan-titles-and-ids/idlist.jsonl", [("5f", "", CASTLE)]),
        ("08-nan-titles-and-ids/titlelist.jsonl", [("1", "Harbour Castle", CASTLE)]),
        ("11-wiki-abstracts-text-is-a-list/kilt.jsonl", [("290", "A", "A is the first letter.")]),
        ("11-wiki-abstracts-text-is-a-list/langchain.jsonl", [("aed72f0c68d3c966", "", CASTLE)]),
        ("11-wiki-abstracts-text-is-a-list/upper.jsonl", [("290", "A", "A is the first letter.")]),
        (
            "11-wiki-abstracts-text-is-a-list/wiki.abstracts.jsonl",
            [
                (
                    "12",
                    "Harbour Castle",
                    "Harbour Castle is a fort on the river Ard. It was built in 1432 by Earl Rowan.",
                ),
                ("13", "Harbour Castle (film)", "Harbour Castle is a film of 1961. Ada Mills directed it."),
            ],
        ),
        ("22-encodings-and-small-things/collection_cr.tsv", [("0", "", CASTLE), ("1", "", ARD)]),
        ("22-encodings-and-small-things/collection_utf16.tsv", [("0", "", CASTLE), ("1", "", ARD)]),
        ("22-encodings-and-small-things/collection_hdr_other.tsv", [("1", "Harbour Castle", CASTLE)]),
    ],
)
def test_corpora(file: str, expected: list[tuple[str, str, str]]) -> None:
    found = [(passage.pid, passage.title, passage.text) for passage in read_corpus(FIELD / file)]
    assert [(pid, title, " ".join(text.split())) for pid, title, text in found] == expected


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("collection_latin1.tsv", "line 1: this is not UTF-8 text; if '0.*The Café Zoë.*' looks right, convert"),
        ("collection_tab.tsv", "line 1: 4 columns, expected id <TAB> text <TAB> title"),
    ],
)
def test_what_cannot_be_read_is_named(file: str, message: str) -> None:
    with pytest.raises(PolyqaError, match=message):
        read_corpus(FIELD / "22-encodings-and-small-things" / file)


@pytest.mark.parametrize(
    ("file", "told", "ids"),
    [
        ("04-asqa-official-file-split/ASQA.json@train", "read as ASQA: 1 question, 2.0 readings each", ["-1"]),
        ("04-asqa-official-file-split/ASQA.json@dev", "read as ASQA: 1 question, 2.0 readings each", ["-2"]),
        ("13-alce-files/alce_asqa.json", "read as ASQA: 1 question, 2.0 readings each", ["-712"]),
        (
            "13-alce-files/alce_qampari.json",
            "read as questions with several answers: 1 question, 2.0 readings each",
            ["0__w__dev"],
        ),
        ("13-alce-files/asqa_hub.jsonl", "read as ASQA: 2 questions, 2.0 readings each", ["-712", "55"]),
    ],
)
def test_questions(file: str, told: str, ids: list[Any]) -> None:
    loaded = read_questions(str(FIELD / file))
    assert str(loaded) == told
    asked = read_asked(str(FIELD / file))
    assert [(one.id, one.question) for one in loaded.questions] == [(one.id, one.question) for one in asked]
    assert [one.id for one in asked] == ids


def test_results_of_alce() -> None:
    outputs = read_outputs(FIELD / "13-alce-files" / "alce_result.json")
    assert outputs["-712"].answer == "The film came out in 1997 [1]. The ship was launched in 1911 [2]."
    assert [passage.title for passage in outputs["-712"].passages] == ["Titanic"]
