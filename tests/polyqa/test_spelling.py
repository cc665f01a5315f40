import random
from pathlib import Path

import dspy
import pytest

import polyqa
from polyqa.base.values import Passage
from polyqa.colbert_index import build_index
from polyqa.evaluation.loading import load_questions
from polyqa.reports.result import cautions, read_otherwise
from polyqa.spelling import AsRead, as_read

QUESTIONS = [one.question for one in load_questions("homonyms/dev")]


@pytest.fixture(scope="module")
def program() -> dspy.Module:
    return polyqa.load("rac")


def slip(question: str, draw: random.Random) -> str:
    """Exchange two neighbouring letters within one of the longer words."""
    words = question.split(" ")
    at = draw.choice([at for at, word in enumerate(words) if len(word) >= 6 and word.isalpha()] or [0])
    first = draw.randrange(1, len(words[at]) - 1)
    word = words[at]
    words[at] = word[:first] + word[first + 1 : first + 2] + word[first] + word[first + 2 :]
    return " ".join(words)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("When did Titanik come out?", "When did Titanic come out?"),
        ("who directd titanic?", "Who directed Titanic?"),
        ("Who foundedd Alexandria?", "Who founded Alexandria?"),
        ("How tall is the Eifel Tower?", "How tall is the Eiffel Tower?"),
        ("Who founded Alexandrai?", "Who founded Alexandria?"),
    ],
)
def test_a_letter_more_less_changed_or_exchanged_is_mended(program: dspy.Module, typed: str, read: str) -> None:
    mended = as_read(typed, program)
    assert mended.question == read
    assert len(mended.respelled) == 1


@pytest.mark.parametrize("typed", ["1931-04-14", "April 14, 1931"])
def test_a_date_is_read_as_the_corpus_writes_it(program: dspy.Module, typed: str) -> None:
    mended = as_read(f"Which republic was proclaimed on {typed}?", program)
    assert mended.question == "Which republic was proclaimed on 14 April 1931?"
    assert mended.respelled == {typed: "14 April 1931"}


@pytest.mark.parametrize("typed", ["14 april 1931", "14 APRIL 1931"])
def test_a_month_in_small_letters_or_capitals_is_one(program: dspy.Module, typed: str) -> None:
    mended = as_read(f"Which republic was proclaimed on {typed}?", program)
    assert mended == AsRead("Which republic was proclaimed on 14 April 1931?")
    american = as_read("Which republic was proclaimed on april 14, 1931?", program)
    assert american == AsRead(mended.question, {"April 14, 1931": "14 April 1931"})


@pytest.mark.parametrize("typed", ["14 April 1931", "2031-04-14", "1931-14-04", "1931-04-14-2"])
def test_a_date_that_stands_there_or_nowhere_stays(program: dspy.Module, typed: str) -> None:
    assert as_read(question := f"Which republic was proclaimed on {typed}?", program) == AsRead(question)


def test_a_date_within_another_is_none(tmp_path: Path) -> None:
    texts = ["The fair opened on 16 April 2026.", "Rome was founded.", "It closed in Rome on 1 May 2026."]
    index = build_index([Passage(pid=str(at), text=text) for at, text in enumerate(texts)], tmp_path / "fair")
    program = polyqa.load("rac", index=index)
    assert as_read("What opened on 2026-04-06?", program).respelled == {}
    twice = as_read("What was on 2026-05-01 and on 12026-05-01?", program)
    assert twice.question == "What was on 1 May 2026 and on 12026-05-01?"
    assert as_read("what closed in rome on 2026-05-01", program).question == "What closed in Rome on 1 May 2026?"


def test_most_exchanged_letters_are_mended_and_right_questions_stay(program: dspy.Module) -> None:
    draw = random.Random(5)
    wrong = {slip(question, draw): question for question in QUESTIONS}
    assert sum(as_read(typed, program).question == question for typed, question in wrong.items()) >= 45
    assert [as_read(question, program).question for question in QUESTIONS] == QUESTIONS


@pytest.mark.parametrize(
    "question",
    ["When did Zanzibar join?", "Who is Kim?", "How many in 19122?", "Who founded Pertha2?", "Who may march in 1931?"],
)
def test_what_is_short_far_or_a_number_stays(program: dspy.Module, question: str) -> None:
    assert as_read(question, program).question == question


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("when did titanic come out", "When did Titanic come out?"),
        ("who wrote pride and prejudice", "Who wrote Pride and Prejudice?"),
        ("where is perth", "Where is Perth?"),
        ('who wrote "the scream"', 'Who wrote "The Scream"?'),
        ("did george bush go to iraq", "Did George Bush go to Iraq?"),
        ("When did Titanic come out ?", "When did Titanic come out ?"),
        ("Tell me about Titanic", "Tell me about Titanic"),
        ("titanic release date", "Titanic release date"),
        ("WHEN DID TITANIC COME OUT?", "When did Titanic come out?"),
        ("WHO DIRECTD TITANIC?", "Who directed Titanic?"),
    ],
)
def test_a_question_gets_its_mark_and_its_capitals(program: dspy.Module, typed: str, read: str) -> None:
    assert as_read(typed, program).question == read


def test_without_an_index_nothing_is_mended() -> None:
    assert as_read("Who directd Titanik", polyqa.load("closed-book")).question == "Who directd Titanik?"


def test_the_answer_says_what_was_read(program: dspy.Module) -> None:
    result = polyqa.ask("When did Titanik come out", program=program)
    same = polyqa.ask("When did Titanic come out?", program=program)
    assert (result.question, result.answer) == (same.question, same.answer)
    assert result.to_dict()["respelled"] == {"Titanik": "Titanic"}
    assert cautions(result) == ["“Titanik” stands nowhere in the corpus; read as “Titanic”."]
    assert read_otherwise({"2026-04-06": "6 April 2026"}) == [
        "“2026-04-06” stands in no passage found; read as “6 April 2026”."
    ]
    assert not cautions(same)
