"""Choice coverage: choices against gold readings, one each."""

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.metrics.choice_coverage import choice_coverage, choice_metric

QUESTION = "When did Titanic come out?"
GOLD = ["When did the 1997 film Titanic come out?", "When did the musical Titanic come out?"]


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        (["the musical", "the film of 1997"], 1.0),
        (["the 1997 film"], 2 / 3),
        (["the 1997 film", "the musical", "the ship"], 4 / 5),
        (["the 1997 film", "the 1997 film"], 0.5),
        (["1997 film or musical", "the ship"], 0.5),
        (["Titanic", "When did Titanic come out?"], 0.0),
        ([], 0.0),
    ],
)
def test_choices_are_matched_one_to_one(choices: list[str], expected: float) -> None:
    assert choice_coverage(QUESTION, choices, GOLD) == pytest.approx(expected)


def test_a_choice_that_fits_two_readings_covers_neither() -> None:
    gold = ["When did the 1953 film come out?", "When did the 1997 film come out?"]
    assert choice_coverage("When did it come out?", ["the film"], gold) == 0


WORDS = st.lists(st.sampled_from(["ship", "film", "1997", "musical", "novel"]), min_size=1, max_size=3).map(" ".join)


@given(st.lists(WORDS, max_size=4), st.lists(WORDS, min_size=1, max_size=4))
def test_it_is_a_share_and_the_order_does_not_matter(choices: list[str], readings: list[str]) -> None:
    value = choice_coverage("Which?", choices, readings)
    assert 0 <= value <= 1
    assert value == choice_coverage("Which?", choices[::-1], readings[::-1])


def test_only_whole_coverage_becomes_a_demo() -> None:
    gold = dspy.Example(question=QUESTION, readings=GOLD)
    half = dspy.Prediction(choices=["the musical"])
    assert choice_metric(gold, half) == pytest.approx(2 / 3)
    assert choice_metric(gold, half, trace=[]) is False
    assert choice_metric(gold, dspy.Prediction(choices=["the 1997 film", "the musical"]), trace=[]) is True
