import json
import re
from typing import Any

import dspy
import pytest

from polyqa import signatures
from polyqa.base.values import AmbiguityType, Interpretation
from polyqa.signatures import (
    CritiqueSegment,
    DraftSegment,
    ExtractInterpretations,
    FindDistinct,
    GradePassage,
    RefineQuestion,
    SelectPassages,
    VerifyInterpretation,
    WriteLongFormAnswer,
)

READINGS = [
    Interpretation(question="When did the 1953 film come out?", answer="1953", pid="2"),
    Interpretation(question="When did the 1997 film come out?", answer="1997"),
]
OUTPUTS: list[tuple[str, dict[str, Any]]] = [
    ("TypeAmbiguity", {"reason": "Two films.", "ambiguity_types": [AmbiguityType.SUBJECT, AmbiguityType.TIME]}),
    ("InferPseudoInterpretations", {"pseudo_interpretations": ["When was it made?", "When was it shown?"]}),
    ("ExtractInterpretations", {"interpretations": READINGS}),
    ("VerifyInterpretation", {"answerable": "No"}),
    ("VerifyInterpretations", {"answered": [1, 3]}),
    ("VerifyReadings", {"supported": []}),
    ("VerifyFinding", {"holds": "Yes"}),
    ("TellFindings", {"interpretations": READINGS, "answer": "Both came out."}),
    ("ReadPassage", {"answers": "1953\n1997"}),
    ("ReadDocument", {"short_answer": "1953", "explanation": "It is about the film of 1953."}),
    ("ReviseAnswer", {"short_answer": "null", "explanation": "null"}),
    ("AggregateAnswers", {"interpretations": READINGS, "answer": "Both came out."}),
    ("ClarifyQuestion", {"interpretations": READINGS, "answer": "There are two.\nOne came out in 1953."}),
    ("WriteLongFormAnswer", {"answer": "There are two.\nOne came out in 1953."}),
    ("AnswerClosedBook", {"answer": 'It may mean two films, "Titanic" and «Titanic».'}),
    ("MatchInterpretations", {"covered": [1, 3]}),
    ("VerifySupport", {"supported": "Yes"}),
    ("FindDistinct", {"kept": [2]}),
    ("DetectAnswers", {"answers": ["1953", "Jean Negulesco", "the “unsinkable” ship"]}),
    ("GenerateQuestion", {"question": "Who directed Titanic?"}),
    ("RefineQuestion", {"refinements": READINGS[1:]}),
    ("AnswerRefined", {"answer": "It may mean two films. One came out in 1953."}),
    ("GradePassage", {"grade": "Ambiguous"}),
    ("RewriteQuery", {"search_query": "Titanic 1953 film release date"}),
    ("DecideRetrieval", {"needs_passages": "Yes"}),
    ("DraftSegment", {"relevant": "Yes", "readings": READINGS[1:], "segment": "The 1997 film came out in 1997."}),
    ("DraftSegment", {"relevant": "No", "readings": [], "segment": "None"}),
    ("CritiqueSegment", {"support": "Partially", "usefulness": 4}),
    ("SelectPassages", {"selected": [3, 1, 2]}),
    ("SelectQuestions", {"kept": [1, 4]}),
    ("AskBack", {"question_back": "Which Titanic do you mean?", "choices": ["the 1953 film", "the 1997 film"]}),
    ("VerifyAgainstRoot", {"fitting": "Yes"}),
    ("RelaxQuery", {"relaxed_query": "Titanic release"}),
    (
        "InterpretPassage",
        {"interpretation": "When was the 1997 film Titanic shown?", "short_answer": "1 November 1997"},
    ),
    ("InterpretPassage", {"interpretation": "null", "short_answer": "null"}),
    ("LocateAnswer", {"short_answer": "April 1953", "source": "2", "settled": "No"}),
    ("ReviseQuestion", {"revised_question": "Who directed Titanic (1953 film)?"}),
    ("AskOfPassage", {"questions": READINGS[1:]}),
    (
        "AskOfNamesakes",
        {"question": "Who directed Titanic?", "first_answer": "Jean Negulesco", "second_answer": "James Cameron"},
    ),
    ("AnswerFromPassage", {"answer": "Jean Negulesco"}),
]
ADAPTERS = [dspy.ChatAdapter(), dspy.JSONAdapter()]

every_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=["chat", "json"])
every_signature = pytest.mark.parametrize(("signature", "outputs"), OUTPUTS, ids=[name for name, _ in OUTPUTS])


def system_message(adapter: dspy.Adapter, signature: type[dspy.Signature]) -> str:
    inputs = dict.fromkeys(signature.input_fields, "text")
    return adapter.format(signature, [], inputs)[0]["content"]


