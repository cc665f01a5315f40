"""Each rule finds its fault, and lets a good question of the same kind pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.values import Passage
from polyqa.questions.quality import fault, mended

ADA = Passage(
    pid="1",
    title="Ada Lind",
    text=(
        "Ada Lind (3 May 1909 – 15 August 2014) was a Norwegian singer. She won the Silver Harp in 1931, which was "
        "melted down by Max Moe in 1944. From 1950 to 1958 she directed the Oslo Choir. The choir was founded in 1920."
    ),
)
FILM = Passage(
    pid="2",
    title="The Long Tide",
    text=(
        "The Long Tide is a 1961 British film based on a 1932 novel. It was directed by Jan Hora and shot between 1959 "
        "and 1960 in Cornwall, England. The actor Rex Pine, who was born in Wales, played the pilot."
    ),
)
HIRE = Passage(
    pid="9",
    title="Hire of bicycles",
    text="The firm that rents bicycles is Velo. The fee is due on the third working day.",
)
COW = Passage(pid="11", title="Farm animals › Cow", text="It weighs 700 kilograms and eats grass.")
MEETING = Passage(pid="10", title="Meetings", text="We travel on Sunday, and home on Friday.")
BO = Passage(
    pid="4",
    title="Bo Lind",
    text="Bo Lind was born in Africa. He was the father of Ole Lind. His mother was Ida Lind.",
)
GAME = Passage(
    pid="3", title="Cup Final", text="In the Cup Final the Rovers won against United. The final took 90 minutes."
)

HISTORY = Passage(pid="5", title="Company history", text="The company was founded in 2006 by Ida Berg.")
MAX = Passage(pid="8", title="Max Moe", text="Max Moe wrote The Long Tide in 1961. Although long, it was read.")


@pytest.mark.parametrize(
    ("question", "answer", "passage", "why"),
    [
        ("When was Ada Lind born?", "3 May 1909", ADA, ""),
        ("When was Ada Lind born?", "15 August 2014", ADA, "asks for a beginning, and the answer is an end"),
        ("When did Ada Lind die?", "15 August 2014", ADA, ""),
        ("When did Ada Lind win the Silver Harp?", "1931", ADA, ""),
        ("What was the name of Ada Lind?", "Norwegian", ADA, "asks for a name only"),
        ("What is the name of the firm that rents bicycles?", "Velo", HIRE, ""),
        ("When is the fee for the hire due?", "on the third working day", HIRE, ""),
        ("What happens if I hire no bicycle?", "Velo", HIRE, ""),
        ("What happens on Friday?", "home", MEETING, "does not say clearly whom or what it is about"),
        ("What happens at meetings on Friday?", "home", MEETING, ""),
        ("What does the animal eat?", "grass", COW, "does not say clearly whom or what it is about"),
        ("What does the animal on the farm eat?", "grass", COW, ""),
        ("What does the cow eat?", "grass", COW, ""),
        ("How many seats does 21rooms have?", "90", GAME, ""),
        ("In what year is the fee for the hire due?", "on the third working day", HIRE, "asks for a time"),
        ("Was Ada Lind a singer?", "singer", ADA, "does not begin as a question does"),
        ("In what country was Bo Lind born?", "Africa", BO, "asks for a country, and the answer is none"),
        ("When was Ada Lund born?", "3 May 1909", ADA, "has a name that its passage lacks: Lund"),
        ("When was Although Ada Lind born?", "3 May 1909", ADA, "has a name that its passage lacks: Although"),
        ("In which year did Max Moe write The Long Tide?", "1961", MAX, ""),
        (
            "When did Although Max Moe write The Long Tide?",
            "1961",
            MAX,
            "has a name that its passage lacks: Although",  # there it begins a sentence
        ),
        ("When was it read in the capital?", "1961", MAX, "does not say clearly whom or what it is about"),
        ("When was the company founded?", "2006", HISTORY, ""),  # a word of the title
        ("In which year did Max Moe write A Long Tide?", "1961", MAX, "has a name that its passage lacks: A"),
        ("Who directed the Oslo Choir from 1950 to 1958?", "she", ADA, ""),
        ("Who was Ada Lind from 1909 to 2014?", "singer", ADA, "has a span of years that its passage does not tell"),
        ("Who was Ada Lind from 1950 to 1950?", "singer", ADA, "has a span of years that its passage does not tell"),
        ("In what country is Ada Lind located?", "Norwegian", ADA, "asks for a country, and the answer is none"),
        ("When was the Silver Harp won?", "Max Moe", ADA, "asks for a time, and the answer is none"),
        ('When was "" Ada Lind born?', "3 May 1909", ADA, "has marks that do not fit together"),
        ("Who directed The Long Tide?", "Jan Hora", FILM, ""),
        ("Who directed the 1961 film The Long Tide?", "Jan Hora", FILM, ""),
        ("Who directed the 1932 film The Long Tide?", "Jan Hora", FILM, "has a year that its passage tells of"),
        ("When was The Long Tide shot?", "1960", FILM, "asks for a beginning, and the answer is an end"),
        ("Who played the pilot in The Long Tide?", "Rex Pine", FILM, ""),
        ("Who founded the company?", "Ida Berg", HISTORY, ""),
        ("Who is the Oslo Choir choir in Oslo?", "Ada Lind", ADA, "does not say clearly whom or what it is about"),
        ("What is the name of the mother of Bo Lind?", "Ida Lind", BO, ""),
        ("When did Bo Lind die?", "six years later, in 1900", BO, "asks for a time, and the answer is none"),
        ("Who directed the 1961 film The Tide's The Long Tide?", "Jan Hora", FILM, "does not say clearly whom"),
        ("Who won the Cup Final Cup Final?", "Rovers", GAME, "does not say clearly whom or what it is about"),
    ],
)  # fmt: skip
def test_rules(question: str, answer: str, passage: Passage, why: str) -> None:
    told = fault(question, answer, passage)
    assert told.startswith(why)
    assert bool(told) == bool(why)


@pytest.mark.parametrize(
    ("question", "better"),
    [
        ("What Was the Long Tide?", "What was the Long Tide?"),
        ("In which Country did it begin?", "In which country did it begin?"),
        ("What Cheer is in Iowa?", "What Cheer is in Iowa?"),
        ("Who's there?", "Who's there?"),
        ("When was Atlas (maps SDK) SDK released?", "When was Atlas (maps SDK) released?"),
    ],
)
def test_slips_are_mended(question: str, better: str) -> None:
    assert mended(question) == better
    assert mended(better) == better


_TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


@given(question=_TEXT, answer=st.text(min_size=1, max_size=20), title=_TEXT, text=st.text(min_size=1, max_size=200))
def test_no_text_is_too_odd(question: str, answer: str, title: str, text: str) -> None:
    passage = Passage(pid="1", title=title, text=text)
    assert isinstance(fault(mended(question), answer, passage), str)
