"""What lean prompts say, and which replies are read."""

from enum import Enum
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from scripted_engine import ScriptedEngine, last_message, scripted_lm

from polyqa.base.values import AmbiguityType, Interpretation
from polyqa.lm.adapter import LeanAdapter, configured_adapter
from polyqa.lm.fields import FORMS, form_told_by, numbered_lines, write_in
from polyqa.lm.headers import escape, unescape
from polyqa.signatures import (
    AnswerClosedBook,
    CritiqueSegment,
    DraftSegment,
    ExtractInterpretations,
    FindDistinct,
    InferPseudoInterpretations,
    RewriteQuery,
    TypeAmbiguity,
    VerifyInterpretation,
    WriteLongFormAnswer,
)

ADAPTER = LeanAdapter()
READINGS = [
    Interpretation(question="When did the 1953 film come out?", answer="1953", pid="2"),
    Interpretation(question="When did the 1997 film come out?", answer="1997"),
]
SUB, TIME = AmbiguityType.SUBJECT, AmbiguityType.TIME


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Film(BaseModel):
    answer: str
    year: int = 0


def signature(text: str) -> type[dspy.Signature]:
    return dspy.Signature(text, custom_types={"Colour": Colour, "Film": Film})


def contents(asked: type[dspy.Signature], inputs: dict[str, Any], demos: Any = ()) -> list[Any]:
    return [message["content"] for message in ADAPTER.format(asked, list(demos), dict(inputs))]


# --- prompts -------------------------------------------------------------------------------------


def test_a_prompt_is_the_objective_and_a_line_for_each_field() -> None:
    shown = contents(ExtractInterpretations, {"passages": ["A | one", "B | two"], "question": "Which one?"})
    assert shown == [
        f"""{ExtractInterpretations.instructions}

You get:
passages (numbered passages, title | text)
question (a question that may be ambiguous)

You reply with nothing but:
interpretations (as many distinct readings as the passages answer: one a line as 1. reading | answer [3], \
where [3] is the number of its passage; or none)""",
        "## passages\n[1] A | one\n[2] B | two\n\n## question\nWhich one?",
    ]


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (
            DraftSegment,
            "## readings (the readings that this passage answers: one a line as 1. reading | answer; or none)",
        ),
        (DraftSegment, "## relevant (whether the passage helps to answer the question: Yes or No)"),
        (CritiqueSegment, "## usefulness (from 1 to 5)"),
        (FindDistinct, "kept (numbers of the readings to keep: like 1, 3; or none)"),
        (signature("text -> answer: float, note"), "## answer (must be a single float value)"),
        (signature("text -> answer: float, note"), "## note"),
        (signature("text -> colour: Colour"), "colour (must be one of: red; blue)"),
        (signature("text -> kind: Literal['a', 'b']"), "kind (must exactly match (no extra characters) one of: a; b)"),
        (signature("text -> names: list[str]"), 'JSON schema: {"type": "array", "items": {"type": "string"}})'),
        (signature("text -> answer"), "You get:\ntext\n"),
    ],
)
def test_a_type_is_told_in_words_or_as_dspy_tells_it(asked: type[dspy.Signature], line: str) -> None:
    assert line in contents(asked, {"text": "x"})[0]


@pytest.mark.parametrize("asked", [ExtractInterpretations, TypeAmbiguity, DraftSegment, AnswerClosedBook])
def test_nothing_is_repeated_and_no_schema_shown(asked: type[dspy.Signature]) -> None:
    text = "\n".join(contents(asked, dict.fromkeys(asked.input_fields, "a text")))
    for absent in ("JSON", "completed", "[[", "Respond", "pid", "null"):
        assert absent not in text
    for name in asked.output_fields:
        assert text.count(f"{name} (") == 1


def test_the_words_on_a_type_name_it() -> None:
    told = [form.words for form in FORMS.values()]
    assert not any(one is not other and one.endswith(other) for one in told for other in told)
    assert all(form_told_by(f"what it is: {form.words}") is form for form in FORMS.values())


def test_demos_are_turns_and_what_never_changes_stands_first() -> None:
    demos = [
        {"question": "When?", "reason": "Two.", "ambiguity_types": ["AmbSub", "AmbTime"]},
        {"question": "Where?", "ambiguity_types": ["AmbLoc"]},
        {"reason": "No question.", "ambiguity_types": ["AmbLoc"], "question": None},
    ]
    shown = contents(TypeAmbiguity, {"question": "Who?"}, demos)
    assert shown[1:] == [
        "Where?",  # incomplete ones come first, as in DSPy
        "## reason\n(left out)\n\n## ambiguity_types\nAmbLoc",
        "(parts of this example are left out)",
        "## reason\nNo question.\n\n## ambiguity_types\nAmbLoc",
        "When?",
        "## reason\nTwo.\n\n## ambiguity_types\nAmbSub, AmbTime",
        "Who?",
    ]
    assert contents(TypeAmbiguity, {"question": "Which?"}, demos)[:-1] == shown[:-1]


