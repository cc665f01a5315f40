import dspy
import pytest
from solaris import FILM, LINER, REMAKE, predict

from polyqa.base.values import Support
from polyqa.signatures import CritiqueSegment, DecideRetrieval, DraftSegment


def test_an_engine_without_knowledge_always_wants_passages() -> None:
    assert predict(DecideRetrieval, question="What is your favourite colour?").needs_passages == "Yes"


def draft(passage: str, **more: object) -> dspy.Prediction:
    return predict(DraftSegment, passage=passage, **more)


def test_a_segment_states_what_its_passage_answers() -> None:
    drafted = draft(REMAKE)
    assert drafted.relevant == "Yes"
    assert drafted.readings[0].question == "When did the 2002 film Solaris come out?"
    assert "2002" in drafted.readings[0].answer
    assert all(reading.answer in drafted.segment for reading in drafted.readings)
    assert "Solaris" in drafted.segment


@pytest.mark.parametrize("passage", [LINER, ""])
def test_a_passage_about_something_else_gives_no_segment(passage: str) -> None:
    drafted = draft(passage, question="What is the boiling point of tungsten?")
    assert (drafted.relevant, drafted.readings, drafted.segment) == ("No", [], "None")


def critique(segment: str) -> tuple[Support, int]:
    judged = predict(CritiqueSegment, segment=segment, passage=FILM)
    return judged.support, judged.usefulness


def test_support_is_how_much_of_the_segment_the_passage_says() -> None:
    said = "Solaris (1972 film) came out in May 1972, at the Cannes Film Festival."
    made_up = "Its budget exceeded nine hundred roubles."
    assert critique(said)[0] is Support.FULLY
    assert critique(f"{said} {made_up}")[0] is Support.PARTIALLY
    assert critique(made_up)[0] is Support.NO
    assert critique("")[0] is Support.NO


def test_a_segment_that_answers_is_more_useful_than_one_that_does_not() -> None:
    answering = critique("Solaris (1972 film) came out in May 1972, at the Cannes Film Festival.")[1]
    beside = critique("Andrei Tarkovsky directed this Soviet film of the novel.")[1]
    assert 1 <= beside < answering <= 5
