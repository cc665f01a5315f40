"""Every experiment is one command, `python -m lab.NAME`; each is run on a few questions."""

import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import told

from polyqa.base.values import Passage
from polyqa.colbert_index import build_index
from polyqa.evaluation.loading import load_questions
from polyqa.extractive import embedded_lm
from polyqa.models import Encoder, Reader
from polyqa.questions import build_questions, locally

HOMONYMS = ("--index", "homonyms", "--questions")
Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def of(name: str, *words: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
        monkeypatch.delitem(sys.modules, f"lab.{name}", raising=False)
        with pytest.raises(SystemExit) as stop:
            runpy.run_module(f"lab.{name}", run_name="__main__")
        assert not stop.value.code
        return capsys.readouterr().out

    return of


@pytest.mark.parametrize(
    "name", ["answerable", "latency", "question_retrieval", "retrieval", "scoring_speed", "support"]
)
def test_help(name: str, run: Run) -> None:
    assert "--questions" in run(name, "--help")


def test_answerable_writes_a_file_of_plain_questions(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "plain.json"
    run("answerable", *HOMONYMS, "homonyms/train", "--out", out, "--readings", "one", "--limit", 5)
    assert len(json.loads(out.read_text())) == 5
    assert all(len(one.readings) == 1 for one in load_questions(out))


def test_retrieval_prints_and_keeps_its_stages(run: Run, tmp_path: Path) -> None:
    out = run("retrieval", *HOMONYMS, "homonyms/dev", "--limit", 4, "--match", "dpr", "--json", tmp_path / "r.json")
    assert "homonyms/dev, 4 questions" in out
    kept = json.loads((tmp_path / "r.json").read_text())
    assert kept["stages"].keys() == kept["milliseconds"].keys()
    assert all(f"| {stage} |" in out for stage in kept["stages"])


def test_scoring_speed_finds_the_same_answers_both_ways(run: Run) -> None:
    out = run("scoring_speed", "--questions", "homonyms/dev", "--limit", 2)
    asked = sum(len(question.readings) for question in load_questions("homonyms/dev", limit=2))
    assert f"same answers: {asked} of {asked}" in out


def test_latency_prints_and_keeps_its_table(run: Run, tmp_path: Path) -> None:
    words = ("--program", "closed-book", "--program", "query-refinement", "--limit", 2, "--latency", 0.05)
    out = run("latency", *words, "--json", tmp_path / "l.json")
    assert "homonyms/dev, 2 questions" in out
    kept = json.loads((tmp_path / "l.json").read_text())["programs"]
    assert {name: (one["calls"], one["depth"]) for name, one in kept.items()} == {
        "closed-book": (1, 1),
        "query-refinement": (2, 2),
    }
    assert all(f"| `{name}` |" in out for name in kept)
    (tmp_path / "one.json").write_text(json.dumps([{"question": "Who wrote Dune?", "answers": ["Frank Herbert"]}]))
    assert "at least two" in told(run, "latency", *words, "--questions", tmp_path / "one.json")


def test_faults_prints_and_keeps_its_tables(run: Run, tmp_path: Path) -> None:
    words = ("--program", "closed-book", "--shown", "closed-book", "--failure", "empty", "--failure", "401")
    out = run("faults", "lm", *words, "--json", tmp_path / "f.json")
    assert "| 401, a wrong key | `the language model's server refused the key" in out
    assert "| `closed-book` | 0 of 1 | 0 of 1 |" in out
    assert json.loads((tmp_path / "f.json").read_text())["steps"].keys() == {"closed-book"}


def test_support_prints_its_weights(run: Run) -> None:
    assert "WEIGHTS = Features(" in run("support", *HOMONYMS, "homonyms/train", "--limit", 8)


def test_replies_prints_a_row_for_each_form_and_what_was_not_read(run: Run) -> None:
    out = run("replies", "--each", 40, "--examples", 1)
    assert "| readings: DQ and DA, in any order | 40 | 40 | 0 | 0 |" in out
    assert "readings: reading | answer, all on one line, refused: " in out


def test_question_retrieval_compares_every_way(run: Run, encoder: Encoder, reader: Reader, tmp_path: Path) -> None:
    bridges = {"London": "opened in 1894. It crosses the Thames", "Sacramento": "opened in 1935. It crosses a river"}
    passages = [
        Passage(pid=city, title=f"Tower Bridge ({city})", text=f"Tower Bridge was {text} near the Tower.")
        for city, text in bridges.items()
    ]
    index = build_index(passages, tmp_path / "bridges", encoder=encoder, progress=False)
    build_questions(index, locally(embedded_lm(), reader, 1), encoder=encoder)
    asked = {"question": "When was Tower Bridge opened?", "answers": ["1894", "1935"]}
    (tmp_path / "q.json").write_text(json.dumps([asked]))
    words = ("--index", index.path, "--questions", tmp_path / "q.json", "--json", tmp_path / "r.json")
    assert "| questions, dense (max) | 100.0 | 100.0 | +0.0 |" in run("question_retrieval", *words)
    kept = json.loads((tmp_path / "r.json").read_text())["all passages"]
    assert {row["recall@5"]["value"] for row in kept.values()} == {100.0}
    (tmp_path / "q.json").write_text(json.dumps([{**asked, "answers": ["1894"]}]))
    assert "no question with several answers" in told(run, "question_retrieval", *words)


def test_centroids_are_found_in_two_ways(run: Run, passages: list[Passage], tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus.jsonl", tmp_path / "out.json"
    lines = [json.dumps({"id": one.pid, "title": one.title, "text": one.text}) for one in passages]
    corpus.write_text("\n".join(lines))
    printed = run("centroids", corpus, "--counts", "40", "--vectors", "500", "--json", out)
    assert "| 40 | colbert-ai |" in printed
    found = json.loads(out.read_text())["found"]
    assert [one["nearest"] for one in found] == [1.0, 1.0]
    assert "900,500 are needed" in told(run, "centroids", corpus, "--counts", "900000", "--vectors", "500")
