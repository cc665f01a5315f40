"""Strict exact match and what stands beside it, with values worked out by hand."""

from math import isnan

import pytest

from polyqa.base.values import Interpretation, Otherwise, Sources
from polyqa.metrics.conflicting_evidence import conflicts_shown, noise_cited
from polyqa.metrics.gold import Document
from polyqa.metrics.strict_exact_match import strict_exact_match, wrong_answers_told

TWO = [["1902", "in 1902"], ["Elia Kazan"]]


@pytest.mark.parametrize(
    ("told", "answers", "wrong", "expected"),
    [
        (["1902", "Elia Kazan"], TWO, [], 1.0),
        (["The year 1902.", "elia  KAZAN!"], TWO, ["1885"], 1.0),  # case, marks, articles and blanks do not count
        (["1902"], TWO, [], 0.0),  # one is missing
        (["1902", "Elia Kazan", "1885"], TWO, ["1885"], 0.0),  # a wrong one is told
        (["1902", "Elia Kazan", "Rome"], TWO, ["1885"], 1.0),  # an answer that is neither does not count
        (["1902 or Elia Kazan"], TWO, ["1885"], 1.0),  # a text that holds all
        (["19021", "Elia Kazan"], TWO, [], 0.0),  # whole words
        (["3,559"], [["3,559 people"]], [], 0.0),  # the right answer has to stand there whole
        (["3559 people"], [["3,559 people"]], ["10,000 people"], 1.0),
        (["play", "film"], [["Play"], ["Film"]], ["Play"], 1.0),  # a wrong answer that is a right one, too
        (["hip hop music"], [["Hip hop music"]], ["Hip hop"], 1.0),  # it stands only in a longer right one
        (["hip hop music", "hip hop"], [["Hip hop music"]], ["Hip hop"], 0.0),
        ([], TWO, [], 0.0),
        ([""], [["The"]], [], 0.0),  # normalises to nothing
    ],
)
def test_all_right_answers_and_no_wrong_one(
    told: list[str], answers: list[list[str]], wrong: list[str], expected: float
) -> None:
    assert strict_exact_match(told, answers, wrong) == expected


def test_wrong_answers_are_told_one_by_one() -> None:
    assert wrong_answers_told(["1885 or 1890"], TWO, ["1885", "1890", "1895"]) == ["1885", "1890"]


DOCUMENTS = (Document("a", "correct", "1902"), Document("b", "misinfo", "1885"), Document("c", "noise"))


@pytest.mark.parametrize(
    ("cited", "expected"), [(["a"], 0.0), (["a", "b"], 0.0), (["a", "c", "c"], 0.5), (["c", "elsewhere"], 1.0)]
)
def test_noise_is_what_gives_no_answer(cited: list[str], expected: float) -> None:
    assert noise_cited(cited, DOCUMENTS) == expected


def test_where_nothing_is_cited_no_noise_is() -> None:
    assert isnan(noise_cited([], DOCUMENTS))


@pytest.mark.parametrize(
    ("answer", "otherwise", "expected"),
    [
        ("1902", ["1885"], 0.5),
        ("1885", ["1902"], 0.5),  # the wrong one may have more sources
        ("1902", ["1885", "1890"], 1.0),
        ("1902", ["1777"], 0.0),
        ("1885", ["1890"], 0.0),  # two wrong ones
        ("1902", [], 0.0),
    ],
)
def test_conflicts_between_right_and_wrong(answer: str, otherwise: list[str], expected: float) -> None:
    reading = Interpretation(question="When?", answer=answer, pid="a")
    sources = Sources(pids=("a",), otherwise=tuple(Otherwise(answer=one, pids=("b",)) for one in otherwise))
    assert conflicts_shown([reading], [sources], [["1902"]], ["1885", "1890"]) == expected
    assert isnan(conflicts_shown([reading], [sources], [["1902"]], ["1902"]))
