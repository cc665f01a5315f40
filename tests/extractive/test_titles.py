import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.extractive.prompt import PromptPassage
from polyqa.extractive.titles import about_another, are_namesakes, settle

WORDS = st.lists(
    st.sampled_from(["when", "did", "the", "film", "titanic", "come", "out", "who", "won", "cup", "in", "1998"]),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize(
    ("question", "title", "expected"),
    [
        ("When did Titanic come out?", "Titanic (1953 film)", "When did the 1953 film Titanic come out?"),
        ("when did titanic come out", "Titanic (1953 film)", "when did the 1953 film titanic come out?"),
        ("When did the film Titanic come out?", "Titanic (1953 film)", "When did the 1953 film Titanic come out?"),
        ("When did the Titanic sink?", "Titanic (ship)", "When did the Titanic (ship) sink?"),
        ("When did Titanic's crew die?", "Titanic (1953 film)", "When did Titanic's (1953 film) crew die?"),
        ("When was Mercury discovered?", "Mercury (the planet)", "When was the planet Mercury discovered?"),
        ("When was Mercury discovered?", "Mercury (NASA)", "When was Mercury (NASA) discovered?"),
        ("Who plays Hamlet?", "Hamlet (1996)", "Who plays Hamlet (1996)?"),
        ("Who sang the wind of change?", "Wind of Change (song)", "Who sang the wind of change (song)?"),
        ("Who is the capital of Georgia?", "Georgia (state)", "Who is the capital of the state Georgia?"),
        ("When did Batman come out?", "Batman Returns", "When did Batman Returns come out?"),
        ("When did Pope John Paul die?", "Pope John Paul I", "When did Pope John Paul I die?"),
        ("Who owns the Ritz?", "The Ritz Hotel", "Who owns The Ritz Hotel?"),
        ("Who won season 7 of Idol?", "Idol (U.S. season 7)", "Who won season 7 of Idol (U.S. season 7)?"),
        ("When did Batman's wife die?", "Batman Forever", "When did Batman Forever's wife die?"),
        (
            "What song did she win Eurovision with?",
            "Eurovision Song Contest 2012",
            "What song did she win Eurovision Song Contest 2012 with?",
        ),
        ("Who won the Masters?", "Masters Tournament", "Who won the Masters Tournament?"),
        (
            "Who won the hockey at the Lake Placid Olympics?",
            "1932 Winter Olympics",
            None,
        ),
        ("Where was the meeting held?", "News › The spring meeting", "Where was the spring meeting held?"),
        ("When was Falcon released?", "Falcon handbook › Falcon 2", "When was Falcon 2 released?"),
        (
            "How long does the battery of Falcon last?",
            "Falcon 2 › Battery",
            "How long does the battery of Falcon 2 last?",
        ),
        (
            "How many people live in Springfield?",
            "Springfield, Illinois",
            "How many people live in Springfield, Illinois?",
        ),
        ("When did Titanic come out?", "Mercury (planet)", None),
        ("When did Titanic come out?", "Titanic", None),
        ("When did the 1953 film Titanic come out?", "Titanic (1953 film)", None),
        ("When did it come out?", "It (film)", None),
        ("When did the film come out?", "(film)", None),
        ("", "Titanic", None),
        ("What does the Terra cost?", "Terra 2 (data sheet)", "What does the Terra 2 (data sheet) cost?"),
        ("When did Ann Lee die?", "Obituary: Ann Lee", None),
        ("When did the English Civil War end?", "Irish Civil War", None),
        ("Who got the Nobel Peace Prize?", "Nobel Prize in Chemistry", None),
        ("When did Titanic come out?", "", None),
        ("How long does the battery of Falcon 2 last?", "Falcon 1", None),
        ("Who won the 2008 Cup?", "2012 Cup", None),
        ("When did the Old Mill reopen?", "Press release: renovation of the Old Mill", None),
        ("What is the Old Mill's address?", "Press release: renovation of the Old Mill", None),
    ],
)
def test_settle(question: str, title: str, expected: str | None) -> None:
    assert settle(question, title) == expected


@pytest.mark.parametrize(
    ("question", "title", "text", "expected"),
    [
        ("What does Falcon 2 cost?", "Falcon 1", "It costs 9 euros.", True),
        ("What does Falcon 2 cost?", "Falcon 1", "Falcon 2, which follows it, costs 9 euros.", False),
        ("What does Falcon 2 cost?", "Falcon 2", "It costs 9 euros.", False),
        ("What does Falcon 2 cost?", "Falcon", "It costs 9 euros.", False),
        ("What did Falcon cost in 2019?", "Falcon 1", "It costs 9 euros.", False),
        ("Who won the 100 metres at the Summer Games?", "2012 Summer Games", "Lee won.", False),
        ("Who won the 2008 Summer Games?", "2012 Summer Games", "Lee won.", True),
        ("Who won the Summer Games 100 metres?", "2012 Summer Games", "Lee won.", False),
    ],
)
def test_a_passage_about_another_of_a_series(question: str, title: str, text: str, expected: bool) -> None:
    assert about_another(question, PromptPassage(1, title, text)) is expected


@pytest.mark.parametrize(
    ("question", "one", "other", "expected"),
    [
        ("When did the office open?", "Office in Leuven", "Office in Porto", True),
        ("When did Ann Reyes join?", "Ann Reyes (finance) › Ann Reyes, clerk", "Ann Reyes, head", True),
        ("When did the office in Porto open?", "Office in Leuven", "Office in Porto", False),
        ("When did Titanic sink?", "Titanic", "Titanic (film)", False),
        ("When did Titanic sink?", "Titanic (film)", "Titanic (film)", False),
        ("When did Titanic's crew sing?", "Titanic (film)", "Crew (song)", False),
        ("Who booked the Blue Room?", "Old Wing › Blue Room", "Old Wing › Blue Room", False),
        ("What does lunch cost?", "Oslo site › Canteen", "Rome site › Canteen", True),
        ("What does lunch cost at the Oslo site?", "Oslo site › Canteen", "Rome site › Canteen", False),
        ("When did Titanic sink?", "Titanic › Cast", "Titanic › Music", False),
        ("", "", "", False),
    ],
)
def test_namesakes_are_named_by_the_same_words(question: str, one: str, other: str, expected: bool) -> None:
    assert are_namesakes(question, one, other) is are_namesakes(question, other, one) is expected


def bare_words(text: str) -> Counter[str]:
    return Counter(re.sub(r"\W", "", word).lower().rstrip("s") for word in text.split())


def check_settled(question: str, title: str) -> None:
    """The question's words stay, and nothing but the title's words and an article is added, once."""
    settled = settle(question, title)
    if settled is None:
        return
    assert settled != question
    assert settled.endswith("?")
    before, after = bare_words(question), bare_words(settled)
    assert before.keys() <= after.keys()
    assert after <= before + bare_words(title) + Counter(["the"])


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Who hosts Jeopardy!?", "Jeopardy! (game show)"),
        ("Who sang Oklahoma in 1943?", "Oklahoma! (musical)"),
        ("Who leads the U.S. now?", "U.S. (band)"),
        ("Who is in AC/DC today?", "AC/DC (band)"),
        ("When did Titanic/Avatar come out?", "Titanic (film)"),
        ("Titanic/Avatar?", "Titanic (film)"),
    ],
)
def test_punctuation_in_a_name_does_not_garble_the_question(question: str, title: str) -> None:
    check_settled(question, title)


NAMES = ["Titanic", "The Film", "Cup", "Out", "Come Out", "Titanic!", "Film/Cup", "Titanic.", "Titanic, France"]
QUALIFIERS = ["film", "1998", "the song", "NASA", "in France"]
TITLES = st.builds("{} ({})".format, st.sampled_from(NAMES), st.sampled_from(QUALIFIERS)) | st.text(max_size=20)


@given(WORDS, TITLES)
def test_settling_keeps_the_words_of_the_question(question: list[str], title: str) -> None:
    check_settled(" ".join(question) + "?", title)