def test_readings_are_shown_as_lines_going_in_and_coming_out() -> None:
    lines = "1. When did the 1953 film come out? | 1953 [2]\n2. When did the 1997 film come out? | 1997"
    inputs = {"passages": ["A | b"], "question": "When?", "interpretations": READINGS}
    assert contents(WriteLongFormAnswer, inputs)[-1].endswith(f"## interpretations\n{lines}")
    stored = [reading.model_dump() for reading in READINGS]  # as a saved demo holds them
    shown = ADAPTER.format_assistant_message_content(ExtractInterpretations, {"interpretations": stored})
    assert shown == lines
    assert ADAPTER.format_assistant_message_content(ExtractInterpretations, {"interpretations": []}) == "none"


@pytest.mark.parametrize("items", [["one\ntwo", "B | c"], ["«quoted» text"], [""], []])
def test_lists_that_lines_cannot_hold_are_shown_as_dspy_shows_them(items: list[str]) -> None:
    inputs = {"passages": items, "question": "Which?"}
    chat = dspy.ChatAdapter().format(VerifyInterpretation, [], inputs)[-1]["content"]
    shown = contents(VerifyInterpretation, inputs)[-1]
    body = shown.removeprefix("## passages\n").partition("\n\n## question")[0]
    assert f"[[ ## passages ## ]]\n{body}\n\n[[ ## question" in chat


def test_images_conversations_and_signatures_without_input() -> None:
    image = dspy.Image("https://example.org/a.png")
    (_, asked) = ADAPTER.format(
        signature("image: dspy.Image, question -> answer"), [], {"image": image, "question": "?"}
    )
    assert [part["type"] for part in asked["content"]] == ["text", "image_url", "text"]
    history = dspy.History(messages=[{"question": "a", "answer": "b"}])
    talk = contents(signature("history: dspy.History, question -> answer"), {"history": history, "question": "c"})
    assert talk[1:] == ["a", "b", "c"]
    assert "history" not in talk[0].partition("You get:")[2]
    assert contents(signature("-> joke"), {})[-1] == "Now reply."


# --- data that looks like structure --------------------------------------------------------------

MARKED = st.lists(
    st.sampled_from(
        ["## answer", "answer: x", "\\## answer", "[[ ## answer ## ]]", "**answer**:", "answer", "text", "", "# x"]
    ),
    min_size=1,
    max_size=5,
).map("\n".join)


@given(MARKED)
def test_no_value_is_taken_for_a_header(text: str) -> None:
    assert unescape(escape(text, ("answer",)), ("answer",)) == text
    for asked in (signature("question -> answer"), signature("question -> reason, answer")):
        values = dict.fromkeys(asked.output_fields, text)
        shown = ADAPTER.format_assistant_message_content(asked, values)
        if text.strip():
            assert ADAPTER.parse(asked, shown) == dict.fromkeys(asked.output_fields, text.strip())


@pytest.mark.parametrize("text", ["## passages\n[1] A | b", "a\n## question\nb", "[[ ## passages ## ]]"])
def test_a_question_adds_no_header_to_the_prompt(text: str) -> None:
    shown = contents(VerifyInterpretation, {"passages": ["A | b"], "question": text})[-1]
    heads = [line for line in shown.splitlines() if line.startswith(("##", "[["))]
    assert heads == ["## passages", "## question"]


# --- replies -------------------------------------------------------------------------------------

TYPED = {"reason": "Two films.", "ambiguity_types": [SUB, TIME]}


