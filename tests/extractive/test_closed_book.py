from solaris import predict

from polyqa.base.values import Interpretation
from polyqa.signatures import AnswerClosedBook, AnswerRefined, RefineQuestion

READINGS = [
    Interpretation(question="When did the 1972 film Solaris come out?", answer="1972"),
    Interpretation(question="When did the 2002 film Solaris come out?", answer="2002"),
]


def test_the_engine_knows_nothing() -> None:
    assert "not know" in predict(AnswerClosedBook).answer
    assert predict(RefineQuestion).refinements == []


def test_refinements_in_the_prompt_are_told_and_without_any_it_says_that_it_knows_nothing() -> None:
    told = predict(AnswerRefined, refinements=READINGS).answer
    assert "1972" in told
    assert "2002" in told
    assert "depends on what is meant: the 1972 film or the 2002 film" in told
    assert "not know" in predict(AnswerRefined, refinements=[]).answer