def test_all_signatures_are_exported() -> None:
    exported = {
        value for value in vars(signatures).values() if isinstance(value, type) and issubclass(value, dspy.Signature)
    }
    assert {one.__name__ for one in exported} == {name for name, _ in OUTPUTS}


@every_adapter
@every_signature
def test_a_demo_of_every_signature_parses_back(adapter: Any, signature: str, outputs: dict[str, Any]) -> None:
    asked = getattr(signatures, signature)
    shown = adapter.format_assistant_message_content(asked, outputs)
    assert adapter.parse(asked, shown) == outputs


@every_adapter
@pytest.mark.parametrize(
    ("signature", "shown"),
    [
        ("ExtractInterpretations", "`interpretations` (list[Interpretation])"),
        ("InferPseudoInterpretations", "`pseudo_interpretations` (list[str])"),
        ("VerifyInterpretation", "`answerable` (Literal['Yes', 'No'])"),
        ("TypeAmbiguity", "`ambiguity_types` (list[AmbiguityType])"),
        ("MatchInterpretations", "`covered` (list[int])"),
        ("VerifySupport", "`supported` (Literal['Yes', 'No'])"),
        ("FindDistinct", "`kept` (list[int])"),
        ("SelectPassages", "`selected` (list[int])"),
        ("GradePassage", "`grade` (Literal['Correct', 'Ambiguous', 'Incorrect'])"),
        ("CritiqueSegment", "`support` (Literal['Fully', 'Partially', 'No'])"),
        ("CritiqueSegment", "`usefulness` (Literal[1, 2, 3, 4, 5])"),
    ],
)
def test_lenient_fields_are_shown_under_the_name_of_their_type(adapter: Any, signature: str, shown: str) -> None:
    assert shown in system_message(adapter, getattr(signatures, signature))


def schema_in(prompt: str) -> dict[str, Any]:
    text = prompt[re.search(r"must adhere to the JSON schema: ", prompt).end() :]
    return json.JSONDecoder().raw_decode(text.replace('\\"', '"'))[0]


@every_adapter
def test_the_schemas_in_a_prompt_are_short(adapter: Any) -> None:
    assert schema_in(system_message(adapter, FindDistinct)) == {"type": "array", "items": {"type": "integer"}}
    prompt = system_message(adapter, ExtractInterpretations)
    schema = schema_in(prompt)
    assert schema["items"] == {"$ref": "#/$defs/Interpretation"}
    reading = schema["$defs"]["Interpretation"]
    assert set(reading["properties"]) == {"question", "answer", "pid"}
    assert set(reading) == {"type", "properties", "required"}
    assert '"title"' not in prompt
    assert "null" not in prompt
    assert "One reading of an ambiguous question" not in prompt
    assert len(json.dumps(schema)) < 500


@every_adapter
def test_a_demo_without_passages_teaches_no_null_citation(adapter: Any) -> None:
    shown = adapter.format_assistant_message_content(ExtractInterpretations, {"interpretations": READINGS})
    assert shown.count("pid") == 1
    assert "null" not in shown


def test_interpretations_as_input_are_shown_without_null_citations() -> None:
    inputs = {"passages": ["A | b"], "question": "When did it come out?", "interpretations": READINGS}
    shown = dspy.ChatAdapter().format(WriteLongFormAnswer, [], inputs)[-1]["content"]
    assert json.dumps([reading.model_dump() for reading in READINGS]) in shown
    assert "null" not in shown


def test_passages_are_numbered_by_dspy() -> None:
    inputs = {"passages": ["A | one", "B | two"], "question": "Which one?"}
    shown = dspy.ChatAdapter().format(VerifyInterpretation, [], inputs)[-1]["content"]
    assert "[1] «A | one»\n[2] «B | two»" in shown


def test_passages_come_before_the_question() -> None:
    for signature in (ExtractInterpretations, VerifyInterpretation, WriteLongFormAnswer, SelectPassages):
        assert list(signature.input_fields)[:2] == ["passages", "question"]


def test_other_instructions_leave_the_fields_lenient() -> None:
    changed = VerifyInterpretation.with_instructions("Do it carefully.")
    reply = "[[ ## answerable ## ]]\nyes.\n\n[[ ## completed ## ]]"
    assert dspy.ChatAdapter().parse(changed, reply) == {"answerable": "Yes"}


@every_adapter
@pytest.mark.parametrize("signature", [RefineQuestion, DraftSegment])
def test_where_no_passages_are_numbered_no_number_is_asked_for(adapter: Any, signature: type[dspy.Signature]) -> None:
    prompt = system_message(adapter, signature)
    assert "pid" not in prompt
    assert "number" not in prompt


def test_the_question_comes_first_where_only_the_passage_changes() -> None:
    for signature in (GradePassage, DraftSegment, CritiqueSegment):
        assert list(signature.input_fields)[:2] == ["question", "passage"]