@pytest.mark.parametrize(
    "reply",
    [
        "## reason\nTwo films.\n\n## ambiguity_types\nAmbSub, AmbTime",
        "## Reason (the unclear words and what they could mean)\nTwo films.\n## Ambiguity Types: AmbSub, AmbTime",
        "### 1. reason\nTwo films.\n### 2. ambiguity_types\nAmbSub\nAmbTime",
        "**reason**: Two films.\n**ambiguity types:** [AmbSub], [AmbTime]",
        "- **Reason**: Two films.\n- **Ambiguity types**: AmbSub, AmbTime",
        "reason: Two films.\nambiguity_types: AmbSub, AmbTime",
        '[[ ## reason ## ]]\nTwo films.\n[[ ## ambiguity_types ## ]]\n["AmbSub", "AmbTime"]\n[[ ## completed ## ]]\n.',
        '{"reason": "Two films.", "ambiguity_types": ["AmbSub", "AmbTime"]}',
        'Here it is:\n```json\n{"Reason": "Two films.", "ambiguity types": "AmbSub, AmbTime"}\n```',
        "```\n## reason\nTwo films.\n\n## ambiguity_types\nAmbSub, AmbTime\n```",
        "<think>\n## reason\n-\n## ambiguity_types\nN/A</think>reason: Two films.\nambiguity_types: AmbSub, AmbTime",
        "Is it? No.</think>## reason\nTwo films.\n## ambiguity_types\nAmbSub, AmbTime",
        "Sure!\n\n## reason\nTwo films.\n## ambiguity_types\nAmbSub, AmbTime",
        "## reason\nTwo films.\n## ambiguity_types\nAmbSub, AmbTime\n\n## reason\nOr one.\n## ambiguity_types\nN/A",
        "## ambiguity_types\nAmbSub, AmbTime\n## notes\nnothing\n## reason\nTwo films.",
    ],
)
def test_headers_in_any_dress(reply: str) -> None:
    assert ADAPTER.parse(TypeAmbiguity, reply) == TYPED


def test_a_block_of_code_that_is_not_closed_hides_no_header_before_another() -> None:
    asked = signature("text -> notes: str, code: dspy.Code")
    reply = "## notes\n```\nfor later\n\n## code\n```python\n# notes\npass\n```"
    assert ADAPTER.parse(asked, reply)["code"] == dspy.Code(code="# notes\npass")


@pytest.mark.parametrize(
    ("asked", "reply", "value"),
    [
        (VerifyInterpretation, "Yes", "Yes"),
        (VerifyInterpretation, "## answerable\nyes.", "Yes"),
        (VerifyInterpretation, "I looked closely.\n\nanswerable: No", "No"),
        (VerifyInterpretation, "<think>No, or yes?</think>\nYes", "Yes"),
        (VerifyInterpretation, '{"answerable": true}', "Yes"),
        (AnswerClosedBook, "Two.\n\n## Answer to the first\n1953.", "Two.\n\n## Answer to the first\n1953."),
        (AnswerClosedBook, "**Answer:** 1953.\n\n## Sources\nNone.", "1953.\n\n## Sources\nNone."),
        (AnswerClosedBook, "It may be two.\nAnswer: 1953.", "It may be two.\nAnswer: 1953."),
        (AnswerClosedBook, "Answer\n1953.", "1953."),
        (AnswerClosedBook, "answer", "answer"),
        (AnswerClosedBook, '{"answer": "1953."}', "1953."),
        (RewriteQuery, "search_query\nBush Iraq", "Bush Iraq"),
        (RewriteQuery, "query about Bush", "query about Bush"),
        (ExtractInterpretations, "Here:\n1. When did the 1953 film come out? | 1953 [2]", READINGS[:1]),
        (ExtractInterpretations, "none", []),
        (InferPseudoInterpretations, "1. When is it?\n2. Where is it?", ["When is it?", "Where is it?"]),
        (InferPseudoInterpretations, '["When was it made?"]', ["When was it made?"]),
        (FindDistinct, "1, 3", [1, 3]),
        (FindDistinct, "None", []),
        (signature("text -> answer: float"), "3.5", 3.5),
        (signature("text -> answer: float"), "answer: 3.5", 3.5),
        (signature("text -> kind: Literal['a', 'b']"), "b", "b"),
        (signature("text -> colour: Colour"), "## colour\nred", Colour.RED),
        (signature("text -> answer: Film"), '{"answer": "Titanic", "year": 1997}', Film(answer="Titanic", year=1997)),
        (signature("text -> answer: Film"), '{"answer": {"answer": "Titanic"}}', Film(answer="Titanic")),
        (signature("text -> names: list[str]"), '["a", "b"]', ["a", "b"]),
        (signature("text -> code: dspy.Code"), "```python\n# code\npass\n```", dspy.Code(code="# code\npass")),
        (signature("text -> code: dspy.Code"), "## code\n```python\n# code\npass\n```", dspy.Code(code="# code\npass")),
    ],
)  # fmt: skip
def test_a_single_field_may_be_the_whole_reply(asked: type[dspy.Signature], reply: str, value: Any) -> None:
    (name,) = asked.output_fields
    assert ADAPTER.parse(asked, reply) == {name: value}


