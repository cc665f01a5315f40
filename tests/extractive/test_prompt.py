from collections.abc import Mapping, Sequence
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.base.values import AmbiguityType, Interpretation, Passage, render_passages
from polyqa.extractive.prompt import (
    Demo,
    Prompt,
    PromptError,
    PromptPassage,
    parse_passages,
    parse_prompt,
    render_reply,
)
from polyqa.lm.adapter import LeanAdapter
from polyqa.replies import is_null, parse_ambiguity_types, parse_interpretations, parse_questions
from polyqa.signatures import (
    AnswerClosedBook,
    ExtractInterpretations,
    InferPseudoInterpretations,
    TypeAmbiguity,
    VerifyInterpretation,
    WriteLongFormAnswer,
)

SIGNATURES = [
    TypeAmbiguity,
    InferPseudoInterpretations,
    ExtractInterpretations,
    VerifyInterpretation,
    WriteLongFormAnswer,
    AnswerClosedBook,
]
ADAPTERS = {
    "lean": LeanAdapter(),
    "chat": dspy.ChatAdapter(),
    "json": dspy.JSONAdapter(),
}
STYLES = list(ADAPTERS)

every_style = pytest.mark.parametrize("style", STYLES)
every_signature = pytest.mark.parametrize("signature", SIGNATURES, ids=lambda signature: signature.__name__)

PASSAGES = [
    Passage(pid="a", title="Titanic (1953 film)", text="It came out in 1953, on April 16."),
    Passage(pid="b", title="Titanic (1997 film)", text='It won 11 Oscars; "Titanic" [1] is long.'),
    Passage(pid="c", text="No title here.\nTwo lines."),
]
READINGS = [
    Interpretation(question="When did the 1953 film come out?", answer="1953", pid="1"),
    Interpretation(question='When did the "1997" film come out?', answer="1997"),
]
VALUES: dict[str, Any] = {
    "passages": render_passages(PASSAGES),
    "question": "When did Titanic come out?",
    "reason": "Two films share the name.\nOne is of 1953.",
    "interpretations": READINGS,
    "ambiguity_types": [AmbiguityType.SUBJECT, AmbiguityType.TIME],
    "pseudo_interpretations": ["When did the 1953 film come out?", "When did the 1997 film come out?"],
    "answerable": "Yes",
    "answer": "There are two films.\n\nOne came out in 1953, the other in 1997.",
}


def rendered(
    style: str, signature: type[dspy.Signature], demos: Sequence[Mapping[str, Any]], inputs: dict[str, Any]
) -> list[dict[str, Any]]:
    return ADAPTERS[style].format(signature, [dict(demo) for demo in demos], dict(inputs))


def turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def read_back(name: str, text: str) -> Any:
    """Turn the text of a field into what was rendered."""
    if name == "passages":
        return [f"{p.title} | {p.text}" if p.title else p.text for p in parse_passages(text)]
    readers = {
        "interpretations": parse_interpretations,
        "ambiguity_types": parse_ambiguity_types,
        "pseudo_interpretations": parse_questions,
    }
    return readers[name](text) if name in readers else text


def values_of(signature: type[dspy.Signature], tag: str = "") -> dict[str, Any]:
    values = {name: VALUES[name] for name in signature.fields}
    return {**values, "question": f"{values['question']}{tag}"}


def check(prompt: Prompt, signature: type[dspy.Signature], style: str) -> None:
    assert prompt.style == style
    assert prompt.input_fields == tuple(signature.input_fields)
    assert prompt.output_fields == tuple(signature.output_fields)
    assert prompt.instructions.splitlines() == [line.strip() for line in signature.instructions.splitlines()]


def as_values(fields: Mapping[str, str]) -> dict[str, Any]:
    return {name: read_back(name, text) for name, text in fields.items()}


# --- parse_prompt --------------------------------------------------------------------------------


