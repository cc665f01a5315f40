import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.questions.families import without_place, without_time


@pytest.mark.parametrize(
    ("question", "without", "cut"),
    [
        ("Who won the 2008 election?", "Who won the election?", "2008"),
        ("Who won the election in 2008?", "Who won the election?", "2008"),
        ("What was the population of Perth on 3 May 2010?", "What was the population of Perth?", "3 May 2010"),
        ("Who led the Oslo Choir from 1950 to 1958?", "Who led the Oslo Choir?", "from 1950 to 1958"),
        ("Who ruled Perth in the 1920s?", "Who ruled Perth?", "1920s"),
        ("Who won the 53rd Lakeland Cup?", "Who won the Lakeland Cup?", "53rd"),
        ("When did Perth grow in 1950?", None, None),
        ("Who directed Titanic (1953 film)?", None, None),
        ("Who was there in 1950?", None, None),
        ("Who won the election?", None, None),
        ("Who won between 1950 and after 1960?", None, None),
    ],
)
def test_times(question: str, without: str | None, cut: str | None) -> None:
    found = without_time(question)
    assert (found and found.question, found and found.cut) == (without, cut)
    assert found is None or found.kind == "time"


@pytest.mark.parametrize(
    ("question", "without"),
    [
        ("When did Argentina win a cup in South Africa?", "When did Argentina win a cup?"),
        ("Who is the governor in Ohio?", None),
        ("Who directed the film Sea of Love?", None),
    ],
)
def test_places(question: str, without: str | None) -> None:
    found = without_place(question)
    assert (found and found.question) == without
    assert found is None or found.kind == "location"


@given(st.text(max_size=80))
def test_no_question_is_too_odd(question: str) -> None:
    for found in (without_time(question), without_place(question)):
        assert found is None or (found.question.endswith("?") and len(found.question) <= len(question) + 1)
