"""Whether an artifact still holds is told in a sentence, in pairs where it keeps its scores."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Printed, Refused

import polyqa
from polyqa.adapting import _records
from polyqa.artifacts.scores import QuestionScores
from polyqa.artifacts.store import find_artifact, read_artifact
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading import load_questions
from polyqa.language_models import LMSettings, Models
from polyqa.metrics.gold import Question
from polyqa.rechecking import Rechecked, recheck

# Fewer than six show no difference.
OWN = {name: load_questions(f"homonyms/{name}")[:few] for name, few in (("train", 2), ("dev", 2), ("test", 8))}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    assert polyqa.compile("rac", recipe="knn", sets=polyqa.Sets(**OWN), out=folder / "mine") is not None
    return folder / "mine"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def artifact(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "mine", ignore=shutil.ignore_patterns(".work")))


def checked(artifact: Path, runs: Path) -> Rechecked:
    """Check an artifact; its runs are the same, so that only the first takes time."""
    return recheck(artifact, OWN["test"], folder=runs / "again")


def shift(artifact: Path, by: float) -> None:
    """Change what the artifact's compiled program is said to have scored."""
    path = artifact / "scores.json"
    scores = json.loads(path.read_text())
    for values in scores["test"]["after"].values():
        values[:] = [value + by for value in values]
    path.write_text(json.dumps(scores))


def test_an_artifact_keeps_its_scores_and_no_question(artifact: Path) -> None:
    text = (artifact / "scores.json").read_text()
    scores = QuestionScores.model_validate_json(text)
    assert scores.dev is not None
    assert scores.test.ids == [question.id for question in OWN["test"]]
    assert set(scores.test.after) == {"disambig_f1", "rouge_l"}
    assert not any(question.question in text for question in OWN["test"])


def test_what_scores_the_same_holds(artifact: Path, runs: Path) -> None:
    found = checked(artifact, runs)
    assert found.outcome == "holds"
    assert found.change.difference == pytest.approx(0.0)
    assert found.gain is not None
    told = found.verdict
    assert told.startswith(f"mine holds: DR {found.then.value:.1f} → {found.then.value:.1f}, +0.0 [")
    assert "on 8 test questions; nothing that its card names has changed." in told
    assert "Against the uncompiled program then: " in told


def test_the_condition_of_the_index_counts(artifact: Path, runs: Path) -> None:
    card = json.loads((artifact / "card.json").read_text())
    card["index"]["condition"] = "title = 'Nowhere'"
    (artifact / "card.json").write_text(json.dumps(card))
    with pytest.raises(PolyqaError, match="No passage of homonyms fulfils the condition"):
        checked(artifact, runs)


def test_what_is_better_is_told_so(artifact: Path, runs: Path) -> None:
    shift(artifact, -0.1)
    assert checked(artifact, runs).verdict.startswith("mine holds and is better now: DR ")


def test_what_is_worse_is_lost_and_what_changed_is_told(artifact: Path, runs: Path) -> None:
    shift(artifact, 0.3)
    card = json.loads((artifact / "card.json").read_text())
    card["versions"]["dspy"], card["lm"] = "3.4.0", "openai/other"
    (artifact / "card.json").write_text(json.dumps(card))
    found = checked(artifact, runs)
    assert found.outcome == "lost"
    assert found.gain is None, "it was another language model"
    assert "changed since: DSPy was 3.4.0, is " in found.verdict
    assert "language model was openai/other, is polyqa/extractive" in found.verdict


def test_a_few_questions_that_stay_do_not_show_that_another_model_holds(artifact: Path, runs: Path) -> None:
    card = json.loads((artifact / "card.json").read_text())
    (artifact / "card.json").write_text(json.dumps({**card, "lm": "openai/other"}))
    assert checked(artifact, runs).outcome == "cannot be told"


def test_a_compilation_from_a_recording_was_asked_with_the_same_settings(artifact: Path, runs: Path) -> None:
    card = json.loads((artifact / "card.json").read_text())
    card["lm_settings"]["replays"] = "replies.jsonl.gz"
    (artifact / "card.json").write_text(json.dumps(card))
    assert checked(artifact, runs).changed == ""


def test_failures_of_then_count_as_those_of_now_do(artifact: Path, runs: Path) -> None:
    card = json.loads((artifact / "card.json").read_text())
    card["test_gain"]["failed_after"] = 1
    (artifact / "card.json").write_text(json.dumps(card))
    found = checked(artifact, runs)
    assert found.outcome == "cannot be told"
    assert ", 1 failed then and 0 now;" in found.verdict


