import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.extractive.answers import whole_answer
from polyqa.models import Span

TEXT = (
    "The archbishop of Kraków, Karol Wojtyła, was born on 18 May 1920. He was elected on 16 October 1978 (the second "
    "vote), and ruled from 1978 to 2005. On 22 August 2004, guards were threatened. He wrote “Fides et ratio”."
)


def span(text: str) -> Span:
    start = TEXT.index(text)
    return Span(text, start, start + len(text), 1.0)


@pytest.mark.parametrize(
    ("question", "found", "whole"),
    [
        ("When was he born?", "May 1920", "18 May 1920"),
        ("When was he born?", "1920", "18 May 1920"),
        ("When was he elected?", "16 October 1978 (the second", "16 October 1978"),
        ("When were guards threatened?", "22 August 2004, guards were", "22 August 2004"),
        ("When did he rule?", "1978 to 2005", "1978 to 2005"),
        ("When did he rule?", "from 1978 to 2005", "from 1978 to 2005"),
        ("Who was elected?", "archbishop of Kraków, Karol Wojtyła,", "archbishop of Kraków, Karol Wojtyła"),
        ("Who was elected?", "Karol Wojtyła", "Karol Wojtyła"),
        ("How was he elected?", "(the second vote), and", "(the second vote), and"),
        ("How was he elected?", "16 October 1978 (the second", "16 October 1978"),
        ("What did he write?", "“Fides et ratio", "Fides et ratio"),
        ("What did he write?", "“Fides et ratio”.", "“Fides et ratio”"),
        ("What was he?", "archbishop of Kraków,", "archbishop of Kraków"),
    ],
)
def test_whole_answers(question: str, found: str, whole: str) -> None:
    assert whole_answer(question, TEXT, span(found)) == whole


@given(
    st.text(alphabet='ab 1(“”)[]".,1920May', max_size=40), st.sampled_from(["When?", "Who?", "What?", "Which year?"])
)
def test_nothing_is_made_up(text: str, question: str) -> None:
    answer = whole_answer(question, text, Span(text, 0, len(text), 0.0))
    assert answer in text or answer in text.replace('"', "")
    assert answer == answer.strip(" .,;:")


@pytest.mark.parametrize(("found", "whole"), [("Euphoria'", "Euphoria"), ("'Euphoria'", "'Euphoria'")])
def test_half_a_pair_of_quotation_marks_goes(found: str, whole: str) -> None:
    assert whole_answer("What did she sing?", found, Span(found, 0, len(found), 0.0)) == whole
