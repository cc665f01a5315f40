import unicodedata
from typing import Any

import pytest
from data_files import golden
from hypothesis import given
from hypothesis import strategies as st

from polyqa.metrics import covered_answers, has_answer

GOLDEN = golden("has_answer")


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['answers']} in {case['text']}"[:60])
def test_has_answer_agrees_with_the_released_scorer(case: dict[str, Any]) -> None:
    assert has_answer(case["answers"], case["text"]) is case["output"]


@pytest.mark.parametrize(
    ("aliases", "text", "held"),
    [
        ([], "any text", False),
        ([""], "any text", True),  # an answer without tokens is always held
        (["  "], "", True),
        (["a"], "", False),
        (["The Wall"], "Behind the wall.", True),
        (["The Wall"], "Behind a wall.", False),  # articles and punctuation count
        (["12,345"], "12345 people", False),
    ],
)
def test_what_is_held(aliases: list[str], text: str, held: bool) -> None:
    assert has_answer(aliases, text) is held


def test_composed_and_decomposed_letters_are_equal() -> None:
    name = "Åsa Ström"
    assert has_answer([unicodedata.normalize("NFD", name)], f"by {unicodedata.normalize('NFC', name)}.")
    assert has_answer([unicodedata.normalize("NFC", name)], f"by {unicodedata.normalize('NFD', name)}.")


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_a_text_between_spaces_is_held(before: str, answer: str, after: str) -> None:
    assert has_answer([answer], f"{before} {answer} {after}")


def test_an_answer_is_not_pieced_together_from_two_passages() -> None:
    assert covered_answers([["Salt Lake City"]], ["the Salt", "Lake City"]) == 0
