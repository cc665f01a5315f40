import io
import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from openai_server import serve
from scripted_engine import ScriptedEngine

import polyqa

Run = Callable[..., tuple[int, str, str]]
Printed = Callable[..., str]
Refused = Callable[..., str]


@pytest.fixture
def sets(small: dict[str, Path]) -> tuple[object, ...]:
    """The options that name small sets."""
    return ("--train", small["train"], "--dev", small["dev"])


@pytest.fixture(scope="module")
def artifact(small: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compiled") / "tiny"
    made = polyqa.compile("rac", out=out, sets=polyqa.Sets(**small))
    assert made is not None
    assert made.card.test_gain is not None
    return out


def test_compile_asks_first_and_says_what_it_takes(
    run: Run, refused: Refused, sets: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("compile", "--program", "rac", *sets, "--out", tmp_path / "no")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, _, err = run(*words)
    assert code == 0
    assert "at most 8 runs of the program, 16 calls" in err
    assert "not started" in err
    assert not (tmp_path / "no" / "card.json").exists()
    assert "more than --max-calls 3" in refused(*words, "--max-calls", "3", "--yes")


def test_compile_prints_the_gain_and_saves(printed: Printed, sets: tuple[object, ...], tmp_path: Path) -> None:
    words = ("compile", "--program", "closed-book", "--recipe", "knn", *sets, "--out", tmp_path / "made", "--yes")
    card = json.loads(printed(*words, "--json"))
    assert card["program"] == "closed-book"
    assert card["index"] is None
    assert card["dev_gain"]["before"]["n"] == 4
    assert (tmp_path / "made" / "program.json").exists()


def test_compile_takes_passages_for_any_program(printed: Printed, sets: tuple[object, ...], tmp_path: Path) -> None:
    for program, settings in (("query-refinement", {}), ("rac", {"passages": 2})):
        made = tmp_path / program
        words = ("compile", "--program", program, "--out", made, *sets, "--reader", "embedded", "-k", "2", "--yes")
        card = json.loads(printed(*words, "--json"))
        assert (card["settings"], card["reader"]) == (settings, "polyqa-minilm-reader")
        readme = (made / "README.md").read_text()
        assert f'polyqa.load("{made}")' in readme
        assert f"polyqa show {made}" in readme


def test_compile_passes_options_on_to_the_recipe(printed: Printed, sets: tuple[object, ...], tmp_path: Path) -> None:
    options = ("--recipe", "knn-bootstrap", "--threshold", "0.25", "--predictors", "write", "--seed", "2")
    words = ("compile", "--program", "rac", "--out", tmp_path / "made", *sets, *options, "--yes", "--json")
    recipe = json.loads(printed(*words))["recipe"]
    assert (recipe["threshold"], recipe["predictors"], recipe["seed"]) == (0.25, ["write"], 2)


def test_a_reader_that_is_not_there_costs_no_call(refused: Refused, sets: tuple[object, ...], tmp_path: Path) -> None:
    with serve(ScriptedEngine(lambda prompt: {"answer": "I cannot say."})) as server:
        words = ("--program", "closed-book", *sets, "--reader", "/nowhere/reader")
        words = (*words, "--lm", f"openai/model-{uuid.uuid4().hex}", "--api-base", server.base)
        for command in (
            ("compile", "--out", tmp_path / "made", "--yes"),
            ("curve", "--out", tmp_path / "curve.png", "--work", tmp_path / "work", "--sizes", "2"),
        ):
            assert "/nowhere/reader" in refused(*command, *words)
    assert server.requests == []


def test_show_prints_card_and_prompts(printed: Printed, artifact: Path) -> None:
    out = printed("show", artifact)
    assert '"recipe"' in out
    assert "## extract" in out
    assert "Demos shown: the 5 nearest of" in out
    data = json.loads(printed("show", artifact, "--json"))
    assert set(data["program"]) == {"extract", "write"}
    assert data["card"]["name"] == "tiny"
    assert "Demos shown: all 0" in printed("show", "rac")


def test_diff_shows_what_compiling_changed(printed: Printed, artifact: Path) -> None:
    out = printed("diff", "rac", artifact)
    assert "```diff" in out
    assert "+Demos shown: the 5 nearest of" in out
    assert printed("diff", "rac", "rac").count("unchanged") == 2


def test_why_shows_the_picked_demos_and_the_messages(printed: Printed, artifact: Path) -> None:
    words = ("why", "When did Titanic come out?", "--artifact", artifact)
    data = json.loads(printed(*words, "--json"))
    similarities = [demo["similarity"] for demo in data["demos"]["extract"]]
    assert similarities == sorted(similarities)  # the nearest demo last, next to the question
    assert len(similarities) == 5
    sent = [message["content"] for message in data["calls"][0]["messages"]]
    for demo in data["demos"]["extract"]:
        assert any(demo["question"] in text for text in sent)
    out = printed(*words)
    assert "demos of extract" in out
    assert "## question\n" in out


def test_ask_takes_a_compiled_program(printed: Printed, refused: Refused, artifact: Path) -> None:
    words = ("ask", "Who founded Alexandria?", "--program", artifact)
    assert json.loads(printed(*words, "--json"))["interpretations"]
    assert "is compiled" in refused(*words, "-k", "3")


def test_the_readme_tells_what_the_card_tells(artifact: Path) -> None:
    text = (artifact / "README.md").read_text()
    card = json.loads((artifact / "card.json").read_text())
    told = (card["recipe"]["summary"], card["index"]["fingerprint"], card["train"]["fingerprint"], "dev:", "test:")
    for part in (*told, "## Prompts\n\n### extract\n\n8 demos, each call shows the 5 nearest; the first 3:"):
        assert part in text


def test_recipes_are_listed(printed: Printed) -> None:
    out = printed("recipes")
    for name in ("knn", "bootstrap-search", "gepa", "mipro", "simba", "copro"):
        assert name in out


def test_curve_draws_scores_against_examples(
    printed: Printed, refused: Refused, sets: tuple[object, ...], tmp_path: Path
) -> None:
    plot = tmp_path / "curve.png"
    words = ("curve", "--sizes", "2,4", *sets, "--work", tmp_path / "work", "--out")
    out = printed(*words, plot, "--recipe", "knn-bootstrap")
    assert [line.split()[0] for line in out.splitlines()] == ["0", "2", "4"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "png" in refused(*words, tmp_path / "curve.txt")
    assert "whole numbers" in refused("curve", "--sizes", "many", "--out", plot)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["compile", "--out", "x", "--recipe", "magic", "--yes"], "no recipe 'magic'"),
        (["compile", "--out", "x", "--recipe", "gepa", "--yes"], "cannot write"),
        (["compile", "--out", "x", "--recipe", "knn", "--threshold", "0.9"], "no use for a threshold (--threshold)"),
        (["compile", "--out", "x", "--measure", "bleu"], "dr or disambig_f1"),
        (["compile", "--out", "x", "--dev", "homonyms/train", "--yes"], "share a question"),
        (["show", "nothing"], "no compiled program"),
        (["ask", "Who?", "--program", "nothing"], "Unknown program 'nothing'"),
    ],
)
def test_mistakes_get_one_line(words: list[str], told: str, refused: Refused) -> None:
    assert told in refused(*words)
