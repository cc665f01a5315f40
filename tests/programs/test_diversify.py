"""Pseudo-interpretations from generated questions: which are chosen, and DIVA and its kin with them."""

import dspy
import pytest

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import BiEncoderReranker, ColBERTIndex, FusedRetriever
from polyqa.models import Encoder
from polyqa.programs import DIVA
from polyqa.programs.diversify import from_questions
from polyqa.questions import FoundQuestion

QUESTION = "When was Tower Bridge opened?"


def found(*pairs: tuple[str, str]) -> list[FoundQuestion]:
    return [
        FoundQuestion(question=question, answers=(answer,), pids=(f"p{place}",), number=place, score=1 - place / 20)
        for place, (question, answer) in enumerate(pairs)
    ]


def test_one_of_each_answer_nearest_first(encoder: Encoder) -> None:
    pairs = (
        ("When was the Tower Bridge of London opened?", "1894"),
        ("In which year was London's Tower Bridge opened?", "1894"),
        ("When was the Tower Bridge in Sacramento opened?", "1935"),
        ("Who designed the Forth Bridge?", "John Fowler"),
    )
    questions = from_questions(found(*pairs), encoder, most=10)
    assert questions == [pairs[0][0], pairs[2][0], pairs[3][0]]
    assert from_questions(found(*pairs), encoder, most=1) == [pairs[0][0]]


def test_of_like_questions_one_is_kept(encoder: Encoder) -> None:
    alike = [("When was the bridge opened to traffic?", f"{day} June 1894") for day in (28, 29, 30)]
    other = ("Who wrote the song of the bridge in the film of 1940?", "Ada Brown")
    assert len(from_questions(found(*alike, other), encoder, most=10)) == 2


def test_a_question_that_is_far_off_is_no_reading(encoder: Encoder) -> None:
    near, *others = found(("When was the bridge opened?", "1894"), ("Who is Ada Brown?", "an engineer"))
    far = [one.model_copy(update={"score": 0.5}) for one in others]
    assert from_questions([near, *far], encoder, most=10) == [near.question]


def test_no_question_gives_none(encoder: Encoder) -> None:
    assert from_questions([], encoder, most=3) == []


@pytest.mark.parametrize(("name", "more"), [("diva", {}), ("dtv", {}), ("auto", {"rule": "never"})])
def test_programs_take_them_from_the_database(
    name: str, more: dict[str, str], bridges: ColBERTIndex, embedded: dspy.LM
) -> None:
    program = polyqa.load(name, index=bridges, pseudo="questions", passages=3, **more)
    with dspy.context(trace=[]):
        result = program(question=QUESTION)
        called = [predictor.signature.__name__ for predictor, _, _ in dspy.settings.trace]
    assert "InferPseudoInterpretations" not in called
    made = {one.question for one in program.asked.database.questions()}
    assert set(result.pseudo_interpretations) <= made
    assert {"london", "sacramento"} <= {passage.pid for passage in result.passages}
    assert {one.answer for one in result.interpretations} == {"1894", "1935"}


def test_without_a_database_they_are_refused(
    parts: tuple[FusedRetriever, BiEncoderReranker], index: ColBERTIndex, encoder: Encoder
) -> None:
    with pytest.raises(ValueError, match="takes a database of generated questions"):
        DIVA(*parts, encoder=encoder, pseudo="questions")
    with pytest.raises(ValueError, match="pseudo is lm or questions"):
        DIVA(*parts, encoder=encoder, pseudo="corpus")  # type: ignore[arg-type]
    with pytest.raises(PolyqaError, match="polyqa questions build"):
        polyqa.load("diva", index=index, pseudo="questions")
