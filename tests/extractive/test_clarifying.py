import dspy
import pytest
from solaris import PASSAGES, QUESTION, predict

from polyqa.signatures import ClarifyQuestion, ExtractInterpretations, WriteLongFormAnswer

LONG = " ".join(["A long answer tells a great many things about each of them."] * 20)
DEMO = dspy.Example(
    passages=["Rivers | The Elbe is long."],
    question="How long is it?",
    interpretations=[{"question": "How long is the Elbe?", "answer": "long", "pid": "1"}],
    answer=LONG,
)


@pytest.mark.parametrize("demos", [[], [DEMO] * 3], ids=["no demos", "demos"])
@pytest.mark.parametrize("question", [QUESTION, "What is the boiling point of tungsten?"])
def test_one_reply_says_what_two_say(question: str, demos: list[dspy.Example]) -> None:
    both = predict(ClarifyQuestion, passages=PASSAGES, question=question, demos=demos)
    readings = predict(ExtractInterpretations, passages=PASSAGES, question=question, demos=demos).interpretations
    told = predict(
        WriteLongFormAnswer, passages=PASSAGES, question=question, interpretations=readings, demos=demos
    ).answer
    assert (both.interpretations, both.answer) == (readings, told)


def test_demos_steer_both_halves() -> None:
    plain = predict(ClarifyQuestion, passages=PASSAGES, question=QUESTION)
    shown = predict(ClarifyQuestion, passages=PASSAGES, question=QUESTION, demos=[DEMO] * 5)
    assert len(shown.answer.split()) > len(plain.answer.split())
    assert all(len(one.answer.split()) <= 3 for one in shown.interpretations)
