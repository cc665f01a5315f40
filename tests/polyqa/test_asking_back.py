"""A question back: what its choices are called, which reading a reply chooses, what answers it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.asking_back import Clarification, answer_of, choice_of, clarification
from polyqa.base.values import Interpretation, Passage


def made(question: str, *readings: tuple[str, str, str]) -> tuple[Clarification | None, list[Interpretation]]:
    """Return the question back about readings: the title that each cites, its question, its answer."""
    passages = [Passage(pid=str(at), title=title, text="") for at, (title, _, _) in enumerate(readings)]
    found = [Interpretation(question=asked, answer=a, pid=str(at)) for at, (_, asked, a) in enumerate(readings)]
    return clarification(question, found, passages), found


TITANIC = (
    ("Titanic (1997 film)", "When did the 1997 film Titanic come out?", "1 November 1997"),
    ("Titanic (musical)", "When did the musical Titanic come out?", "23 April 1997"),
    ("RMS Titanic", "When did the ship come out?", "31 May 1911"),
)
JAGUAR = (
    ("SEPECAT Jaguar", "When was the Jaguar jet retired in France?", "2005"),
    ("SEPECAT Jaguar", "When was the Jaguar jet retired in Britain?", "2007"),
)


GLOBEX = ("Contract (Globex) › Termination", "What is the notice period (Globex)?", "three months")


@pytest.mark.parametrize(
    ("question", "readings", "back"),
    [
        # what titles say beside the name
        ("When did Titanic come out?", TITANIC, "Which Titanic: the 1997 film, the musical or RMS Titanic?"),
        # documents of one title are called what tells them apart
        (
            "What is the notice period?",
            (("Contract (Acme) › Termination", "What is the notice period?", "six weeks"), GLOBEX),
            "Which Contract: Acme or Globex?",
        ),
        # sections of one document
        (
            "When was Mercury founded?",
            (
                ("notes › Mercury (automobile)", "When was the car brand Mercury founded?", "1938"),
                ("notes › Mercury Records", "When was Mercury Records founded?", "1945"),
            ),
            "Which Mercury: the automobile or Mercury Records?",
        ),
        # one of them lies in no folder
        (
            "What is the notice period?",
            (("Contract › Termination", "What is the notice period?", "six weeks"), GLOBEX),
            "What do you mean: Contract › Termination or Contract (Globex) › Termination?",
        ),
        # what titles do not tell apart is quoted
        (
            "When was the Jaguar jet retired?",
            JAGUAR,
            "What do you mean: “When was the Jaguar jet retired in France” or "
            "“When was the Jaguar jet retired in Britain”?",
        ),
        # and so is what gives its answer away
        (
            "Who was prime minister?",
            (
                ("Indira Gandhi", "Who was prime minister of India?", "Indira Gandhi"),
                ("Golda Meir", "Who was prime minister of Israel?", "Golda Meir"),
            ),
            "What do you mean: “Who was prime minister of India” or “Who was prime minister of Israel”?",
        ),
    ],
)
def test_choices_are_called_what_tells_them_apart(question: str, readings: Any, back: str) -> None:
    asked, _ = made(question, *readings)
    assert asked.question == back


@pytest.mark.parametrize(
    "readings",
    [(), TITANIC[:1], (TITANIC[0], ("Titanic (again)", "And again?", "1 November 1997"))],
)
def test_one_answer_is_nothing_to_choose_from(readings: tuple[tuple[str, str, str], ...]) -> None:
    assert made("When did Titanic come out?", *readings)[0] is None


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("2", 1),
        (" 2. ", 1),
        ("the second one", 1),
        ("2 please", 1),
        ("2, please.", 1),
        ("the 2nd one, please", 1),
        ("The musical, please", 1),
        ("the ship", 2),
        ("RMS", 2),
        ("1997 film", 0),
        ("4", None),
        ("0", None),
        ("-1", None),
        ("all of them", None),
        ("not the 1997 film", None),
        ("anything but the musical", None),
        ("other than RMS", None),
        ("it isn’t the ship", None),
        ("Who directed the 1997 film?", None),
        ("What is the capital of Mongolia?", None),
        ("", None),
    ],
)
def test_a_reply_chooses_by_number_or_by_words_of_one_choice(reply: str, place: int | None) -> None:
    asked, readings = made("When did Titanic come out?", *TITANIC)
    assert choice_of(reply, asked, readings) == place


def test_a_choice_in_its_own_words_is_that_choice() -> None:
    """Though all its words stand in another one."""
    asked, readings = made(
        "When did Footloose come out?",
        ("Footloose (film)", "When did Footloose come out as a film?", "1984"),
        ("Footloose (2011 film)", "When did the 2011 film Footloose come out?", "2011"),
        ("Footloose (musical)", "When did the musical Footloose come out?", "1998"),
    )
    for at, choice in enumerate(asked.choices):
        assert choice_of(choice.upper(), asked, readings) == choice_of(choice, asked) == at


def test_a_choice_that_is_a_number_is_meant_by_it() -> None:
    asked = Clarification("Which Terra", ("2", "1"), (0, 1))
    assert [choice_of(reply, asked) for reply in ("2", "1", "no. 1")] == [0, 1, 0]


@pytest.mark.parametrize(("reply", "place"), [("13", 1), ("the 13 one", 1), ("11?", 0), ("2", 1), ("12", None)])
def test_a_figure_that_is_no_number_of_a_choice_is_a_word_of_it(reply: str, place: int | None) -> None:
    asked = Clarification("Which Apollo", ("Apollo 11", "Apollo 13"), (0, 1))
    assert choice_of(reply, asked) == place


def test_figures_that_differ_in_a_point_are_two_choices() -> None:
    asked, _ = made("How long is it?", ("Old Bridge", "The old?", "1.5 km"), ("New Bridge", "The new?", "15 km"))
    assert asked.choices == ("Old Bridge", "New Bridge")


def test_an_ordinal_within_a_choice_is_no_number() -> None:
    asked, readings = made(
        "When was the Second Republic proclaimed?",
        ("Spanish Second Republic", "Spain?", "1931"),
        ("French Second Republic", "France?", "1848"),
    )
    assert choice_of("Spanish Second Republic", asked, readings) == 0


def test_a_chat_finds_the_choices_in_the_message_itself() -> None:
    asked, _ = made("When did Titanic come out?", *TITANIC)
    assert asked.numbered == "Which Titanic?\n\n1. the 1997 film\n2. the musical\n3. RMS Titanic"
    read = Clarification.read(asked.numbered)
    assert (read.choices, read.numbered) == (asked.choices, asked.numbered)
    assert Clarification.read(f"{asked.numbered}\n\n“Titanc” was read as “Titanic”.") == read
    assert Clarification.read(asked.numbered.replace("\n", "\r\n")) == read


def test_a_list_of_one_is_no_question_back() -> None:
    assert Clarification.read("Which is the capital?\n\n1. Paris") is None


@given(st.text())
def test_other_messages_are_no_question_back(text: str) -> None:
    read = Clarification.read(text)
    assert read is None or len(read.choices) > 1


def test_the_sentences_that_tell_one_reading_alone_answer_it() -> None:
    passages = [Passage(pid="2", title="RMS Titanic", text="She was large. She was launched on 31 May 1911. She sank.")]
    film, _, ship = made("", *TITANIC)[1]
    both = "The film came out on 1 November 1997. The musical came out on 23 April 1997. It depends."
    assert answer_of(film, [ship], passages, both) == "The film came out on 1 November 1997."
    assert answer_of(ship, [film], passages, both) == "She was launched on 31 May 1911."
    assert answer_of(ship, [film], [], both) == "When did the ship come out? 31 May 1911"


def test_the_number_of_a_source_answers_nothing() -> None:
    mars = Interpretation(question="How many moons has Mars?", answer="2")
    uranus = Interpretation(question="How many moons has Uranus?", answer="27")
    assert answer_of(mars, [uranus], [], "Uranus was found in 1781 [2]. Mars has 2 [3].") == "Mars has 2 [3]."
