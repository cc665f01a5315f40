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


def test_no_answer_is_never_held() -> None:
    assert has_answer([], "any text") is False


@pytest.mark.parametrize("text", ["any text", ""])
def test_an_answer_without_tokens_is_always_held(text: str) -> None:
    assert has_answer([""], text) is True
    assert has_answer(["  "], text) is True


def test_an_empty_text_holds_nothing_else() -> None:
    assert has_answer(["a"], "") is False


def test_punctuation_and_articles_count() -> None:
    assert has_answer(["The Wall"], "Behind the wall.")
    assert not has_answer(["The Wall"], "Behind a wall.")
    assert not has_answer(["12,345"], "12345 people")


def test_composed_and_decomposed_letters_are_equal() -> None:
    name = "Åsa Ström"
    assert has_answer([unicodedata.normalize("NFD", name)], f"by {unicodedata.normalize('NFC', name)}.")
    assert has_answer([unicodedata.normalize("NFC", name)], f"by {unicodedata.normalize('NFD', name)}.")


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_a_text_between_spaces_is_held(before: str, answer: str, after: str) -> None:
    assert has_answer([answer], f"{before} {answer} {after}")


@given(st.lists(st.text(max_size=10), max_size=4), st.text(max_size=30))
def test_one_alias_is_enough(aliases: list[str], text: str) -> None:
    assert has_answer(aliases, text) == any(has_answer([alias], text) for alias in aliases)


def test_covered_answers_counts_answers_not_passages() -> None:
    answers = [["Nagano", "Nagano, Japan"], ["Turin", "Torino"], ["Oslo"]]
    texts = ["in Nagano and Torino", "in Nagano, Japan", "in Turin"]
    assert covered_answers(answers, texts) == 2
    assert covered_answers(answers, []) == 0
    assert covered_answers([], texts) == 0


def test_an_answer_is_not_pieced_together_from_two_passages() -> None:
    assert covered_answers([["Salt Lake City"]], ["the Salt", "Lake City"]) == 0
