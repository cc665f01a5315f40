"""What readings differ in, in few words."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.reports.readings import COUNTED, opening, sure, titles

RESULTS = Path(__file__).parents[3] / "lab" / "results"

TEXTS = st.text(alphabet=st.sampled_from("abAB19 .,;-–’'()?_İßΣé\n电"), max_size=40) | st.text(max_size=40)


@pytest.mark.parametrize(
    ("question", "readings", "expected"),
    [
        ("Who won?", ["Who won the 1997 race?", "Who won the race in 1998?"], ["1997 race", "1998"]),
        ("Who won?", ["Who won the 1997 race?", "Who won the 1998 cup?"], ["1997 race", "1998 cup"]),
        ("Who directed Solaris?", ["Who directed Solaris (novel)?", "Who directed Solaris (film)?"], ["novel", "film"]),
        (
            "Who is Keller?",
            ["Who is Jonas Keller?", "Who is Eva Keller’s aunt?"],
            ["Jonas Keller", "Eva Keller’s aunt"],
        ),
        ("When was the war?", ["When was World War I?", "When was World War II?"], ["World War I", "World War II"]),
        ("When was it built?", ["When was unit 1 built?", "When was unit 2 built?"], ["unit 1", "unit 2"]),
        ("Near what is it?", ["Near what body of water is it?", "Near what city is it?"], ["body of water", "city"]),
        ("Did A or B sink?", ["Did A sink?", "Did B sink?"], ["A", "B"]),
        ("ใครสร้าง?", ["ใครสร้างวัด?", "ใครสร้างบ้าน?"], ["วัด", "บ้าน"]),
        ("片名？", ["1997年片名？", "1953年片名？"], ["1997年", "1953年"]),
    ],
)
def test_a_title_is_what_the_others_lack(question: str, readings: list[str], expected: list[str]) -> None:
    assert titles(question, readings) == expected


def test_a_reading_that_adds_nothing_or_differs_in_everything_keeps_its_question() -> None:
    plain, other = "Who is Keller?", "Who is Lars Keller?"
    assert titles(plain, [plain, other]) == [plain, "Lars Keller"]
    long = "Which year saw fifty bold sailors finally leave harbour with four ships?"
    assert titles("When?", [long, "When was it made?"])[0] == long
    assert titles(plain, []) == []


@pytest.mark.parametrize(
    ("question", "readings", "sources", "expected"),
    [
        (
            "How long does Terra 2 last?",
            ["How long does Terra 2 last?", "How long does Terra 1 2 last?"],
            ["Terra 2", "Terra 1"],
            ["Terra 2", "Terra 1"],
        ),
        (
            "When did the office open?",
            ["When did the office open?", "When did the office in Porto open?"],
            ["Office in Leuven", "Office in Porto"],
            ["Leuven", "Porto"],
        ),
        ("Who sings?", ["Who sings?", "Who sings alto?"], ["News › The choir", ""], ["choir", "alto"]),
        ("Who made Terra?", ["Who made Terra?", "Who made Terra 1?"], ["Terra 3", "Terra 1"], ["Terra 3", "Terra 1"]),
        ("Who sings?", ["Who sings?", "Who sings alto?"], ["Alto", "alto"], ["Alto", "alto"]),
        ("Who sings?", ["Who sings?", "Who sings alto?"], ["alto", "x"], ["Who sings?", "alto"]),
        ("Who sings?", ["Who sings?", "Who sings it?"], ["Choir", "Choir"], ["Choir", "Who sings it?"]),
        ("Who sings?", ["Who sings?", "Who sings alto?"], ["Who sings alto?", ""], ["Who sings?", "alto"]),
    ],
)
def test_a_reading_that_adds_nothing_is_titled_by_its_passage(
    question: str, readings: list[str], sources: list[str], expected: list[str]
) -> None:
    assert titles(question, readings, sources) == expected


@given(TEXTS, st.lists(TEXTS, max_size=5, unique=True))
def test_titles_tell_readings_apart(question: str, readings: list[str]) -> None:
    titled = titles(question, readings)
    assert len(set(titled)) == len(readings)
    assert len(set(titles(question, readings, [question, *readings]))) == len(readings)
    for title, reading in zip(titled, readings, strict=True):
        assert all(part in reading for part in title.split(", ")) or title == reading
    assert bool(opening(question, readings)) or len(readings) < 2


def test_the_opening_does_not_say_what_is_ambiguous() -> None:
    # One Pauling, one prize, two days: “Linus Pauling” does not mean two things, though words were added beside it.
    readings = ["When was Linus Pauling announced as winner?", "When was Linus Pauling handed the prize?"]
    assert opening("When was Linus Pauling given the prize?", readings) == "This can mean two things."


def test_one_reading_is_named_where_it_says_more() -> None:
    assert opening("Who leads?", ["Who leads the team?"]) == "Read as “Who leads the team?”"
    assert opening("Who leads?", ["who leads"]) == opening("Who leads?", []) == ""
    assert opening("Who?", [f"Who is {n}?" for n in range(13)]) == "This can mean 13 things."


def test_what_a_confidence_was_worth_is_what_was_counted() -> None:
    measured = json.loads((RESULTS / "confidence.json").read_text(encoding="utf-8"))
    rows = [(str(many), f"{said:.0%}", f"{right:.0%}") for many, said, right in COUNTED]
    assert [tuple(row) for row in measured["tables"][""]["rows"]] == rows


@given(st.floats(0, 1))
def test_words_of_certainty_are_close_to_the_number(share: float) -> None:
    said = sure(share)
    if said in ("hardly ever right", "nearly always right"):
        assert share < 0.05 if said.startswith("hardly") else share >= 0.95
    elif "half" in said:
        assert abs(share - 0.5) <= 0.09
    else:
        times, of = said.removeprefix("right about ").replace(" times", "").replace(" time", "").split(" in ")
        assert abs(int(times) / int(of) - share) <= 0.09
