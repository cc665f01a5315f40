"""How sure a reading is: what the reader makes of its passage, on the fitted curve."""

from math import inf

import pytest

from lab.confidence import Confidence, is_right
from lab.results import HOME
from polyqa.base.values import Interpretation, Passage
from polyqa.metrics.gold import Question, Reading
from polyqa.models import Reader
from polyqa.web.confidence import OFFSET, SLOPE, confidence, margins

FILM = Passage(pid="film", title="Solaris (1972 film)", text="Solaris is a film that came out on 20 March 1972.")


def reading(question: str, answer: str, pid: str | None = "film") -> Interpretation:
    return Interpretation(question=question, answer=answer, pid=pid)


def test_a_reading_that_its_passage_gives_is_surer_than_one_that_it_does_not(reader: Reader) -> None:
    readings = [
        reading("When did the film Solaris come out?", "20 March 1972"),
        reading("Who owns the film Solaris?", "20 March 1972"),
        reading("When did the film Solaris come out?", "a Tuesday"),
        reading("When did the film Solaris come out?", "20 March 1972", None),
    ]
    good, bad, none, without = confidence(readings, [FILM], reader)
    assert good is not None
    assert bad is not None
    assert 1 >= good > 0.6 > bad > 0
    assert (none, without) == (0.0, None)
    assert margins(readings, [FILM], reader)[2:] == [-inf, None]


def test_several_answers_in_one_count_if_one_of_them_stands_there(reader: Reader) -> None:
    (several,) = margins([reading("When did the film Solaris come out?", "1971; 20 March 1972")], [FILM], reader)
    assert several is not None
    assert several > 0


def test_the_curve_is_the_one_that_was_fitted() -> None:
    stored = Confidence.model_validate_json((HOME / "confidence.json").read_bytes())
    assert (stored.slope, stored.offset) == (SLOPE, OFFSET)
    assert all(abs(one.said - one.right) < 0.2 for one in stored.fifths)


@pytest.mark.parametrize(
    ("answer", "pid", "right"),
    [("1972", "film", True), ("20 March 1972", "film", True), ("1972", "novel", False), ("2002", "film", False)],
)
def test_a_reading_is_right_by_passage_and_answer(answer: str, pid: str, right: bool) -> None:
    gold = Reading(question="When did the film come out?", short_answers=("March 1972",), pid="film")
    question = Question(id="1", question="When did Solaris come out?", readings=(gold,), long_answers=("It did.",))
    assert is_right(reading("?", answer if answer != "1972" else "March 1972", pid), question) is right