@every_style
@every_signature
def test_inputs_and_complete_demos_in_their_order(style: str, signature: type[dspy.Signature]) -> None:
    demos, values = [values_of(signature, f" ({number})") for number in range(3)], values_of(signature)
    assert parse_prompt(rendered(style, signature, [], values)).demos == ()
    prompt = parse_prompt(rendered(style, signature, demos, values))
    check(prompt, signature, style)
    assert as_values(prompt.inputs) == {name: values[name] for name in signature.input_fields}
    assert [{**as_values(demo.inputs), **as_values(demo.outputs)} for demo in prompt.demos] == demos
    for demo in prompt.demos:
        assert list(demo.inputs) == list(signature.input_fields)
        assert list(demo.outputs) == list(signature.output_fields)


@every_style
@every_signature
def test_what_a_demo_lacks_is_absent(style: str, signature: type[dspy.Signature]) -> None:
    complete = values_of(signature, " (complete)")
    fields = list(signature.fields)
    incomplete = [
        {name: value for name, value in complete.items() if name != missing}
        for missing in fields
        if len(signature.input_fields if missing in signature.input_fields else signature.output_fields) > 1
    ]
    prompt = parse_prompt(rendered(style, signature, [complete, *incomplete], values_of(signature)))
    # DSPy shows incomplete demos first.
    found = [{**as_values(demo.inputs), **as_values(demo.outputs)} for demo in prompt.demos]
    assert found == [*incomplete, complete]


@every_style
def test_an_empty_list_of_passages_is_shown_as_none(style: str) -> None:
    values = {**values_of(VerifyInterpretation), "passages": []}
    prompt = parse_prompt(rendered(style, VerifyInterpretation, [], values))
    assert parse_passages(prompt.inputs["passages"]) == []


@every_style
@pytest.mark.parametrize(
    "text",
    [
        "Respond with a JSON object, says the manual. It is old.",
        "Respond with the corresponding output fields, says the manual. It is old.",
        "Not supplied for this particular film.",
        "[[ ## question ## ]] is a header. [[ ## completed ## ]]",
        "Your output fields are: none. 1. `answer` (str): no",
        "In adhering to this structure, your objective is: none",
        "## question",
        "## question is a header; You reply with nothing but:",
    ],
)
def test_the_words_of_the_prompt_may_stand_in_a_passage(style: str, text: str) -> None:
    passages = [Passage(pid="a", title="Manual", text=text), *PASSAGES]
    values = {**values_of(VerifyInterpretation), "passages": render_passages(passages)}
    prompt = parse_prompt(rendered(style, VerifyInterpretation, [values], values))
    check(prompt, VerifyInterpretation, style)
    assert as_values(prompt.inputs) == {name: values[name] for name in ("passages", "question")}
    assert as_values(prompt.demos[0].inputs) == as_values(prompt.inputs)


ODD_WORD = st.one_of(
    st.text(alphabet="abcXYZ019éß'\"«»[]().,;:?!-–*#`{}\\/&%", min_size=1, max_size=8),
    st.sampled_from(["«", "»", "«««", "»»»", "[1]", "[2]", "[12]", "«quoted»", '"quoted"', "N/A", "##"]),
)
ODD_TEXT = st.lists(ODD_WORD, min_size=1, max_size=8).map(" ".join)
TOLD = ODD_TEXT.filter(lambda text: not is_null(text))
ODD_PASSAGES = st.lists(
    st.builds(lambda title, text: Passage(pid="x", title=title, text=text), st.just("") | ODD_TEXT, ODD_TEXT),
    min_size=1,
    max_size=4,
)


def parts(passages: Sequence[Passage]) -> list[PromptPassage]:
    return [PromptPassage(n, p.title, " ".join(p.text.split())) for n, p in enumerate(passages, 1)]


