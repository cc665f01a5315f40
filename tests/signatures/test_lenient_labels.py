"""Labels and marks as language models write them."""

from typing import Any

import dspy
import pytest

from polyqa.signatures import CritiqueSegment, Grade, GradePassage, Support
from polyqa.signatures.lenient import parse_grade, parse_support, parse_usefulness


@pytest.mark.parametrize(
    ("written", "grade"),
    [
        ("Correct", Grade.CORRECT),
        ("**incorrect.**", Grade.INCORRECT),
        ("Ambiguous (it could be correct)", Grade.AMBIGUOUS),
        ("The passage is Incorrect", Grade.INCORRECT),
        (["Correct"], Grade.CORRECT),
        (Grade.AMBIGUOUS, Grade.AMBIGUOUS),
    ],
)
def test_grades_are_understood(written: Any, grade: Grade) -> None:
    assert parse_grade(written) is grade


@pytest.mark.parametrize(
    "written", ["", "not correct", "either correct or incorrect", 1, None, ["Correct", "Incorrect"]]
)
def test_what_is_no_grade_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="not one of Correct, Ambiguous, Incorrect"):
        parse_grade(written)


@pytest.mark.parametrize(
    ("written", "support"),
    [
        ("Fully supported", Support.FULLY),
        ("[Partially supported]", Support.PARTIALLY),
        ("partly", Support.PARTIALLY),
        ("No support / contradictory", Support.NO),
        ("not supported", Support.NO),
        ("none", Support.NO),
    ],
)
def test_support_is_understood(written: str, support: Support) -> None:
    assert parse_support(written) is support


@pytest.mark.parametrize("written", ["not fully supported", "perhaps", True])
def test_what_is_no_support_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="not one of Fully, Partially, No"):
        parse_support(written)


@pytest.mark.parametrize(
    ("written", "mark"), [(5, 5), ("4/5", 4), ("4 out of 5", 4), ("3.0", 3), ("Usefulness: 2", 2), ([1], 1)]
)
def test_marks_are_understood(written: Any, mark: int) -> None:
    assert parse_usefulness(written) == mark


@pytest.mark.parametrize("written", [0, 6, "4.5", "8/10", "between 2 and 3", True, "", None, "good"])
def test_what_is_no_mark_from_one_to_five_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="not a mark from 1 to 5"):
        parse_usefulness(written)


def test_the_reply_of_a_critic_becomes_typed_values() -> None:
    reply = "[[ ## support ## ]]\nPartially supported.\n\n[[ ## usefulness ## ]]\n4/5\n\n[[ ## completed ## ]]"
    assert dspy.ChatAdapter().parse(CritiqueSegment, reply) == {"support": Support.PARTIALLY, "usefulness": 4}


def test_the_reply_of_an_evaluator_becomes_a_grade() -> None:
    reply = "[[ ## grade ## ]]\nIncorrect: it is about the ship.\n\n[[ ## completed ## ]]"
    assert dspy.ChatAdapter().parse(GradePassage, reply)["grade"] is Grade.INCORRECT


@pytest.mark.parametrize(
    ("grades", "action"),
    [
        ([Grade.INCORRECT, Grade.CORRECT, Grade.AMBIGUOUS], Grade.CORRECT),
        ([Grade.INCORRECT, Grade.AMBIGUOUS], Grade.AMBIGUOUS),
        ([Grade.INCORRECT, Grade.INCORRECT], Grade.INCORRECT),
        ([], Grade.INCORRECT),
    ],
)
def test_one_correct_passage_is_enough_and_only_incorrect_ones_are_incorrect(
    grades: list[Grade], action: Grade
) -> None:
    assert Grade.of_all(grades) is action
