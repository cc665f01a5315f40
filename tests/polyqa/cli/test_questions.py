import json
from pathlib import Path

import pytest
from command_line import Printed, Refused, Run
from openai_server import serve

from polyqa.colbert_index import ColBERTIndex
from polyqa.extractive import ExtractiveEngine

CORPUS = Path(__file__).parents[2] / "questions" / "corpus.jsonl"


@pytest.fixture(autouse=True)
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYQA_HOME", str(home))


@pytest.fixture
def built(run: Run, home: Path) -> Path:
    place = home / "indexes" / "six" / "questions"
    if not place.exists():
        code, out, err = run("questions", "build", "--index", "six")
        assert code == 0, err
        assert out.startswith("6 passages, ")
        assert str(place) in out.replace("\n", "")
        assert "6/6" in err
    return place


def test_search_prints_questions_and_passages(built: Path, printed: Printed) -> None:
    out = printed("questions", "search", "Who designed the lighthouse?", "--index", "six", "-k", "3")
    assert out.splitlines()[0].split() == ["score", "question", "answers", "passages"]
    assert len(out.splitlines()) == 4
    for by in ("max", "count"):
        for ranking in ("dense", "bm25"):
            words = ("--index", "six", "--by", by, "--ranking", ranking, "--json")
            found = json.loads(printed("questions", "search", "When was the lighthouse built?", *words))
            assert {one["pid"] for one in found} <= {one.pid for one in ColBERTIndex("six").passages}
            scores = [one["score"] for one in found]
            assert scores == sorted(scores, reverse=True)
            assert found


def test_info_says_how_it_was_made(built: Path, printed: Printed) -> None:
    words = ("index", "info", "six")
    out = printed(*words, "--check")
    for part in ("6 of 6 passages", "polyqa/extractive", "all-MiniLM-L6-v2 (384 dimensions)", "verified"):
        assert part in out
    assert json.loads(printed(*words, "--json"))["questions"]["index"] == ColBERTIndex("six").fingerprint


def test_a_sample_goes_to_another_place(built: Path, printed: Printed, tmp_path: Path) -> None:
    out = tmp_path / "some"
    assert printed("questions", "build", "--index", "six", "--limit", "4", "--out", out).startswith("4 passages, ")
    assert "4 of 6 passages" in printed("index", "info", "six", "--questions", out)


def test_revisions_and_spans_are_set_and_told(built: Path, printed: Printed, tmp_path: Path) -> None:
    out = tmp_path / "plain"
    words = ("--index", "six", "--limit", "2", "--out", out)
    assert ", 0 revised, " in printed("questions", "build", *words, "--revisions", "0", "--spans", "14")
    told = " ".join(printed("index", "info", "six", "--questions", out).split())
    assert "revisions 0 spans per passage at most 14" in told
    told = " ".join(printed("index", "info", "six").split())
    assert "revisions 2 spans per passage at most 8" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["build", "--index", "six"], "--overwrite"),
        (["build", "--index", "none"], "no index at"),
        (["build", "--index", "six", "--overwrite", "--engine", "spark"], "local or ray"),
        (["search", "When?", "--index", "six", "--by", "mean"], "--by is questions, max or count"),
        (["search", "When?", "--index", "six", "--ranking", "sparse"], "--ranking is dense or bm25"),
        (["search", " ", "--index", "six"], "question is empty"),
    ],
)
def test_mistakes_are_told_on_one_line(built: Path, run: Run, words: list[str], told: str) -> None:
    code, _, err = run("questions", *words)
    assert (code, err.count("\n")) == (2, 1)
    assert told in err


def test_a_database_that_is_not_there_is_told(built: Path, refused: Refused) -> None:
    assert "polyqa questions build" in refused("index", "info", "six", "--questions", "/nowhere")


def test_a_reader_that_is_not_there_costs_no_call(refused: Refused, home: Path, tmp_path: Path) -> None:
    with serve(ExtractiveEngine()) as server:
        for command in (
            ("questions", "build", "--index", "six", "--out", tmp_path / "some"),
            ("adapt", CORPUS, "--program", "rac", "--out", tmp_path / "made", "--yes"),
        ):
            words = ("--lm", "openai/writer", "--api-base", server.base, "--reader", "/nowhere/reader")
            assert "/nowhere/reader" in refused(*command, *words)
    assert server.requests == []
    assert not (home / "indexes" / "made").exists()


def test_ask_answers_from_the_questions(built: Path, printed: Printed) -> None:
    out = printed("ask", "Who designed the lighthouse?", "--program", "sixpaq", "--index", "six", "--json")
    assert json.loads(out)["answer"]