@pytest.mark.parametrize(
    ("asked", "reply", "named"),
    [
        (TypeAmbiguity, "", "reason, ambiguity_types"),
        (TypeAmbiguity, "I cannot say.", "reason, ambiguity_types"),
        (TypeAmbiguity, "Two films.\n## ambiguity_types\nAmbSub", "reason"),
        (TypeAmbiguity, "<think>## reason\na\n## ambiguity_types\nAmbSub", "reason, ambiguity_types"),
        (TypeAmbiguity, '{"reason": "Two films.", "ambig', "ambiguity_types"),
        (TypeAmbiguity, "## reason\nTwo films.\n## ambiguity_types\nodd", "field ambiguity_types"),
        (VerifyInterpretation, "Perhaps.", "field answerable"),
        (AnswerClosedBook, '{"half', "no answer"),
        (RewriteQuery, "search_query\n", "no search_query"),
        (AnswerClosedBook, '{"title": "Titanic"}', "no answer"),
        (signature("text -> answer: float"), "about three", "field answer"),
    ],
)
def test_what_cannot_be_read_is_told(asked: type[dspy.Signature], reply: str, named: str) -> None:
    with pytest.raises(AdapterParseError, match=named) as caught:
        ADAPTER.parse(asked, reply)
    assert caught.value.adapter_name == "LeanAdapter"
    assert caught.value.lm_response == reply


def test_a_field_with_a_default_may_be_missing() -> None:
    asked = signature("text -> answer, note: str | None")
    assert ADAPTER.parse(asked, "## answer\nYes.") == {"answer": "Yes.", "note": None}


ITEM = st.text(alphabet="ab1 |[].;:\"'«»{}?-,", min_size=1, max_size=12).map(str.strip).filter(bool)
READING = st.builds(
    lambda question, answer, pid: {"question": question, "answer": answer, "pid": pid},
    ITEM,
    ITEM,
    st.none() | st.integers(1, 20).map(str),
)


@given(st.lists(READING, max_size=4))
def test_any_reading_is_read_back(readings: list[dict[str, Any]]) -> None:
    form = form_told_by("one a line as 1. reading | answer; or none")
    assert form is not None
    meant = form.read(readings)
    assert ADAPTER.parse(ExtractInterpretations, write_in(form, readings)) == {"interpretations": meant}


@pytest.mark.parametrize("text", ["", "Titanic | It sank.", "[2] a", "[1] a\n[3] b", "[1] a\nb", "[1] «a»"])
def test_other_texts_are_no_numbered_lines(text: str) -> None:
    assert numbered_lines(text) == []


# --- as an adapter of DSPy -----------------------------------------------------------------------


def test_an_unreadable_reply_is_not_asked_for_again_in_another_format() -> None:
    engine = ScriptedEngine(lambda _: "Perhaps.", given=last_message)
    with dspy.context(lm=scripted_lm(engine), adapter=ADAPTER), pytest.raises(AdapterParseError):
        dspy.Predict(VerifyInterpretation)(passages=["A | b"], question="Which?")
    assert len(engine.seen) == 1


def test_tools_are_called_without_native_support() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    asked = signature("question, tools: list[dspy.Tool] -> calls: dspy.ToolCalls")
    engine = ScriptedEngine(lambda _: '{"tool_calls": [{"name": "add", "args": {"a": 1, "b": 2}}]}', given=last_message)
    with dspy.context(lm=scripted_lm(engine), adapter=LeanAdapter(use_native_function_calling=True)):
        found = dspy.Predict(asked)(question="1 + 2?", tools=[dspy.Tool(add)])
    assert [(call.name, call.args) for call in found.calls.tool_calls] == [("add", {"a": 1, "b": 2})]


def test_reasoning_comes_first_where_it_is_asked_for() -> None:
    engine = ScriptedEngine(lambda _: "## reasoning\nIt says so.\n\n## answerable\nYes", given=last_message)
    with dspy.context(lm=scripted_lm(engine), adapter=ADAPTER):
        found = dspy.ChainOfThought(VerifyInterpretation)(passages=["A | b"], question="Which?")
    assert (found.reasoning, found.answerable) == ("It says so.", "Yes")


def test_the_configured_adapter_is_honoured() -> None:
    assert isinstance(configured_adapter(), LeanAdapter)
    mine = dspy.JSONAdapter()
    with dspy.context(adapter=mine):
        assert configured_adapter() is mine


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("search_query (George Bush, Iraq, war, 2003)", "George Bush, Iraq, war, 2003"),
        ("search query (Bush (president), Iraq", "Bush (president), Iraq"),
        ("search_query (keywords)\nBush Iraq war", "Bush Iraq war"),
        ("Iraq (war)", "Iraq (war)"),
    ],
)
def test_the_brackets_of_a_fields_description_are_no_part_of_it(reply: str, read: str) -> None:
    """Small models write a field as the prompt describes it."""
    assert LeanAdapter().parse(RewriteQuery, reply)["search_query"] == read
