import dspy
from solaris import QUESTION, predict

from polyqa.base.values import Interpretation
from polyqa.signatures import AnswerClosedBook, AnswerRefined, RefineQuestion

READINGS = [
    Interpretation(question="When did the 1972 film Solaris come out?", answer="1972"),
    Interpretation(question="When did the 2002 film Solaris come out?", answer="2002"),
]


def test_closed_book_abstains_unless_a_demo_holds_the_answer() -> None:
    assert "not know" in predict(AnswerClosedBook).answer
    demos = [dspy.Example(question=QUESTION, answer="In 1961, 1972 and 2002.")]
    assert predict(AnswerClosedBook, demos=demos).answer == "In 1961, 1972 and 2002."
    assert "not know" in predict(AnswerClosedBook, question="What do snails eat?", demos=demos).answer


def test_the_engine_refines_only_what_a_demo_shows_for_the_same_question() -> None:
    shown = [dspy.Example(question=QUESTION, refinements=READINGS)]
    assert predict(RefineQuestion).refinements == []
    assert predict(RefineQuestion, question="Who wrote Dune?", demos=shown).refinements == []
    assert predict(RefineQuestion, demos=shown).refinements == READINGS


def test_refinements_in_the_prompt_are_told_and_without_any_it_says_that_it_knows_nothing() -> None:
    told = predict(AnswerRefined, refinements=READINGS).answer
    assert "1972" in told
    assert "2002" in told
    assert "depends on what is meant: the 1972 film or the 2002 film" in told
    assert "not know" in predict(AnswerRefined, refinements=[]).answer
