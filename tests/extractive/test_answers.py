import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.extractive.answers import whole_answer, within_a_sentence
from polyqa.models import Span

TEXT = (
    "The archbishop of Kraków, Karol Wojtyła, was born on 18 May 1920. He was elected on 16 October 1978 (the second "
    "vote), and ruled from 1978 to 2005. On 22 August 2004, guards were threatened. He wrote “Fides et ratio”."
)


def span(found: str, text: str = TEXT) -> Span:
    start = text.index(found)
    return Span(found, start, start + len(found), 1.0)


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


@pytest.mark.parametrize(
    ("text", "found", "whole"),
    [
        ('Use the "--dry-run" option.', "dry-run", "--dry-run"),
        ("Write it as (httpx.Client(http2=True)).", "http2", "httpx.Client(http2=True)"),
        ("It is in the file (`/etc/passwd`).", "passwd", "/etc/passwd"),
        ("See https://example.org/a?b=1.", "example", "https://example.org/a?b=1"),
        ("Set <CACHE_DIR> first.", "DIR", "CACHE_DIR"),
        ("It sank in 1912/13.", "1912", "1912"),
        ("A well-known ship and/or film", "known ship", "known ship"),
        ("It fell -- by 23 -- quickly", "23", "23"),
        ("Euphoria'", "Euphoria'", "Euphoria"),
        ("'Euphoria'", "'Euphoria'", "'Euphoria'"),
    ],
)
def test_names_of_programs_are_whole_and_half_a_pair_of_quotation_marks_goes(text: str, found: str, whole: str) -> None:
    assert whole_answer("What is it?", text, span(found, text)) == whole


@pytest.mark.parametrize(
    "date",
    [
        *("2023-10-02", "2 October 2023", "2nd Oct 2023", "02-Oct-2023", "October 2, 2023", "Oct. 2 2023"),
        *("October 2nd, 2023", "Oct 2023", "2023"),
    ],
)
def test_a_date_is_told_as_a_whole(date: str) -> None:
    text = f"3.12.0 final: Monday, {date}."
    assert whole_answer("When was 3.12.0 released?", text, span("2023", text)) == date


ROWS = "name: Bell; price: 9 euros; made: 2015-06-01. name: Rain gauge; kind: gauge; price: 78 euros; made: 2020-02-28."


@pytest.mark.parametrize(
    ("question", "text", "found", "inside"),
    [
        ("Where is it?", "Office in Ghent. The office opened in 2018.", "Ghent. The office opened in", "Ghent."),
        ("Who came?", "He met Dr. J. Who. Then he left.", "Dr. J. Who", "Dr. J. Who"),
        ("What price has the rain gauge?", ROWS, "2015-06-01. name: Rain gauge; kind: gauge; price: 78", "78 euros"),
        ("When was the rain gauge made?", ROWS, "price: 78 euros; made: 2020-02-28", "2020-02-28"),
        ("What price has the rain gauge?", ROWS, "78 euros", "78 euros"),
        ("Who sold it?", "It was made by Kim; Lee sold it.", "Kim; Lee", "Kim; Lee"),
        ("Who leads it?", "Present: K. Dahl. It is led by L. Osei; its budget rose.", "L. Osei", "L. Osei"),
    ],
)
def test_an_answer_is_in_one_sentence_or_value(question: str, text: str, found: str, inside: str) -> None:
    part = within_a_sentence(question, text, span(found, text))
    assert (part.text, text[part.start : part.end], part.score) == (inside, inside, 1.0)


@given(st.text(alphabet="aB1 .;:!\n。", max_size=40), st.integers(0, 39), st.integers(1, 20))
def test_the_part_of_a_span_is_in_its_text(text: str, start: int, length: int) -> None:
    found = text[start : start + length]
    if found.strip():
        part = within_a_sentence("Who?", text, Span(found, start, start + len(found), 1.0))
        assert text[part.start : part.end] == part.text
        assert part.text.strip()


@given(
    st.text(alphabet='ab 1(“”)[]".,1920May', max_size=40), st.sampled_from(["When?", "Who?", "What?", "Which year?"])
)
def test_nothing_is_made_up(text: str, question: str) -> None:
    answer = whole_answer(question, text, Span(text, 0, len(text), 0.0))
    assert answer in text or answer in text.replace('"', "")
    assert answer == answer.strip(" .,;:")
