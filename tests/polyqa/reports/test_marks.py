"""Where an answer stands, by the rule by which its passage was picked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.metrics.text import holds, several, without_marks
from polyqa.reports.marks import places

TEXTS = st.text(alphabet=st.sampled_from("abAB12 .,;-–’'()_İßΣé\n"), max_size=40) | st.text(max_size=40)


@given(TEXTS, TEXTS)
def test_an_answer_has_a_place_where_the_passage_holds_it(text: str, answer: str) -> None:
    told = [part for part in several(answer) if holds(text, part, without_marks)]
    assert bool(places(text, answer)) == bool(told)


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_places_are_apart_in_order_and_within_the_text(text: str, answers: list[str]) -> None:
    at = 0
    for start, end in places(text, *answers):
        assert at <= start < end <= len(text)
        at = end


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("大桥于1957年建成。", "1957年"),
        ("यह दिल्ली में है।", "दिल्ली"),
        ("เมืองหลวงคือกรุงเทพมหานคร", "กรุงเทพ"),
        ("It stands in Łódź.", "Łódź"),
        ("Not 1.5 km, but 5 km.", "5 km"),
    ],
)
def test_an_answer_of_any_script_has_its_place(text: str, answer: str) -> None:
    ((start, end),) = places(text, answer)
    assert text[start:end] == answer
