"""Answers that were copied out of passages: where they stand, and what supports them."""

import dspy
import pytest
from probable_engine import ProbableEngine, probable_lm

from polyqa.base.values import Passage
from polyqa.programs.findings import Finding
from polyqa.programs.passages_read import READING, answers_in, shown, supported, trust_in_questions

SHIP = Passage(pid="ship", title="RMS  Titanic", text="She was launched\nin Belfast on 31 May\n1911. In 1912 she sank.")


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("31 May 1911", ["31 May\n1911"]),
        ("1912\n31 May 1911\n1912", ["1912", "31 May\n1911"]),
        ("none", []),
        ("", []),
        ("191", []),  # no word of the passage
        ("Southampton\nBelfast", ["Belfast"]),
        ("(1911", []),
        ("1912\n31 May 1911\nBelfast", ["1912", "31 May\n1911", "Belfast"]),
        ("1912\n31 May 1911\nBelfast\nSouthampton", ["1912", "31 May\n1911", "Belfast"]),  # three stand there
        ("1912\n31 May 1911\nBelfast\nShe", ["1912"]),  # a list of other things
    ],
)
def test_answers_are_those_that_stand_in_the_passage(reply: str, found: list[str]) -> None:
    answers = answers_in(SHIP, reply, "When was Titanic launched?")
    assert [answer for _, answer in answers] == found
    assert all(SHIP.text[start:].startswith(answer) for start, answer in answers)


def test_where_no_space_stands_between_words_an_answer_may_stand_beside_any() -> None:
    passage = Passage(pid="1", text="泰坦尼克号于1912年沉没，导演是Cameron。")
    answers = answers_in(passage, "1912年\nCameron\n191", "泰坦尼克号何时沉没？")
    assert [answer for _, answer in answers] == ["1912年", "Cameron"]


def test_of_several_places_it_is_the_one_that_the_question_is_about() -> None:
    passage = Passage(pid="1", text="It was planned in 1997. The film came out in 1997. A book followed in 1997.")
    ((start, _),) = answers_in(passage, "1997", "When did the film come out?")
    assert start == passage.text.index("1997", 30)


def test_a_passage_is_shown_on_one_line() -> None:
    assert shown(SHIP) == "RMS Titanic | She was launched in Belfast on 31 May 1911. In 1912 she sank."
    assert shown(Passage(pid="1", text="It sank.")) == "It sank."


def test_other_passages_with_the_same_answer_support_it() -> None:
    film, book = Passage(pid="film", text="In April 1953."), Passage(pid="book", text="1953, then 1997 and 1953")
    findings = [
        Finding(film, 3, "April 1953", 1.0, 0.0),
        Finding(book, 0, "1953", 1.0, 0.0),
        Finding(book, 11, "1997", 1.0, 0.0),
        Finding(book, 20, "1953", 1.0, 0.0),
    ]
    assert [one.supporters for one in supported(findings)] == [1, 1, 0, 1]


FALCON = Passage(pid="a", title="Falcon 1", text="Falcon 1 was released in 2016. Ida Berg led it.")
COPIED = {"released": ("in 2016", 0.05), "led": ("Ida Berg", 0.75), "built": ("2016", 0.01)}


def copied(text: str) -> tuple[str, dict[str, float]]:
    """Copy an answer, and be as sure as it is told that there is none."""
    question = text.partition("## passage")[0]
    reply, none = next(reply for word, reply in COPIED.items() if word in question)
    return reply, {reply.split()[0]: 1 - none, "none": none}


def test_trust_is_how_likely_the_passage_answers_and_with_that_answer() -> None:
    judge, steps = ProbableEngine(copied), list[int]()
    lm = probable_lm(judge, reads=True)
    asked = [
        ("When was Falcon 1 released?", "2016", FALCON),
        ("Who led Falcon 1?", "Ida Berg", FALCON),
        ("Who built Falcon 1?", "Ida Berg", FALCON),
    ]
    assert trust_in_questions(asked, lm, step=lambda: steps.append(1)) == pytest.approx([0.95, 0.25, 0.0])
    assert len(steps) == 3
    assert all((one.config.extensions or {})["metadata"] == READING["config"]["metadata"] for one in judge.requests)
    assert "Falcon 1 | Falcon 1 was released in 2016. Ida Berg led it." in (judge.requests[0].messages[-1].text or "")
    assert dspy.settings.lm is not lm
