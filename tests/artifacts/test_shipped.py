import pytest

import polyqa
from polyqa.artifacts.store import artifact_names, read_artifact
from polyqa.evaluation.loading import load_questions


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("name", artifact_names())
def test_a_shipped_artifact_loads_without_a_warning_and_answers(name: str) -> None:
    program = polyqa.load(name)
    result = polyqa.ask("When did Titanic come out?", program=program)
    assert result.interpretations
    assert any(predictor.demos for _, predictor in program.named_predictors())


@pytest.mark.parametrize("name", artifact_names())
def test_its_demos_are_training_questions_and_it_lost_nothing_for_sure(name: str) -> None:
    artifact = read_artifact(name)
    train = {question.question for question in load_questions("homonyms/train")}
    held_out = {question.question for split in ("dev", "test") for question in load_questions(f"homonyms/{split}")}
    shown = {demo["question"] for own in artifact.state.values() for demo in own["demos"]}
    # A verification's question is a reading that the program made of a training question.
    asked = {demo["question"] for name, own in artifact.state.items() if name != "verify" for demo in own["demos"]}
    assert asked
    assert asked <= train
    assert not shown & held_out
    assert artifact.card.dev_gain is not None
    assert artifact.card.dev_gain.p > 0.05 or artifact.card.dev_gain.difference > 0, "nothing that surely harms"
    assert artifact.card.test_gain is not None


def test_something_is_shipped() -> None:
    assert "rac-homonyms-local" in artifact_names()