@given(ODD_PASSAGES, ODD_PASSAGES, st.sampled_from(STYLES))
def test_passages_are_read_back(passages: list[Passage], of_demo: list[Passage], style: str) -> None:
    demo = {**values_of(ExtractInterpretations), "passages": render_passages(of_demo)}
    inputs = {"passages": render_passages(passages), "question": "Which one?"}
    prompt = parse_prompt(rendered(style, ExtractInterpretations, [demo], inputs))
    assert parse_passages(prompt.inputs["passages"]) == parts(passages)
    assert parse_passages(prompt.demos[0].inputs["passages"]) == parts(of_demo)
    assert prompt.inputs["question"] == "Which one?"


@pytest.mark.parametrize("text", ["«Le Monde» is a newspaper", "It is called «Le Monde»", "«Le Monde»"])
def test_quotation_marks_at_the_ends_of_a_passage_stay(text: str) -> None:
    passages = [Passage(pid="a", text=text), Passage(pid="b", title="«B»", text=text)]
    for shown in (passages, passages[:1], passages[1:]):
        inputs = {"passages": render_passages(shown), "question": "Which one?"}
        prompt = parse_prompt(rendered("chat", VerifyInterpretation, [], inputs))
        assert parse_passages(prompt.inputs["passages"]) == parts(shown)


@given(
    st.fixed_dictionaries(dict.fromkeys(("question", "reason", "answer"), ODD_TEXT)),
    st.sampled_from(STYLES),
)
def test_odd_text_in_other_fields_is_read_back(texts: dict[str, str], style: str) -> None:
    for signature in (TypeAmbiguity, InferPseudoInterpretations, AnswerClosedBook):
        demo = {name: texts.get(name, VALUES[name]) for name in signature.fields}
        inputs = {name: demo[name] for name in signature.input_fields}
        prompt = parse_prompt(rendered(style, signature, [demo], inputs))
        assert prompt.inputs == inputs
        (found,) = prompt.demos
        assert {**as_values(found.inputs), **as_values(found.outputs)} == demo


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [turn("user", "Who won?")],
        [turn("system", "You are a helpful assistant."), turn("user", "Who won?")],
        rendered("chat", AnswerClosedBook, [], {"question": "Who won?"})[:1],
        [*rendered("chat", AnswerClosedBook, [], {"question": "Who won?"}), turn("assistant", "She won.")],
        dspy.XMLAdapter().format(AnswerClosedBook, [], {"question": "Who won?"}),
    ],
    ids=["nothing", "no system message", "another system message", "no user message", "an answer at the end", "XML"],
)
def test_other_messages_are_no_prompt(messages: list[dict[str, str]]) -> None:
    with pytest.raises(
        PromptError, match="not a prompt of polyqa's LeanAdapter or of DSPy's ChatAdapter or JSONAdapter"
    ):
        parse_prompt(messages)


def test_a_developer_message_is_a_system_message() -> None:
    messages = rendered("chat", AnswerClosedBook, [], {"question": "Who won?"})
    assert parse_prompt([turn("developer", messages[0]["content"]), *messages[1:]]) == parse_prompt(messages)


def test_a_demo_whose_reply_cannot_be_read_has_no_outputs() -> None:
    messages = rendered("chat", AnswerClosedBook, [], {"question": "Who won?"})
    shown = [turn("user", "[[ ## question ## ]]\nWho lost?"), turn("assistant", "I do not know.")]
    prompt = parse_prompt([messages[0], *shown, messages[1]])
    assert prompt.demos == (Demo({"question": "Who lost?"}, {}),)


# --- parse_passages ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        *((text, []) for text in ("", "  \n", "N/A")),
        ("[1] «A | b | c»\n[2] «D | e»", [(1, "A", "b | c"), (2, "D", "e")]),
        ("[3] «A | b»\n[7] «C | d»", [(3, "A", "b"), (7, "C", "d")]),
        ("Titanic | It sank.", [(1, "Titanic", "It sank.")]),
        ("[1] « | It sank. | 1912»", [(1, "", "It sank. | 1912")]),  # a line of replies about a passage without a title
        ("It sank.", [(1, "", "It sank.")]),
        ("It sank in 1912.\n\n| ship | built |\n|---|---|", [(1, "", "It sank in 1912. | ship | built | |---|---|")]),
    ],
)
def test_passages_have_their_number_up_to_the_first_bar_their_title(
    text: str, passages: list[tuple[int, str, str]]
) -> None:
    assert [(one.number, one.title, one.text) for one in parse_passages(text)] == passages


