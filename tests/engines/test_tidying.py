"""Passages are told without what the web left in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.engines.extractive.prompt import PromptPassage
from polyqa.engines.extractive.tidying import tidy


@pytest.mark.parametrize(
    ("title", "text", "tidied"),
    [
        ("Ruble", "The ruble () is a currency. == History == It was struck", "The ruble is a currency. It was struck"),
        ("Franc", "The franc (; ; sign: F) was a currency.", "The franc (sign: F) was a currency."),
        ("Tower Bridge", "Tower Bridge Tower Bridge is a bridge.", "Tower Bridge: Tower Bridge is a bridge."),
        ("Texans", "Texans The Houston Texans play.", "Texans: The Houston Texans play."),
        ("Paris", "Paris Hilton sings.", "Paris Hilton sings."),  # the title opens a name, not a heading
        ("Titanic", "Titanic sank in 1912.", "Titanic sank in 1912."),
        ("", "An equation: a = b == c holds (1912).", "An equation: a = b == c holds (1912)."),
    ],
)
def test_what_the_web_left_is_left_out(title: str, text: str, tidied: str) -> None:
    passage = tidy(PromptPassage(3, title, text))
    assert (passage.number, passage.title, passage.text) == (3, title, tidied)


@given(st.text(alphabet="Ab .,;:()'’=\n", max_size=60), st.sampled_from(["", "A", "Ab A"]))
def test_words_stay_but_those_of_headings(text: str, title: str) -> None:
    kept = tidy(PromptPassage(1, title, text)).text
    if "==" not in text:
        assert [c for c in kept if c in "Ab"] == [c for c in text if c in "Ab"]
    assert "  " not in kept
