import dspy
import pytest

from polyqa.optimizers.prompts import prompt_changes, prompt_diff


def predictor(instructions: str, *answers: str) -> dspy.Predict:
    made = dspy.Predict(dspy.Signature("question -> answer", instructions))
    made.demos = [{"question": "Who?", "answer": answer} for answer in answers]
    return made


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (predictor("Answer.", "She"), "unchanged"),
        (predictor("Answer.", "He"), "other demos"),
        (predictor("Be brief.", "She"), "other instructions"),
        (predictor("Be brief.", "He"), "other instructions; other demos"),
        (predictor("Be brief."), "other instructions; demos: all 1 → all 0"),
    ],
)
def test_what_changed_is_told_of_instructions_and_of_demos(other: dspy.Predict, told: str) -> None:
    assert prompt_changes(predictor("Answer.", "She"), other) == {"self": told}


def test_demos_that_differ_behind_what_is_shown_of_them_are_others() -> None:
    one, other = (predictor("Answer.", f"{'Long. ' * 100}{end}") for end in ("She", "He"))
    assert prompt_changes(one, other) == {"self": "other demos"}


@pytest.mark.parametrize(("most", "told"), [(0, "other demos"), (None, "+answer: He")])
def test_a_diff_without_the_demos_does_not_say_that_they_are_the_same(most: int | None, told: str) -> None:
    diff = prompt_diff(predictor("Answer.", "She"), predictor("Answer.", "He"), most=most)
    assert told in diff.splitlines()
    assert "unchanged" not in diff
