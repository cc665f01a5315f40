import re
from pathlib import Path

import pytest

from polyqa.artifacts.store import README, artifact_names, compiled_home, find_artifact, read_artifact
from polyqa.optimizers.recipes import RECIPES
from polyqa.reports.readme import artifact_readme


def told(folder: str | Path) -> list[str]:
    """Return the lines of an artifact's README that say how it is loaded."""
    text = artifact_readme(read_artifact("rac-homonyms-local").card, {}, folder)
    return [line for line in text.splitlines() if "polyqa.load(" in line or "polyqa show" in line]


@pytest.mark.parametrize("name", artifact_names())
def test_a_readme_shows_at_most_three_demos_of_a_predictor(name: str) -> None:
    written = (compiled_home() / name / README).read_text(encoding="utf-8")
    state = read_artifact(name).state
    for predictor, own in state.items():
        shown = re.split(r"^#+ ", written, flags=re.MULTILINE)
        (text,) = [part for part in shown if part.startswith(f"{predictor}\n")]
        assert text.count("\nquestion: ") == min(3, len(own["demos"]))
        assert (f"{len(own['demos'])} demos" if own["demos"] else "No demos.") in text
    assert len(written.split()) < 2_000


def test_instructions_that_a_language_model_wrote_are_printed() -> None:
    artifact = read_artifact("rac-homonyms-local")
    written = artifact.card.model_copy(update={"recipe": RECIPES["gepa"].model_dump(mode="json")})
    state = artifact.state | {"clarify": artifact.state["clarify"] | {"demos": [], "knn": None}}
    instructions = state["clarify"]["signature"]["instructions"]
    assert f"### clarify\n\n```text\n{instructions}\n```\n\nNo demos." in artifact_readme(written, state, "mine/oc")
    assert instructions not in artifact_readme(artifact.card, state, "mine/oc")


def test_an_artifact_elsewhere_is_loaded_by_the_path_that_was_given(tmp_path: Path) -> None:
    assert told("mine/oc") == [
        'program = polyqa.load("mine/oc")',
        '`polyqa show mine/oc` prints its prompts, `polyqa ask "…" --program mine/oc --lm local/qwen2.5-coder-1.5b '
        "--show-prompts` which demos a question gets, `polyqa show rac mine/oc` all that compiling changed.",
    ]
    load, show = told(tmp_path / "two words")
    assert load == f'program = polyqa.load("{tmp_path}/two words")'
    assert f"polyqa show '{tmp_path}/two words'" in show


@pytest.mark.parametrize(
    ("recipe", "told"), [("knn", False), ("bootstrap-few-shot", True), ("knn-then-bootstrap", True)]
)
def test_a_threshold_is_told_where_runs_become_demos(recipe: str, told: bool) -> None:
    card = read_artifact("rac-homonyms-local").card
    made = card.model_copy(update={"recipe": RECIPES[recipe].model_dump(mode="json")})
    assert ("a run becomes a demo from 0.5 on" in artifact_readme(made, {}, "mine/oc")) == told


def test_names_are_told_only_where_they_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(compiled_home() / "mine")[0] == 'program = polyqa.load("mine")'
    monkeypatch.chdir(compiled_home().parent)
    assert told("compiled/mine")[0] == 'program = polyqa.load("mine")'
    assert find_artifact("rac-homonyms-local") == compiled_home() / "rac-homonyms-local"
    # `rac` is the plain program wherever a compiled one of that name lies.
    assert told("compiled/rac")[0] == 'program = polyqa.load("compiled/rac")'
    monkeypatch.chdir("/")
    assert told("rac")[0] == 'program = polyqa.load("./rac")'


def test_the_language_model_that_is_asked_anyway_is_not_named() -> None:
    card = read_artifact("rac-homonyms-local").card.model_copy(update={"lm": "polyqa/extractive"})
    assert "--program mine/oc --show-prompts`" in artifact_readme(card, {}, "mine/oc")
