import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.values import Interpretation, Passage
from polyqa.programs.citation import cite, with_marks

PASSAGES = [
    Passage(pid="film-1953", title="Titanic (1953 film)", text="It came out on April 16, 1953."),
    Passage(pid="film-1997", title="Titanic (1997 film)", text="It opened in 1997 and won 11 Oscars."),
    Passage(pid="ship", title="RMS Titanic", text="The ship sank in 1912. The 1997 film tells of it."),
]


def cited(answer: str, pid: str | None) -> str | None:
    reading = Interpretation(question="When did Titanic come out?", answer=answer, pid=pid)
    (result,) = cite([reading], PASSAGES)
    assert (result.question, result.answer) == (reading.question, answer)
    return result.pid


@pytest.mark.parametrize("pid", ["1", "[1]", "passage 1", " 1 ", "01"])
def test_the_right_number_becomes_the_id(pid: str) -> None:
    assert cited("1953", pid) == "film-1953"


def test_a_number_that_holds_is_kept_before_an_earlier_passage_that_holds_too() -> None:
    assert cited("1997", "3") == "ship"
    assert cited("1997", "2") == "film-1997"


def test_a_wrong_number_becomes_the_first_passage_with_the_answer() -> None:
    assert cited("1997", "1") == "film-1997"


@pytest.mark.parametrize("pid", [None, "", "none", "the ship"])
def test_without_a_number_the_first_passage_with_the_answer_is_cited(pid: str | None) -> None:
    assert cited("1912", pid) == "ship"


@pytest.mark.parametrize("pid", ["0", "4", "99", "1953"])
def test_a_number_out_of_range_counts_as_none(pid: str) -> None:
    assert cited("1953", pid) == "film-1953"
    assert cited("in the spring", pid) is None


def test_an_answer_in_other_words_keeps_the_named_passage() -> None:
    assert cited("the spring of that year", "2") == "film-1997"


@pytest.mark.parametrize("pid", [None, "", "unknown", "7"])
def test_an_answer_in_no_passage_and_no_number_is_not_cited(pid: str | None) -> None:
    assert cited("2012", pid) is None


@pytest.mark.parametrize(
    ("answer", "pid", "held_by"),
    [
        ("1912; 1997", None, "ship"),
        ("1912; 1997", "2", "ship"),
        ("1912; 2012", None, "ship"),
        ("1953; 1912", None, "film-1953"),
        ("1953; 1912", "3", "ship"),
        ("2012; 2013", "1", "film-1953"),
        ("2012; 2013", None, None),
    ],
)
def test_several_answers_cite_a_passage_with_all_of_them_or_else_with_one(
    answer: str, pid: str | None, held_by: str | None
) -> None:
    assert cited(answer, pid) == held_by


def test_each_of_several_answers_marks_its_own_sentence() -> None:
    reading = Interpretation(question="When did Titanic win?", answer="1997; 11 Oscars", pid="film-1997")
    told = "It opened in 1997. It took home 11 Oscars. It has 11 songs."
    marked = "It opened in 1997 [2]. It took home 11 Oscars [2]. It has 11 songs."
    assert with_marks(told, [reading], PASSAGES) == marked


def test_case_punctuation_and_white_space_do_not_matter() -> None:
    assert cited("april 16 1953", None) == "film-1953"
    assert cited("APRIL  16,\n1953.", None) == "film-1953"


def test_an_answer_is_matched_by_whole_words() -> None:
    assert cited("195", None) is None
    assert cited("Oscar", None) is None


def test_an_answer_may_stand_in_the_title() -> None:
    assert cited("RMS Titanic", None) == "ship"


@pytest.mark.parametrize("answer", ["", "?!"])
def test_an_empty_answer_stands_nowhere(answer: str) -> None:
    assert cited(answer, None) is None
    assert cited(answer, "2") == "film-1997"


def test_no_passages_no_citations() -> None:
    readings = [Interpretation(question="When?", answer="1953", pid="1")]
    assert [reading.pid for reading in cite(readings, [])] == [None]
    assert cite([], PASSAGES) == []


def test_the_order_of_the_interpretations_is_kept_and_the_given_ones_are_not_changed() -> None:
    readings = [Interpretation(question="When?", answer=year) for year in ("1997", "1912", "1953")]
    assert [reading.pid for reading in cite(readings, PASSAGES)] == ["film-1997", "ship", "film-1953"]
    assert all(reading.pid is None for reading in readings)


@given(st.text(max_size=20), st.none() | st.text(max_size=12))
def test_a_citation_is_always_one_of_the_passages_or_none(answer: str, pid: str | None) -> None:
    assert cited(answer, pid) in {None, *(passage.pid for passage in PASSAGES)}


READINGS = [
    Interpretation(question="When did the 1953 film come out?", answer="April 16, 1953", pid="film-1953"),
    Interpretation(question="When did the 1997 film come out?", answer="1997", pid="film-1997"),
    Interpretation(question="When was the film about the ship made?", answer="1997", pid="ship"),
    Interpretation(question="When was it made?", answer="1912", pid=None),
]


@pytest.mark.parametrize(
    ("answer", "marked"),
    [
        ("It came out on April 16, 1953.", "It came out on April 16, 1953 [1]."),
        ('He said "in 1997." It won.', 'He said "in 1997 [2]." It won.'),
        ("It opened in 1997 and won 11 Oscars.", "It opened in 1997 and won 11 Oscars [2]."),
        ("The 1997 film tells of the ship", "The 1997 film tells of the ship [3]"),
        ("On April 16, 1953 and in 1997 it opened!\n\nWhy?", "On April 16, 1953 and in 1997 it opened [1][2]!\n\nWhy?"),
        ("It opened in 1997 [9].", "It opened in 1997 [9]."),
        ("It sank in 1912.", "It sank in 1912."),
        ("", ""),
    ],
)
def test_sentences_name_their_sources(answer: str, marked: str) -> None:
    assert with_marks(answer, READINGS, PASSAGES) == marked


@pytest.mark.parametrize(
    ("answer", "marked"),
    [
        ("The 1997 film tells of the RMS Titanic.", "The 1997 film tells of the RMS Titanic [3]."),
        ("RMS Titanic’s ship sank in 1912.", "RMS Titanic’s ship sank in 1912 [3]."),
        ("The 1997 film won 11 Oscars.", "The 1997 film won 11 Oscars [2]."),
        ("The ship won 11 Oscars in 1953.", "The ship won 11 Oscars in 1953."),
        ("It sank.", "It sank."),
    ],
)
def test_a_sentence_without_a_reading_names_the_passage_that_says_all_of_it(answer: str, marked: str) -> None:
    assert with_marks(answer, [], PASSAGES) == marked


@given(st.text(alphabet='ab1997. \n"?!', max_size=60))
def test_marks_change_nothing_else(answer: str) -> None:
    marked = with_marks(answer, READINGS, PASSAGES)
    assert re.sub(r" (?:\[\d\])+", "", marked) == answer
