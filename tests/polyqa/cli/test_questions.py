import json
from pathlib import Path

import pytest
from command_line import Printed, Refused, Run
from openai_server import serve

from polyqa.colbert_index import ColBERTIndex
from polyqa.extractive import ExtractiveEngine


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


def test_search_prints_questions_and_passages(built: Path, printed: Printed, refused: Refused) -> None:
    assert "--overwrite" in refused("questions", "build", "--index", "six")
    out = printed("questions", "search", "Who designed the lighthouse?", "--index", "six", "-k", "3")
    assert out.splitlines()[0].split() == ["score", "question", "answers", "passages"]
    assert len(out.splitlines()) == 4
    found = json.loads(printed("questions", "search", "When was the lighthouse built?", "--index", "six", "--json"))
    assert {pid for one in found for pid in one["pids"]} <= {one.pid for one in ColBERTIndex("six").passages}


def test_info_says_how_it_was_made(built: Path, printed: Printed) -> None:
    words = ("index", "info", "six")
    out = printed(*words, "--check")
    for part in ("6 of 6 passages", "polyqa/extractive", "all-MiniLM-L6-v2 (384 dimensions)", "verified"):
        assert part in out
    assert json.loads(printed(*words, "--json"))["questions"]["index"] == ColBERTIndex("six").fingerprint


def test_a_sample_goes_to_another_place_and_revisions_and_spans_are_set_and_told(
    built: Path, printed: Printed, tmp_path: Path
) -> None:
    out = tmp_path / "some"
    words = ("--index", "six", "--limit", "4", "--out", out, "--revisions", "0", "--spans", "14")
    made = printed("questions", "build", *words)
    assert made.startswith("4 passages, ")
    assert ", 0 revised, " in made
    told = " ".join(printed("index", "info", "six", "--questions", out).split())
    assert "4 of 6 passages" in told
    assert "revisions 0 spans per passage at most 14" in told
    told = " ".join(printed("index", "info", "six").split())
    assert "revisions 2 spans per passage at most 8" in told


def test_a_language_model_asks_all_of_a_passage_at_once_and_in_steps_if_it_is_said(
    built: Path, printed: Printed, tmp_path: Path
) -> None:
    for words, told, least in (((), "in one call", 1), (("--spans", "2"), "at most 2", 2)):
        out = tmp_path / str(least)
        with serve(ExtractiveEngine()) as server:
            model = ("--lm", "openai/any", "--api-base", server.base)
            printed("questions", "build", "--index", "six", "--limit", "1", "--out", out, *model, *words)
        assert len(server.requests) >= least
        wants = [json.dumps(request["messages"][0]) for request in server.requests]
        assert ("Write the questions that people would ask" in wants[0]) is (least == 1)
        assert told in " ".join(printed("index", "info", "six", "--questions", out).split())


def test_ask_answers_from_the_questions(built: Path, printed: Printed) -> None:
    out = printed("ask", "Who designed the lighthouse?", "--program", "sixpaq", "--index", "six", "--json")
    assert json.loads(out)["answer"]