def test_without_scores_only_the_same_figure_holds(artifact: Path, runs: Path) -> None:
    (artifact / "scores.json").unlink()
    assert checked(artifact, runs).outcome == "holds"
    card = json.loads((artifact / "card.json").read_text())
    card["test_gain"]["after"]["value"] += 1
    (artifact / "card.json").write_text(json.dumps(card))
    found = checked(artifact, runs)
    assert found.outcome == "cannot be told"
    assert found.verdict.startswith("Whether mine holds cannot be told: DR ")
    assert "not in pairs, as it keeps no scores of its questions" in found.verdict


def test_what_fits_no_question_or_is_damaged_is_refused(artifact: Path) -> None:
    with pytest.raises(PolyqaError, match=r"1 of its 8 questions, such as '.+', are not in .+--questions"):
        recheck(artifact, OWN["test"][1:])
    with pytest.raises(PolyqaError, match=r"its figures are of 'questions given in Python', which is not here"):
        recheck(artifact)
    (artifact / "scores.json").write_text('{"dev": {"ids": ["a"], "before": {"x": []}, "after": {"x": []}}}')
    with pytest.raises(PolyqaError, match=r"scores.json is damaged"):
        recheck(artifact, OWN["test"])


def test_the_command_says_it_in_a_sentence(
    printed: Printed, refused: Refused, artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "polyqa").mkdir()
    (tmp_path / "polyqa" / "polyqa.toml").write_text('index = "mine"\n')  # for other questions than the artifact's
    (tmp_path / "test.json").write_text(json.dumps(_records(OWN["test"])))
    words = ["evaluate", "--program", str(artifact), "--recheck", "--questions", str(tmp_path / "test.json")]
    told = json.loads(printed(*words, "--runs", tmp_path / "runs", "--name", "again", "--json"))
    assert told["outcome"] == "holds"
    assert told["now"]["n"] == 8
    err = refused(*words, "--limit", "2")
    assert "--recheck runs" in err
    assert "leave out --limit" in err
    assert "name it with --program" in refused("evaluate", "--recheck")


@pytest.mark.parametrize("name", ["rac-homonyms-local", "crag-homonyms-local"])
def test_a_shipped_artifact_holds_by_the_replies_of_its_language_model(tmp_path: Path, name: str) -> None:
    replies = find_artifact(name) / "replies.jsonl.gz"
    models = Models(lm=f"recorded/{replies}", settings=LMSettings(temperature=0))
    checked = recheck(name, models=models, folder=tmp_path / "run")
    assert checked.outcome == "holds"
    assert checked.run.failed == 0
    kept = read_artifact(name).card.test_gain
    assert kept is not None
    assert str(checked.gain) == kept.change
    assert "nothing that its card names has changed" in checked.verdict


def test_the_folder_of_a_run_names_what_runs(artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    card = json.loads((artifact / "card.json").read_text())
    (artifact / "card.json").write_text(json.dumps({**card, "helper_lm": "openai/helper"}))
    assert "helper was openai/helper" in recheck(artifact, OWN["test"]).changed
    assert [path.name for path in Path("runs").iterdir() if "helper" in path.name] == []


def test_a_metric_or_scores_that_are_not_known_cost_no_run(artifact: Path, tmp_path: Path) -> None:
    def told(asked: list[Question] = OWN["test"]) -> str:
        with pytest.raises(PolyqaError) as refused:
            recheck(artifact, asked, folder=tmp_path / "none")
        assert not (tmp_path / "none").exists()
        return str(refused.value)

    others = [replace(one, id=same.id) for one, same in zip(OWN["test"][::-1], OWN["test"], strict=True)]
    for strange in (others, [replace(one, long_answers=()) for one in OWN["test"]]):
        assert "its figures are of other questions than" in told(strange)
    kept = json.loads((artifact / "scores.json").read_text())
    scores = {side: {"other": [0.0] * 8} for side in ("before", "after")}
    (artifact / "scores.json").write_text(json.dumps({"test": {**kept["test"], **scores}}))
    assert "scores.json has no disambig_f1. Remove it; the card's figures stay." in told()
    card = json.loads((artifact / "card.json").read_text())
    for metric in ("bleu", "g_f1"):
        card["test_gain"]["metric"] = metric
        (artifact / "card.json").write_text(json.dumps(card))
        assert f"its card reports '{metric}', which this version of polyqa does not measure" in told()
