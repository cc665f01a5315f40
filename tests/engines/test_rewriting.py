import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.engines.extractive.rewriting import (
    Insertion,
    apply,
    common_words,
    insertions,
    is_general,
    settle,
)

VOCABULARY = ["when", "did", "the", "film", "titanic", "come", "out", "who", "won", "cup", "in", "1998"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8)
DISTINCT_WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8, unique=True)


@pytest.mark.parametrize(
    ("question", "rewritten", "expected"),
    [
        ("Who won the cup?", "Who won the cup?", []),
        ("Who won the cup?", "who won the CUP", []),
        ("When did it open?", "When did it open in cinemas?", [Insertion("in cinemas", "open", "")]),
        (
            "When did Titanic come out?",
            "When did the 1953 film Titanic come out?",
            [Insertion("the 1953 film", "did", "titanic")],
        ),
        ("Who won the cup?", "In 1998, who won the cup?", [Insertion("In 1998,", "", "who")]),
        ("Who won the cup?", "Who lost the cup?", [Insertion("lost", "who", "the")]),
        (
            "Who won the cup?",
            "Who first won the cup in France?",
            [Insertion("first", "who", "won"), Insertion("in France", "cup", "")],
        ),
        ("Who won the football cup?", "Who won the cup?", []),
    ],
)
def test_insertions(question: str, rewritten: str, expected: list[Insertion]) -> None:
    assert insertions(question, rewritten) == expected


@given(DISTINCT_WORDS, WORDS, st.data())
def test_added_words_are_found_as_they_are_written(question: list[str], added: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(question)))
    shown = [word.upper() + "X" for word in added]
    rewritten = " ".join([*question[:at], *shown, *question[at:]])
    (found,) = insertions(" ".join(question) + "?", rewritten + "?")
    assert found == Insertion(
        " ".join(shown), question[at - 1] if at else "", question[at] if at < len(question) else ""
    )


@pytest.mark.parametrize(
    ("question", "insertion", "expected"),
    [
        # before the same content word
        ("Who won the final cup?", Insertion("first", "", "final"), "Who won the first final cup?"),
        ("Who opened the final?", Insertion("grand", "opened", "final"), "Who opened the grand final?"),
        # else behind the same word
        ("When did it open in Paris?", Insertion("first", "open", "in"), "When did it open first in Paris?"),
        ("When did it open in Paris?", Insertion("first", "open", "and"), "When did it open first in Paris?"),
        ("Where is the song from?", Insertion("1998", "the", "film"), "Where is the 1998 song from?"),
        # at the end, where it stood in the demo
        ("When did the band play?", Insertion("in cinemas", "open", ""), "When did the band play in cinemas?"),
        ("When did it open in Paris?", Insertion("first", "open", ""), "When did it open in Paris first?"),
        ("Who won the CUP ?", Insertion("in France", "cup", ""), "Who won the CUP in France?"),
        # at the end, as the question has neither neighbour
        ("Who won", Insertion("in France", "cup", "again"), "Who won in France?"),
        ("Who won the cup?", Insertion("once", "", "the"), "Who won the cup once?"),
    ],
)
def test_apply(question: str, insertion: Insertion, expected: str) -> None:
    assert apply(question, insertion) == expected


@given(WORDS, WORDS, st.sampled_from(["", "the", "film", "cup", "missing"]), st.sampled_from(["", "out", "won"]))
def test_apply_adds_the_words_and_keeps_the_others(
    question: list[str], added: list[str], before: str, after: str
) -> None:
    text = " ".join(question) + "?"
    applied = apply(text, Insertion(" ".join(added), before, after))
    assert applied.endswith("?")
    result = applied.rstrip("?").split()
    size = len(added)
    places = [at for at in range(len(result) - size + 1) if result[at : at + size] == added]
    assert any(result[:at] + result[at + size :] == question for at in places)


@pytest.mark.parametrize(
    ("demo", "rewritten"),
    [
        ("When did it open?", "When did it open in cinemas?"),
        ("Who scored?", "Who first scored?"),
        ("Who won the cup?", "Who won the women's cup?"),
    ],
)
def test_a_demo_can_be_applied_to_its_own_question(demo: str, rewritten: str) -> None:
    (insertion,) = insertions(demo, rewritten)
    assert apply(demo, insertion) == rewritten


@pytest.mark.parametrize(
    ("added", "question", "general"),
    [
        ("in cinemas", "When did it open?", True),
        ("first", "Who scored?", True),
        ("in the men's tournament", "Who won?", True),
        ("in France", "Who won?", False),
        ("the 1933 film", "When did it open?", False),
        ("that I like", "Who won?", True),
        ("in the tournament of men", "Who won?", False),
        ("", "Who won?", False),
        ("of the", "Who won?", False),
        ("the film", "When did the film open?", False),
    ],
)
def test_is_general(added: str, question: str, general: bool) -> None:
    assert is_general(added, question) is general


@pytest.mark.parametrize(
    ("question", "title", "expected"),
    [
        ("When did Titanic sink?", "RMS Titanic", ["titanic"]),
        ("When did Titanic's crew sink?", "Titanic", ["titanic"]),
        ("Who sang the songs of summer?", "Summer Song", ["summer", "song"]),
        ("Who won?", "Titanic", []),
        ("Who is it?", "Who Is It", []),
    ],
)
def test_common_words(question: str, title: str, expected: list[str]) -> None:
    assert common_words(question, title) == expected


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
        ("When did Batman's wife die?", "Batman Forever", "When did Batman Forever's wife die?"),
        ("Who won the Masters?", "Masters Tournament", "Who won the Masters Tournament?"),
        (
            "How many people live in Springfield?",
            "Springfield, Illinois",
            "How many people live in Springfield, Illinois?",
        ),
    ],
)
def test_settle(question: str, title: str, expected: str) -> None:
    assert settle(question, title) == expected


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("When did Titanic come out?", "Mercury (planet)"),
        ("When did Titanic come out?", "Titanic"),
        ("When did the 1953 film Titanic come out?", "Titanic (1953 film)"),
        ("When did it come out?", "It (film)"),
        ("When did the film come out?", "(film)"),
        ("", "Titanic"),
        ("When did Titanic come out?", ""),
    ],
)
def test_nothing_to_settle(question: str, title: str) -> None:
    assert settle(question, title) is None


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
