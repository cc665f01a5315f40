import dspy
from solaris import FILM, LINER, NOVEL, PASSAGES, QUESTION, REMAKE, predict

from polyqa.signatures import Grade, GradePassage, VerifyInterpretation


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