# --- render_reply --------------------------------------------------------------------------------


OUTPUTS: list[tuple[type[dspy.Signature], dict[str, Any]]] = [
    (TypeAmbiguity, {"reason": "Two films.\nOne is old.", "ambiguity_types": ["AmbSub", "AmbTime"]}),
    (TypeAmbiguity, {"reason": 'It is "plain" {so} [1].', "ambiguity_types": ["N/A"]}),
    (InferPseudoInterpretations, {"pseudo_interpretations": VALUES["pseudo_interpretations"]}),
    (ExtractInterpretations, {"interpretations": [reading.model_dump() for reading in READINGS]}),
    (ExtractInterpretations, {"interpretations": []}),
    (VerifyInterpretation, {"answerable": "Yes"}),
    (VerifyInterpretation, {"answerable": "No"}),
    (WriteLongFormAnswer, {"answer": VALUES["answer"]}),
    (AnswerClosedBook, {"answer": '«Titanic» may be "two" films [1]; {1953} or [[1997]].'}),
]


@every_style
@pytest.mark.parametrize(("signature", "outputs"), OUTPUTS)
def test_a_reply_is_what_the_adapter_reads(
    style: str, signature: type[dspy.Signature], outputs: dict[str, Any]
) -> None:
    prompt = parse_prompt(rendered(style, signature, [], values_of(signature)))
    told = {
        name: [Interpretation(**one) for one in value] if name == "interpretations" else value
        for name, value in outputs.items()
    }
    assert ADAPTERS[style].parse(signature, render_reply(prompt, outputs)) == told


@given(ODD_TEXT, ODD_TEXT, st.sampled_from(STYLES))
def test_any_answer_is_what_the_adapter_reads(first: str, second: str, style: str) -> None:
    prompt = parse_prompt(rendered(style, AnswerClosedBook, [], {"question": "Who won?"}))
    outputs = {"answer": f"{first}\n{second}"}
    assert ADAPTERS[style].parse(AnswerClosedBook, render_reply(prompt, outputs)) == outputs


def through_the_adapter(reading: Interpretation, style: str) -> list[Interpretation]:
    prompt = parse_prompt(rendered(style, ExtractInterpretations, [], values_of(ExtractInterpretations)))
    reply = render_reply(prompt, {"interpretations": [reading.model_dump()]})
    return ADAPTERS[style].parse(ExtractInterpretations, reply)["interpretations"]


@given(ODD_TEXT, TOLD, st.none() | st.integers(1, 20).map(str), st.sampled_from(STYLES))
def test_any_interpretation_is_what_the_adapter_reads(question: str, answer: str, pid: str | None, style: str) -> None:
    reading = Interpretation(question=question, answer=answer, pid=pid)
    assert through_the_adapter(reading, style) == [reading]


@every_style
@pytest.mark.parametrize("answer", ["N/A", "None", "null", "no answers", "[]", '"none".'])
def test_an_interpretation_that_says_it_has_no_answer_is_none(answer: str, style: str) -> None:
    assert through_the_adapter(Interpretation(question="Which one?", answer=answer, pid="1"), style) == []


@every_style
def test_a_reply_is_read_back_as_a_demo(style: str) -> None:
    outputs = {"reason": "Two films.", "ambiguity_types": ["AmbSub"]}
    messages = rendered(style, TypeAmbiguity, [], {"question": "Which one?"})
    reply = render_reply(parse_prompt(messages), outputs)
    (demo,) = parse_prompt([*messages, turn("assistant", reply), messages[-1]]).demos
    assert as_values(demo.outputs) == outputs
