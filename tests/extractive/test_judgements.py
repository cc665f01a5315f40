from solaris import FILM, LINER, PASSAGES, predict

from polyqa.base.values import Grade, Interpretation
from polyqa.signatures import GradePassage, VerifyInterpretation, VerifyInterpretations, VerifyReadings


def verify(question: str) -> str:
    return str(predict(VerifyInterpretation, passages=PASSAGES, question=question).answerable)


def test_verification_by_answerability() -> None:
    assert verify("Who directed the 1972 film Solaris?") == "Yes"
    assert verify("What is the boiling point of tungsten?") == "No"


CANDIDATES = ["Who directed the 1972 film Solaris?", "What is the boiling point of tungsten?", "Who wrote Solaris?"]


def test_verifying_all_at_once_says_what_verifying_one_by_one_says() -> None:
    answered = predict(VerifyInterpretations, passages=PASSAGES, candidates=CANDIDATES).answered
    assert answered == [number for number, one in enumerate(CANDIDATES, 1) if verify(one) == "Yes"] == [1, 3]
    assert predict(VerifyInterpretations, passages=PASSAGES, candidates=CANDIDATES[1:2]).answered == []


def test_a_reading_is_verified_in_the_passage_that_it_cites() -> None:
    numbers = {one: str(number) for number, one in enumerate(PASSAGES, 1)}
    readings = [
        Interpretation(question=CANDIDATES[0], answer="Andrei Tarkovsky", pid=numbers[FILM]),
        Interpretation(question=CANDIDATES[0], answer="Andrei Tarkovsky", pid=numbers[LINER]),
        Interpretation(question=CANDIDATES[0], answer="Andrei Tarkovsky"),
    ]
    assert predict(VerifyReadings, passages=PASSAGES, interpretations=readings).supported == [1, 3]


def grade(passage: str) -> Grade:
    return Grade(predict(GradePassage, passage=passage).grade)


def test_a_passage_with_the_answer_is_correct_and_one_about_something_else_is_not() -> None:
    assert grade(FILM) is Grade.CORRECT
    assert grade(LINER) is Grade.INCORRECT
    assert grade("") is Grade.INCORRECT
