"""How sure a reading is: what the reader makes of its passage, on the fitted curve."""

from math import inf

from lab.results import read_measured
from polyqa.base.values import Interpretation, Passage
from polyqa.confidence import OFFSET, SLOPE, confidence, margins
from polyqa.models import Reader

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
    stored = read_measured("confidence")
    assert stored.values == {"slope": SLOPE, "offset": OFFSET}
    shares = [[float(cell.rstrip("%")) for cell in row[1:]] for row in stored.tables[""].rows]
    assert all(abs(said - right) < 20 for said, right in shares)
