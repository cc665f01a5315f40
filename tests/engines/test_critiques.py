"""What the extractive engine makes of the baselines' prompts, and how demos change it."""

from collections.abc import Iterator

import dspy
import pytest

from polyqa.engines.extractive import ExtractiveEngine, embedded_lm
from polyqa.signatures import (
    AnswerRefined,
    CritiqueSegment,
    DecideRetrieval,
    DraftSegment,
    Grade,
    GradePassage,
    Interpretation,
    RefineQuestion,
    RewriteQuery,
    SelectPassages,
    Support,
)

NOVEL = (
    "Solaris (novel) | Solaris is a science-fiction novel by Stanisław Lem. It was published in Poland in 1961 and is "
    "set on a station above an ocean that thinks."
)
FILM = (
    "Solaris (1972 film) | Andrei Tarkovsky directed this Soviet film of the novel. It came out in May 1972, at "
    "the Cannes Film Festival, and won the Grand Prix there."
)
REMAKE = (
    "Solaris (2002 film) | Steven Soderbergh wrote and directed the American version, with George Clooney as the "
    "psychologist. It came out in the United States on 27 November 2002."
)
LINER = "Ocean liner | An ocean liner is a passenger ship that runs on a schedule between ports."
FESTIVAL = "Cannes 1972 | At the festival of May 1972 the film Solaris came out, and the Grand Prix was given to it."
QUESTION = "When did Solaris come out?"


@pytest.fixture(scope="module")
def engine() -> ExtractiveEngine:
    return ExtractiveEngine()


@pytest.fixture(autouse=True)
def configured(engine: ExtractiveEngine) -> Iterator[None]:
    with dspy.context(lm=embedded_lm(engine), adapter=dspy.ChatAdapter()):
        yield


def predict(signature: type[dspy.Signature], **inputs: object) -> dspy.Prediction:
    return dspy.Predict(signature)(**inputs)


# --- CRAG ----------------------------------------------------------------------------------------


def grade(passage: str, question: str = QUESTION, **more: object) -> Grade:
    return Grade(predict(GradePassage, passage=passage, question=question, **more).grade)


def test_a_passage_with_the_answer_is_correct_and_one_about_something_else_is_not() -> None:
    assert grade(FILM) is Grade.CORRECT
    assert grade(LINER) is Grade.INCORRECT
    assert grade("") is Grade.INCORRECT


def test_graded_demos_move_the_cuts() -> None:
    strict = [dspy.Example(question=QUESTION, passage=one, grade="Incorrect") for one in (NOVEL, FILM, REMAKE)]
    assert grade(FILM, demos=strict) is Grade.INCORRECT
    unsure = [dspy.Example(question=QUESTION, passage=one, grade="Ambiguous") for one in (NOVEL, FILM, REMAKE)]
    assert grade(FILM, demos=unsure) is Grade.AMBIGUOUS
    lenient = [dspy.Example(question=QUESTION, passage=LINER, grade="Correct")]
    assert grade(LINER, demos=lenient) is Grade.CORRECT


@pytest.mark.parametrize(
    ("question", "query"),
    [("When did the film Titanic come out?", "film Titanic come out"), ("Who was it?", "Who was it?")],
)
def test_a_query_keeps_the_words_that_carry_meaning(question: str, query: str) -> None:
    assert predict(RewriteQuery, question=question).search_query == query


# --- Self-RAG ------------------------------------------------------------------------------------


def test_an_engine_without_knowledge_always_wants_passages() -> None:
    assert predict(DecideRetrieval, question="What is your favourite colour?").needs_passages == "Yes"


def draft(passage: str, question: str = QUESTION, **more: object) -> dspy.Prediction:
    return predict(DraftSegment, passage=passage, question=question, **more)


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


def test_demos_move_what_is_relevant_and_how_long_answers_are() -> None:
    refusing = [
        dspy.Example(question=QUESTION, passage=one, relevant="No", readings=[], segment="None")
        for one in (NOVEL, FILM, REMAKE)
    ]
    assert draft(REMAKE, demos=refusing).relevant == "No"
    short = [
        dspy.Example(
            question="Who wrote Dune?",
            passage="Dune | Frank Herbert wrote Dune.",
            relevant="Yes",
            readings=[{"question": "Who wrote the novel Dune?", "answer": "Frank Herbert"}],
            segment="Frank Herbert wrote Dune.",
        )
    ]
    assert all(len(reading.answer.split()) <= 3 for reading in draft(FILM, demos=short).readings)


def critique(segment: str, passage: str = FILM, question: str = QUESTION) -> tuple[Support, int]:
    judged = predict(CritiqueSegment, segment=segment, passage=passage, question=question)
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


# --- JPR -----------------------------------------------------------------------------------------


def select(passages: list[str], count: int) -> list[int]:
    return list(predict(SelectPassages, passages=passages, question=QUESTION, count=count).selected)


def test_each_selected_passage_brings_another_answer() -> None:
    chosen = select([FILM, FESTIVAL, LINER, REMAKE, NOVEL], 3)
    assert 4 in chosen
    assert not {1, 2} <= set(chosen), "two passages with one answer count as one"
    assert 3 not in chosen


def test_the_order_of_the_passages_fills_up() -> None:
    assert sorted(select([FILM, FESTIVAL, LINER, REMAKE, NOVEL], 5)) == [1, 2, 3, 4, 5]
    assert select([LINER, LINER, LINER], 2)[-1] in (1, 2)
    assert len(select([FILM], 3)) == 1


# --- query refinement ----------------------------------------------------------------------------

READINGS = [
    Interpretation(question="When did the 1972 film Solaris come out?", answer="1972"),
    Interpretation(question="When did the 2002 film Solaris come out?", answer="2002"),
]


def test_the_engine_refines_only_what_a_demo_shows_for_the_same_question() -> None:
    shown = [dspy.Example(question=QUESTION, refinements=READINGS)]
    assert predict(RefineQuestion, question=QUESTION).refinements == []
    assert predict(RefineQuestion, question="Who wrote Dune?", demos=shown).refinements == []
    assert predict(RefineQuestion, question=QUESTION, demos=shown).refinements == READINGS


def test_refinements_in_the_prompt_are_told_and_without_any_it_says_that_it_knows_nothing() -> None:
    told = predict(AnswerRefined, question=QUESTION, refinements=READINGS).answer
    assert "1972" in told
    assert "2002" in told
    assert "can mean 2 things" in told
    assert "cannot answer" in predict(AnswerRefined, question=QUESTION, refinements=[]).answer
