import dspy
from solaris import FILM, LINER, NOVEL, PASSAGES, QUESTION, REMAKE, predict

from polyqa.base.values import Grade, Interpretation
from polyqa.signatures import GradePassage, VerifyInterpretation, VerifyInterpretations, VerifyReadings


def verify(question: str, **more: object) -> str:
    return str(predict(VerifyInterpretation, passages=PASSAGES, question=question, **more).answerable)


def test_verification_by_answerability() -> None:
    assert verify("Who directed the 1972 film Solaris?") == "Yes"
    assert verify("What is the boiling point of tungsten?") == "No"


def test_verification_demos_move_the_threshold_if_two_of_them_say_so() -> None:
    strict = [
        dspy.Example(passages=PASSAGES, question="Who directed the 1972 film Solaris?", answerable="No"),
        dspy.Example(passages=PASSAGES, question="When was the novel Solaris published in Poland?", answerable="No"),
    ]
    assert verify("Who directed the 1972 film Solaris?", demos=strict) == "No"
    assert verify("Who directed the 1972 film Solaris?", demos=strict[:1]) == "Yes"
    lenient = [
        dspy.Example(passages=PASSAGES, question="What is the boiling point of tungsten?", answerable="Yes"),
        dspy.Example(passages=PASSAGES, question="How many bones has a hand?", answerable="Yes"),
    ]
    assert verify("What is the boiling point of tungsten?", demos=lenient) == "Yes"


CANDIDATES = ["Who directed the 1972 film Solaris?", "What is the boiling point of tungsten?", "Who wrote Solaris?"]


def test_verifying_all_at_once_says_what_verifying_one_by_one_says() -> None:
    answered = predict(VerifyInterpretations, passages=PASSAGES, candidates=CANDIDATES).answered
    assert answered == [number for number, one in enumerate(CANDIDATES, 1) if verify(one) == "Yes"] == [1, 3]
    assert predict(VerifyInterpretations, passages=PASSAGES, candidates=CANDIDATES[1:2]).answered == []


def test_demos_of_several_candidates_move_the_threshold_too() -> None:
    strict = [dspy.Example(passages=PASSAGES, question=QUESTION, candidates=CANDIDATES[::2], answered=[])]
    assert predict(VerifyInterpretations, passages=PASSAGES, candidates=CANDIDATES, demos=strict).answered == []


def test_a_reading_is_verified_in_the_passage_that_it_cites() -> None:
    numbers = {one: str(number) for number, one in enumerate(PASSAGES, 1)}
    readings = [
        Interpretation(question=CANDIDATES[0], answer="Andrei Tarkovsky", pid=numbers[FILM]),
        Interpretation(question=CANDIDATES[0], answer="Andrei Tarkovsky", pid=numbers[LINER]),
        Interpretation(question=CANDIDATES[0], answer="Andrei Tarkovsky"),
    ]
    assert predict(VerifyReadings, passages=PASSAGES, interpretations=readings).supported == [1, 3]


def grade(passage: str, **more: object) -> Grade:
    return Grade(predict(GradePassage, passage=passage, **more).grade)


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
