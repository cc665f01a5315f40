import io
import json
import re
from pathlib import Path

import pytest
from command_line import Printed, Refused, Run

import polyqa
from polyqa.optimizers.recipes import RECIPES


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
    assert code == 2
    assert "Expected: 8 runs of the program, about 8 calls" in err
    assert "not started" in err
    assert not (tmp_path / "no" / "card.json").exists()
    monkeypatch.setattr("sys.stdin", io.StringIO(""))  # a script
    assert "“Start?” has no answer, as the input ended: say --yes." in refused(*words)
    assert "the limit (--max-calls) is 3" in refused(*words, "--max-calls", "3", "--yes")


def test_a_teacher_makes_the_demos(
    printed: Printed, refused: Refused, artifact: Path, sets: tuple[object, ...], tmp_path: Path
) -> None:
    words = ("compile", "--program", "rac", *sets, "--yes", "--teacher")
    told = refused(*words, artifact, "--out", tmp_path / "no")
    assert "'knn' makes no demos from runs, so it has no use for a teacher; leave it out, or take bootstrap-" in told
    for teacher, told, of_card in (
        (artifact, f", demos by {artifact} |", (str(artifact), None)),
        ("polyqa/extractive", "; demos by polyqa/extractive |", (None, "polyqa/extractive")),
    ):
        made = tmp_path / of_card[0 if of_card[0] else 1].rpartition("/")[2]
        printed(*words, teacher, "--recipe", "knn-bootstrap", "--threshold", "0.05", "--out", made)
        card = json.loads((made / "card.json").read_text())
        assert (card["teacher"], card["teacher_lm"]) == of_card
        assert told in (made / "README.md").read_text()
        assert told[2:40].removesuffix(" |") in printed("show", made).replace("\n", "")


def test_compile_prints_the_gain_and_saves_what_it_was_told(
    printed: Printed, sets: tuple[object, ...], tmp_path: Path
) -> None:
    bootstrap = ("--recipe", "knn-bootstrap", "--threshold", "0.25", "--predictors", " extract", "--seed", "2")
    # Passages are left out where a program has no such setting.
    for program, recipe, settings in (("query-refinement", (), {}), ("rac", bootstrap, {"passages": 2})):
        made = tmp_path / program
        words = ("compile", "--program", program, "--out", made, *sets, "--reader", "embedded", "-k", "2", "--yes")
        assert "| DR |" in printed(*words, "--set", "preset=paper", *recipe)
        card = json.loads((made / "card.json").read_text())
        assert (card["program"], card["reader"]) == (program, "polyqa-minilm-reader")
        assert card["settings"] == {"preset": "paper", **settings}
        assert (card["index"] is None) == (program == "query-refinement")
        assert card["dev_gain"]["before"]["n"] == 4
        assert (made / "program.json").exists()
        readme = (made / "README.md").read_text()
        assert f'polyqa.load("{made}")' in readme
        assert f"polyqa show {made}" in readme
    made_by = card["recipe"]
    assert (made_by["threshold"], made_by["predictors"], made_by["seed"]) == (0.25, ["extract"], 2)


def test_show_begins_with_what_it_is_and_what_compiling_brought(printed: Printed, artifact: Path) -> None:
    out = printed("show", artifact)
    assert out.startswith("tiny: rac (it retrieves once, extracts the readings, answers), compiled with knn.\n")
    assert re.search(r"ompiling (helped|did harm|changed nothing).*: DR [\d.]+ .*→ ", out.splitlines()[1])
    facts, prompts = out.split("## clarify")
    assert re.search(r"^clarify +demos: the 5 nearest of \d+", facts, re.MULTILINE)
    assert "Demos shown: the 5 nearest of" in prompts
    assert prompts.count("\nquestion: ") == 1
    assert printed("show", artifact, "--all").count("\nquestion: ") > 5
    data = json.loads(printed("show", artifact, "--json"))
    assert set(data["program"]) == {"clarify"}
    assert data["card"]["name"] == "tiny"
    assert "Demos shown: all 0" in printed("show", "rac")
    assert json.loads(printed("show", "rac", "--json"))["card"] is None


def test_show_compares_two_programs(printed: Printed, artifact: Path) -> None:
    out = printed("show", "rac", artifact)
    summary, diff = out.split("### clarify")
    assert re.search(r"^clarify +.*demos: all 0 → the 5 nearest of", summary, re.MULTILINE)
    assert "```diff" in diff
    assert "+Demos shown: the 5 nearest of" in diff
    assert "+question:" not in diff
    assert "+question:" in printed("show", "rac", artifact, "--all")
    assert printed("show", "rac", "rac").count("unchanged") == 2
    assert "only in the first" in printed("show", "diva", "rac")


def test_show_needs_no_index(printed: Printed, artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polyqa.colbert_index.store.index_home", lambda: tmp_path)  # as where it was only pulled to
    assert "the 5 nearest of" in printed("show", artifact)
    assert "the 5 nearest of" in printed("show", "rac", artifact)


def test_ask_shows_the_messages(printed: Printed, artifact: Path) -> None:
    words = ("ask", "When did Titanic come out?", "--show-prompts", "--program")
    data = json.loads(printed(*words, artifact, "--json"))
    out = printed(*words, artifact)
    for message in data["prompts"][0]["messages"]:
        assert message["content"].splitlines()[0] in out
    assert data["answer"][:20] in out[out.index("answer ─") :]
    plain = json.loads(printed(*words, "rac", "--set", "preset=paper", "-k", "1", "--json"))
    assert len(plain["prompts"]) == 2


def test_ask_takes_a_compiled_program(printed: Printed, refused: Refused, artifact: Path) -> None:
    words = ("ask", "Who founded Alexandria?", "--program", artifact)
    assert json.loads(printed(*words, "--json"))["interpretations"]
    assert "is compiled" in refused(*words, "-k", "3")


def test_the_readme_tells_what_the_card_tells(artifact: Path) -> None:
    text = (artifact / "README.md").read_text()
    card = json.loads((artifact / "card.json").read_text())
    told = (card["recipe"]["summary"], card["index"]["fingerprint"], card["encoder"], "dev:", "test:")
    for part in (*told, "## Prompts\n\n### clarify\n\n8 demos, each call shows the 5 nearest; the first 3:"):
        assert part in text


def test_recipes_are_listed(printed: Printed) -> None:
    listed = json.loads(printed("programs", "--recipes", "--json"))
    assert list(listed) == list(RECIPES)
    writing = {"copro", "miprov2", "simba", "infer-rules", "gepa", "gepa-then-knn"}
    assert {name for name, one in listed.items() if one["writes"]} == writing
    assert (listed["knn"]["optimizer"], listed["knn"]["k"]) == ("labels", 5)
    assert [step["name"] for step in listed["gepa-then-knn"]["steps"]] == ["gepa", "knn"]
