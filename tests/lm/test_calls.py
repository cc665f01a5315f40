"""The table of calls: every call of a program is in it, and its fallback is a reply as the signature wants it."""

import dspy
import pytest
from pydantic import TypeAdapter

from polyqa.base.values import Interpretation
from polyqa.lm.calls import CALLS, complete_readings, fallback_for, kind_of
from polyqa.programs import PROGRAMS
from polyqa.programs.registry import REGISTRY
from polyqa.signatures import ExtractInterpretations, WriteLongFormAnswer

READING = Interpretation(question="Who won in 1998?", answer="France.")
INPUTS = {
    "question": "Who won?",
    "passages": ["A | B."],
    "candidates": ["One?", "Two?"],
    "interpretations": [READING],
    "findings": ["A | B. | B"],
}
LISTED = '[{"question": "In 1998?", "answer": "France", "pid": "1"}, {"question": "In'


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("preset", ["lean", "paper"])
def test_the_table_has_every_call_of_every_program(name: str, preset: str) -> None:
    """A new signature: say in `polyqa.lm.calls.CALLS` what is known of it."""
    needs = REGISTRY[name].needs
    parts = [object()] * (len(needs) + bool(needs))
    for call, predictor in PROGRAMS[name](*parts, encoder=object(), preset=preset).named_predictors():
        assert kind_of(predictor.signature, exact=True) is not None, f"{name}.{call}"


@pytest.mark.parametrize("signature", CALLS, ids=lambda signature: signature.__name__)
@pytest.mark.parametrize("reply", ["", "Sorry.", LISTED])
def test_a_fallback_has_all_output_fields_with_values_of_their_types(
    signature: type[dspy.Signature], reply: str
) -> None:
    fallback = fallback_for(signature, {**INPUTS, "refinements": [READING]}, reply)
    if fallback is None:
        # The program of ReviseAnswer has a fallback of its own, see test_madam_rag.
        assert signature.__name__ in ("AnswerClosedBook", "ReviseAnswer") or (
            signature.__name__ in ("ClarifyQuestion", "AggregateAnswers") and reply != LISTED
        )
        return
    assert fallback.fields.keys() == signature.output_fields.keys()
    for name, field in signature.output_fields.items():
        TypeAdapter(field.annotation).validate_python(fallback.fields[name])
    assert fallback.became


def test_a_reworded_signature_is_known_by_its_fields_and_a_strangers_is_not() -> None:
    longer = WriteLongFormAnswer.with_instructions("Write.").prepend("hint", dspy.InputField(), str)
    assert kind_of(longer) is CALLS[WriteLongFormAnswer]
    assert kind_of(dspy.Signature("text -> summary")) is None
    assert fallback_for(dspy.Signature("question -> answer, mood"), {"question": "Why?"}, "") is None


def test_an_answer_lists_the_readings_if_there_are_any() -> None:
    fallback = fallback_for(WriteLongFormAnswer, {"interpretations": [READING]}, "")
    assert fallback is not None
    assert fallback.fields == {"answer": "Who won in 1998? France."}
    assert fallback_for(WriteLongFormAnswer, {"interpretations": []}, "") is None


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("", []),
        ("Sorry.", []),
        (LISTED, ["France"]),
        ('```json\n[{"question": "In 1998?", "answer": "France"},\n{"question": "In 2002?", "answer": "Br', ["France"]),
        ("1. In 1998? | France [1]\n2. In 2002? | Brazil [2]\n3. In 20", ["France", "Brazil"]),
        ('{"interpretations": [{"question": "In 1998?", "answer": "France"}, {"question"', ["France"]),
    ],
)
def test_complete_readings_of_a_reply_that_breaks_off(reply: str, answers: list[str]) -> None:
    assert [reading.answer for reading in complete_readings(reply)] == answers


def test_thoughts_give_no_readings() -> None:
    reply = "<think>1. Who won in 1998? | Brazil [1]\nNo, that is wrong.</think>"
    fallback = fallback_for(ExtractInterpretations, INPUTS, reply)
    assert fallback is not None
    assert fallback.fields == {"interpretations": []}
