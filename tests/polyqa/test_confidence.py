"""How sure a reading is: what the reader makes of its passage, and what of the question stands in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.results import read_measured
from polyqa.base.values import Interpretation, Passage
from polyqa.confidence import BIAS, BIAS_OF_A_MODEL, UNSEEN, WEIGHTS, confidence, share, signs
from polyqa.metrics.text import names_and_numbers
from polyqa.models import Reader
from polyqa.standing import LEAST

FILM = Passage(pid="film", title="Solaris (1972 film)", text="Solaris is a film that came out on 20 March 1972.")
WHEN = "When did the film Solaris come out?"


def reading(question: str, answer: str, pid: str | None = "film") -> Interpretation:
    return Interpretation(question=question, answer=answer, pid=pid)


def test_a_reading_that_its_passage_gives_is_surer_than_one_that_it_does_not(reader: Reader) -> None:
    (good,) = confidence(WHEN, [reading(WHEN, "20 March 1972")], [FILM], reader)
    (other,) = confidence("Who owns the film Solaris?", [reading("Who owns it?", "20 March 1972")], [FILM], reader)
    assert 1 >= good > 0.5 > other >= 0


def test_a_name_or_number_that_is_not_in_the_passage_counts_against_it(reader: Reader) -> None:
    asked = ("When did Solaris come out?", "When did Solaris 4 come out?", "When did Stalker come out?")
    right, number, name = (confidence(one, [reading(one, "20 March 1972")], [FILM], reader)[0] for one in asked)
    assert right > number
    assert right > name


def test_what_the_reader_cannot_judge_has_no_confidence(reader: Reader) -> None:
    cannot = [reading(WHEN, "20 March 1972", None), reading(WHEN, "20 March 1972", "gone"), reading(WHEN, "Yes")]
    assert confidence(WHEN, cannot, [FILM], reader) == [None, None, None]


def test_an_answer_that_its_passage_does_not_have_is_hardly_sure(reader: Reader) -> None:
    said = ["March 20, 1972", "the 1972 film", "21 March 1972", "Andrei Tarkovsky"]
    assert confidence(WHEN, [reading(WHEN, one) for one in said], [FILM], reader) == [None, None, UNSEEN, UNSEEN]


def test_a_piece_of_a_figure_is_no_answer(reader: Reader) -> None:
    bridge = Passage(pid="film", title="Old Bridge", text="The Old Bridge is 1.5 km long.")
    asked = "How long is the Old Bridge?"
    whole, piece = confidence(asked, [reading(asked, answer) for answer in ("1.5 km", "5 km")], [bridge], reader)
    assert piece == UNSEEN < whole
    longer = bridge.model_copy(update={"text": f"{bridge.text} The road to it took 5 km."})
    found = [reading(asked, answer) for answer in ("1.5 km", "5 km")]
    whole, other = confidence(asked, found, [longer], reader)
    assert other < whole


def test_of_a_yes_the_words_of_the_question_speak(reader: Reader) -> None:
    asked = "Did Solaris come out on 20 March 1972?"
    yes, no, cited_nowhere, other = confidence(
        asked,
        [reading(asked, "Yes, it did."), reading(asked, "No"), reading(asked, "Yes", None), reading(asked, "1972")],
        [FILM],
        reader,
    )
    assert yes == no is not None
    assert cited_nowhere is None
    assert other is not None
    (elsewhere,) = confidence("Did Solaris 4 come out in Berlin?", [reading(asked, "Yes")], [FILM], reader)
    assert elsewhere < 0.5 < yes


def test_several_answers_in_one_count_if_one_of_them_stands_there(reader: Reader) -> None:
    (several,) = signs(WHEN, [reading(WHEN, "1971; 20 March 1972")], [FILM], reader)
    assert several.asked > 0


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who leads the Mars team?", ["Mars"]),
        ("What is Anna Keller's job?", ["Anna", "Keller's"]),
        ("Who won?", []),
        ("when did it start in 1,807?", ["1,807"]),
    ],
)
def test_names_are_words_with_a_capital_and_figures(question: str, names: list[str]) -> None:
    assert names_and_numbers(question) == names


@given(st.lists(st.text(max_size=12), max_size=4), st.text(max_size=40))
def test_a_share_is_one_where_a_genitive_and_an_ending_are_the_same_word(names: list[str], text: str) -> None:
    assert 0 <= share(names, text) <= 1
    assert share(names, " ".join(names)) == 1
    assert share(["Keller's", "released"], "Anna Keller. The release was late.") == 1


def test_the_weights_are_those_that_were_fitted() -> None:
    stored = read_measured("confidence")
    assert stored.values == {"bias": BIAS, **WEIGHTS, "least": LEAST}
    of_a_model = read_measured("confidence-local")
    assert of_a_model.values == {"bias": BIAS_OF_A_MODEL, **WEIGHTS, "least": LEAST}
    said_and_right = [[float(cell.rstrip("%")) for cell in row[1:]] for row in stored.tables[""].rows]
    assert all(abs(said - right) < 20 for said, right in said_and_right)
