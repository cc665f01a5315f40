import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from openai_server import serve
from scripted_engine import ScriptedEngine

import polyqa

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Small sets: the first questions of the shipped splits."""
    root = Path(__file__).parents[3] / "evaluation" / "homonyms"
    folder = tmp_path_factory.mktemp("questions")
    sets = {}
    for split, size in (("train", 8), ("dev", 4), ("test", 4)):
        records = json.loads((root / f"{split}.json").read_text())
        records = records.get(split, records)
        path = folder / f"{split}.json"
        path.write_text(json.dumps(dict(list(records.items())[:size])))
        sets[split] = str(path)
    return sets


@pytest.fixture(scope="module")
def artifact(questions: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compiled") / "tiny"
    made = polyqa.compile("rac", out=out, sets=polyqa.Sets(**questions))
    assert made is not None
    assert made.card.test_gain is not None
    return out


def test_compile_asks_first_and_says_what_it_takes(
    questions: dict[str, str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    words = ["compile", "--program", "rac", "--train", questions["train"], "--dev", questions["dev"]]
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, _, err = run(*words, "--out", str(tmp_path / "no"))
    assert code == 0
    assert "at most 8 runs of the program, 16 calls" in err
    assert "not started" in err
    assert not (tmp_path / "no" / "card.json").exists()
    code, _, err = run(*words, "--out", str(tmp_path / "no"), "--max-calls", "3", "--yes")
    assert code == 2
    assert "more than --max-calls 3" in err


def test_compile_prints_the_gain_and_saves(questions: dict[str, str], run: Run, tmp_path: Path) -> None:
    out = tmp_path / "made"
    words = ["compile", "--program", "closed-book", "--recipe", "knn", "--out", str(out), "--yes", "--json"]
    code, printed, err = run(*words, "--train", questions["train"], "--dev", questions["dev"])
    assert code == 0, err
    card = json.loads(printed)
    assert card["program"] == "closed-book"
    assert card["index"] is None
    assert card["dev_gain"]["before"]["n"] == 4
    assert (out / "program.json").exists()


def test_compile_takes_passages_for_any_program(questions: dict[str, str], run: Run, tmp_path: Path) -> None:
    words = ["compile", "--out", str(tmp_path / "made"), "--reader", "embedded", "-k", "2", "--yes", "--json"]
    words += ["--train", questions["train"], "--dev", questions["dev"]]
    code, printed, err = run(*words, "--program", "query-refinement")
    assert code == 0, err
    card = json.loads(printed)
    assert (card["settings"], card["reader"]) == ({}, "polyqa-minilm-reader")
    readme = (tmp_path / "made" / "README.md").read_text()
    assert f'polyqa.load("{tmp_path}/made")' in readme
    assert f"polyqa show {tmp_path}/made" in readme
    code, printed, err = run(*[word.replace("made", "rac") for word in words], "--program", "rac")
    assert (code, json.loads(printed)["settings"]) == (0, {"passages": 2}), err


def test_a_reader_that_is_not_there_costs_no_call(questions: dict[str, str], run: Run, tmp_path: Path) -> None:
    words = ["--train", questions["train"], "--dev", questions["dev"], "--reader", "/nowhere/reader"]
    with serve(ScriptedEngine(lambda prompt: {"answer": "I cannot say."})) as server:
        words += ["--lm", f"openai/model-{uuid.uuid4().hex}", "--api-base", server.base, "--program", "closed-book"]
        for command in (
            ["compile", "--out", str(tmp_path / "made"), "--yes"],
            ["curve", "--out", str(tmp_path / "curve.png"), "--work", str(tmp_path / "work")],
        ):
            code, _, err = run(*command, *words)
            assert (code, "/nowhere/reader" in err) == (2, True), err
    assert server.requests == []


def test_show_prints_card_and_prompts(artifact: Path, run: Run) -> None:
    code, out, _ = run("show", str(artifact))
    assert code == 0
    assert '"recipe"' in out
    assert "## extract" in out
    assert "Demos shown: the 5 nearest of" in out
    code, out, _ = run("show", str(artifact), "--json")
    data = json.loads(out)
    assert set(data["program"]) == {"extract", "write"}
    assert data["card"]["name"] == "tiny"
    code, out, _ = run("show", "rac")
    assert code == 0
    assert "Demos shown: all 0" in out


def test_diff_shows_what_compiling_changed(artifact: Path, run: Run) -> None:
    code, out, _ = run("diff", "rac", str(artifact))
    assert code == 0
    assert "```diff" in out
    assert "+Demos shown: the 5 nearest of" in out
    code, out, _ = run("diff", "rac", "rac")
    assert out.count("unchanged") == 2


def test_why_shows_the_picked_demos_and_the_messages(artifact: Path, run: Run) -> None:
    question = "When did Titanic come out?"
    code, out, _ = run("why", question, "--artifact", str(artifact), "--json")
    assert code == 0
    data = json.loads(out)
    similarities = [demo["similarity"] for demo in data["demos"]["extract"]]
    assert similarities == sorted(similarities)  # the nearest demo last, next to the question
    assert len(similarities) == 5
    sent = [message["content"] for message in data["calls"][0]["messages"]]
    for demo in data["demos"]["extract"]:
        assert any(demo["question"] in text for text in sent)
    code, out, _ = run("why", question, "--artifact", str(artifact))
    assert code == 0
    assert "demos of extract" in out


def test_ask_takes_a_compiled_program(artifact: Path, run: Run) -> None:
    code, out, err = run("ask", "Who founded Alexandria?", "--program", str(artifact), "--json")
    assert code == 0, err
    assert json.loads(out)["interpretations"]
    code, _, err = run("ask", "Who founded Alexandria?", "--program", str(artifact), "-k", "3")
    assert code == 2
    assert "is compiled" in err


def test_the_readme_tells_what_the_card_tells(artifact: Path) -> None:
    text = (artifact / "README.md").read_text()
    card = json.loads((artifact / "card.json").read_text())
    for part in (
        card["recipe"]["summary"],
        card["index"]["fingerprint"],
        card["train"]["fingerprint"],
        "dev:",
        "test:",
        "### extract",
        "each call shows the 5 nearest",
    ):
        assert part in text


def test_recipes_are_listed(run: Run) -> None:
    code, out, _ = run("recipes")
    assert code == 0
    for name in ("knn", "bootstrap-search", "gepa", "mipro", "simba", "copro"):
        assert name in out


def test_curve_draws_scores_against_examples(questions: dict[str, str], run: Run, tmp_path: Path) -> None:
    out = tmp_path / "curve.png"
    words = ["curve", "--sizes", "2,4", "--train", questions["train"], "--dev", questions["dev"], "--out", str(out)]
    code, printed, err = run(*words, "--recipe", "knn-bootstrap", "--work", str(tmp_path / "work"))
    assert code == 0, err
    assert [line.split()[0] for line in printed.splitlines()] == ["0", "2", "4"]
    assert out.read_bytes().startswith(b"\x89PNG")
    code, _, err = run(*words[:-1], str(tmp_path / "curve.txt"), "--work", str(tmp_path / "work"))
    assert (code, "png" in err) == (2, True)
    code, _, err = run("curve", "--sizes", "many", "--out", str(out))
    assert (code, "whole numbers" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["compile", "--out", "x", "--recipe", "magic", "--yes"], "no recipe 'magic'"),
        (["compile", "--out", "x", "--recipe", "gepa", "--yes"], "cannot write"),
        (["compile", "--out", "x", "--measure", "bleu"], "dr or disambig_f1"),
        (["compile", "--out", "x", "--dev", "homonyms/train", "--yes"], "share a question"),
        (["show", "nothing"], "no compiled program"),
        (["ask", "Who?", "--program", "nothing"], "Unknown program 'nothing'"),
    ],
)
def test_mistakes_get_one_line(words: list[str], told: str, run: Run) -> None:
    code, _, err = run(*words)
    assert code == 2
    assert told in err
    assert len([line for line in err.splitlines() if line.startswith("polyqa:")]) == 1
