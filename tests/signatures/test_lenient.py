import json
import string
from collections.abc import Callable, Iterator
from typing import Any

import dspy
import pytest
from data_files import golden
from dspy.utils.exceptions import AdapterParseError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polyqa.signatures import (
    AmbiguityType,
    ExtractInterpretations,
    InferPseudoInterpretations,
    Interpretation,
    MatchInterpretations,
    TypeAmbiguity,
    VerifyInterpretation,
)
from polyqa.signatures.lenient import (
    is_null,
    parse_ambiguity_types,
    parse_interpretation_lines,
    parse_interpretations,
    parse_lines,
    parse_numbers,
    parse_questions,
    parse_yes_no,
)

GOLDEN = golden("toc_parse_disambig")

WON = ["Who won in 1998?", "Who won in 2002?"]
HOSTS = [
    Interpretation(question="Who hosted in 1998?", answer="Nagano"),
    Interpretation(question="Who hosted in 2002?", answer="Salt Lake City"),
]
# What a reply is made of: enough to hit every branch, and to make broken JSON and broken Python.
JUNK = st.text(alphabet="[]{}()\"'`:;,.?!*-•0123456789 \n\\|#/DQAdqa_yesnoNtrue", max_size=60)
ANY_TEXT = st.one_of(st.text(max_size=80), JUNK)


def chat(signature: type[dspy.Signature], **fields: str) -> dict[str, Any]:
    """Parse a reply of ChatAdapter's format, the way `dspy.Predict` does."""
    parts = [f"[[ ## {name} ## ]]\n{text}" for name, text in fields.items()]
    return dspy.ChatAdapter().parse(signature, "\n\n".join([*parts, "[[ ## completed ## ]]"]))


def chat_questions(text: str) -> list[str]:
    return chat(InferPseudoInterpretations, pseudo_interpretations=text)["pseudo_interpretations"]


def chat_interpretations(text: str) -> list[Interpretation]:
    return chat(ExtractInterpretations, interpretations=text)["interpretations"]


def chat_types(text: str) -> list[AmbiguityType]:
    return chat(TypeAmbiguity, reason="The name is shared.", ambiguity_types=text)["ambiguity_types"]


def chat_yes_no(text: str) -> str:
    return chat(VerifyInterpretation, answerable=text)["answerable"]


def chat_numbers(text: str) -> list[int]:
    return chat(MatchInterpretations, covered=text)["covered"]


questions_ways = pytest.mark.parametrize("parse", [parse_questions, chat_questions])
interpretations_ways = pytest.mark.parametrize("parse", [parse_interpretations, chat_interpretations])
types_ways = pytest.mark.parametrize("parse", [parse_ambiguity_types, chat_types])
yes_no_ways = pytest.mark.parametrize("parse", [parse_yes_no, chat_yes_no])
numbers_ways = pytest.mark.parametrize("parse", [parse_numbers, chat_numbers])


# --- questions -----------------------------------------------------------------------------------


@questions_ways
@pytest.mark.parametrize(
    "text",
    [
        "1. Who won in 1998?\n2. Who won in 2002?",
        "1) Who won in 1998?\n2) Who won in 2002?",
        "(1) Who won in 1998?\n(2) Who won in 2002?",
        "1: Who won in 1998?\n2: Who won in 2002?",
        "  1. Who won in 1998?\n\n  2. Who won in 2002?  ",
        "- Who won in 1998?\n- Who won in 2002?",
        "* Who won in 1998?\n* Who won in 2002?",
        "• Who won in 1998?\n• Who won in 2002?",
        "Who won in 1998?\nWho won in 2002?",
        "Here they are:\n1. Who won in 1998?\n2. Who won in 2002?\nI hope this helps.",
        '1. "Who won in 1998?"\n2. "Who won in 2002?"',
        "DQ 1: Who won in 1998?\nDQ 2: Who won in 2002?",
        "- Question 1: Who won in 1998?\n- Question 2: Who won in 2002?",
        '["Who won in 1998?", "Who won in 2002?"]',
        "['Who won in 1998?', 'Who won in 2002?']",
        '["1. Who won in 1998?", "2. Who won in 2002?"]',
        '```json\n["Who won in 1998?", "Who won in 2002?"]\n```',
        '```\n["Who won in 1998?", "Who won in 2002?"]\n```',
        '{"pseudo_interpretations": ["Who won in 1998?", "Who won in 2002?"]}',
        '{"1": "Who won in 1998?", "2": "Who won in 2002?"}',
        '[{"question": "Who won in 1998?"}, {"Question": "Who won in 2002?"}]',
        "1. Who won in 1998?\n2. who won  in 1998?\n3. Who won in 2002?",
    ],
)
def test_questions_in_every_usual_form(parse: Callable[[str], list[str]], text: str) -> None:
    assert parse(text) == WON


@questions_ways
@pytest.mark.parametrize("text", ["Who won in 1998?", '"Who won in 1998?"', '{"question": "Who won in 1998?"}'])
def test_one_question_is_a_list_of_one(parse: Callable[[str], list[str]], text: str) -> None:
    assert parse(text) == ["Who won in 1998?"]


@questions_ways
@pytest.mark.parametrize("text", ["", "N/A", "n/a", "None", "[]"])
def test_no_questions(parse: Callable[[str], list[str]], text: str) -> None:
    assert parse(text) == []


def test_numbers_in_brackets_are_bullets() -> None:
    assert parse_questions("[1] Who won in 1998?\n[2] Who won in 2002?") == WON


def test_white_space_inside_a_question_is_collapsed() -> None:
    assert parse_questions(["Who  won\tin\n1998?"]) == ["Who won in 1998?"]


def test_quotes_inside_a_question_stay() -> None:
    assert parse_questions('1. Who sang "Hello" first?\n2. Who sang "Hello" last?') == [
        'Who sang "Hello" first?',
        'Who sang "Hello" last?',
    ]


@pytest.mark.parametrize("question", ["1998 was the year of what?", "2.5 million people live where?", "9:30 is what?"])
def test_a_number_that_begins_a_question_is_no_bullet(question: str) -> None:
    assert parse_questions([question]) == [question]


def test_a_list_in_a_list_is_not_taken_for_a_question() -> None:
    try:
        parsed = parse_questions([WON])
    except ValueError:
        return
    assert parsed == WON


@questions_ways
@pytest.mark.parametrize(("text", "shown"), [("banana", "banana"), ("???", "???"), ("1. banana\n2. cherry", "banana")])
def test_nonsense_is_no_question_and_is_shown(parse: Callable[[str], list[str]], text: str, shown: str) -> None:
    with pytest.raises((ValueError, AdapterParseError)) as caught:
        parse(text)
    assert f"not a question: '{shown}'" in str(caught.value)


@pytest.mark.parametrize("value", [7, 1.5, object(), {"a": 1}, [None], [True]])
def test_values_of_other_kinds_are_no_questions(value: Any) -> None:
    with pytest.raises(ValueError, match="question"):
        parse_questions(value)


def test_none_is_no_question() -> None:
    assert parse_questions(None) == []


def test_parse_lines_keeps_plain_lines_only_without_bullets() -> None:
    assert parse_lines("first line\n\nsecond line") == ["first line", "second line"]
    assert parse_lines("prose\n- item\nmore prose") == ["item"]
    assert parse_lines("  \n") == []


# Words of letters; two questions that differ in case only would count as one.
WORD = st.text(alphabet=string.ascii_letters + "äéñøß", min_size=1, max_size=9)
QUESTION = st.lists(WORD, min_size=2, max_size=7).map(lambda words: " ".join(words) + "?")
QUESTIONS = st.lists(QUESTION, min_size=1, max_size=6, unique_by=str.lower)


def rendered_lists(questions: list[str]) -> Iterator[str]:
    for mark in ("{}. ", "{}) ", "({}) ", "{}: ", " {}. "):
        yield "\n".join(mark.format(n) + question for n, question in enumerate(questions, 1))
    for bullet in ("- ", "* ", "• ", "– ", "  - "):
        yield "\n".join(bullet + question for question in questions)
    yield "\n".join(f"- DQ {n}: {question}" for n, question in enumerate(questions, 1))
    yield "Here are the questions:\n" + "\n".join(f"{n}. {question}" for n, question in enumerate(questions, 1))
    yield "\n".join(questions)
    yield repr(questions)
    yield json.dumps(questions)
    yield json.dumps(questions, ensure_ascii=False, indent=2)
    yield "```json\n" + json.dumps(questions) + "\n```"
    yield json.dumps({"pseudo_interpretations": questions})
    yield json.dumps([{"question": question} for question in questions])


@given(QUESTIONS)
@settings(max_examples=60)
def test_every_rendered_list_of_questions_parses_back(questions: list[str]) -> None:
    assert parse_questions(questions) == questions
    for text in rendered_lists(questions):
        assert parse_questions(text) == questions, text


@given(QUESTIONS)
@settings(max_examples=30)
def test_every_rendered_list_of_questions_parses_back_through_dspy(questions: list[str]) -> None:
    for text in rendered_lists(questions):
        assert chat_questions(text) == questions, text


# --- interpretations -----------------------------------------------------------------------------


@interpretations_ways
@pytest.mark.parametrize(
    "text",
    [
        "DQ 1: Who hosted in 1998?\nDA 1: Nagano\nDQ 2: Who hosted in 2002?\nDA 2: Salt Lake City",
        "DQ 1: Who hosted in 1998?\nDA 1: Nagano\n\nDQ 2: Who hosted in 2002?\nDA 2: Salt Lake City",
        "dq1: Who hosted in 1998?\nda1: Nagano\ndq2: Who hosted in 2002?\nda2: Salt Lake City",
        "- DQ 1: Who hosted in 1998?\n- DA 1: Nagano\n- DQ 2: Who hosted in 2002?\n- DA 2: Salt Lake City",
        "**DQ 1:** Who hosted in 1998?\n**DA 1:** Nagano\n**DQ 2:** Who hosted in 2002?\n**DA 2:** Salt Lake City",
        "Question 1: Who hosted in 1998?\nAnswer 1: Nagano\nQuestion 2: Who hosted in 2002?\nAnswer 2: Salt Lake City",
        "Question 1: Who hosted in 1998?\nAnswer: Nagano\nQuestion 2: Who hosted in 2002?\nAnswer: Salt Lake City",
        "Question: Who hosted in 1998?\nShort answer: Nagano\n"
        "Question: Who hosted in 2002?\nShort answer: Salt Lake City",
        "Disambiguations:\nDQ 1: Who hosted in 1998?\nsome prose\nDA 1: Nagano\n"
        "DQ 2: Who hosted in 2002?\nDA 2: Salt Lake City\nDQ 3: Who hosted in 2006?",
        '[{"question": "Who hosted in 1998?", "answer": "Nagano"}, '
        '{"question": "Who hosted in 2002?", "answer": "Salt Lake City"}]',
        '```json\n[{"question": "Who hosted in 1998?", "answer": "Nagano"}, '
        '{"question": "Who hosted in 2002?", "answer": "Salt Lake City"}]\n```',
        '{"interpretations": [{"question": "Who hosted in 1998?", "answer": "Nagano"}, '
        '{"question": "Who hosted in 2002?", "answer": "Salt Lake City"}]}',
        '[{"Disambiguated_Question": "Who hosted in 1998?", "Short_Answer": "Nagano"}, '
        '{"dq": "Who hosted in 2002?", "da": "Salt Lake City"}]',
        '[["Who hosted in 1998?", "Nagano"], ["Who hosted in 2002?", "Salt Lake City"]]',
        "[{'question': 'Who hosted in 1998?', 'answer': 'Nagano', 'pid': None}, "
        "{'question': 'Who hosted in 2002?', 'answer': 'Salt Lake City', 'pid': None}]",
        '["DQ 1: Who hosted in 1998?", "DA 1: Nagano", "DQ 2: Who hosted in 2002?", "DA 2: Salt Lake City"]',
    ],
)
def test_interpretations_in_every_usual_form(parse: Callable[[str], list[Interpretation]], text: str) -> None:
    assert parse(text) == HOSTS


@interpretations_ways
@pytest.mark.parametrize(
    "text",
    [
        '{"question": "Who hosted in 1998?", "answer": "Nagano", "pid": "2"}',
        '{"question": "Who hosted in 1998?", "answer": "Nagano", "pid": 2}',
        '{"question": "Who hosted in 1998?", "answer": "Nagano", "passage": "[2]"}',
        '[{"question": "Who hosted in 1998?", "answer": ["Nagano"], "source": " 2 "}]',
        "DQ 1: Who hosted in 1998?\nDA 1: Nagano\nPassage: 2",
        "DQ 1: Who hosted in 1998?\nDA 1: Nagano\nSource 1: 2",
    ],
)
def test_an_interpretation_with_its_passage(parse: Callable[[str], list[Interpretation]], text: str) -> None:
    assert parse(text) == [HOSTS[0].model_copy(update={"pid": "2"})]


@interpretations_ways
@pytest.mark.parametrize("text", ["", "N/A", "none", "None", "None.", "[]", '{"interpretations": []}'])
def test_no_interpretations(parse: Callable[[str], list[Interpretation]], text: str) -> None:
    assert parse(text) == []


@interpretations_ways
@pytest.mark.parametrize("nothing", ["null", '""', '"N/A"', '"None."', "[]"])
def test_a_question_that_nothing_answers_is_left_out_and_the_others_stay(
    parse: Callable[[str], list[Interpretation]], nothing: str
) -> None:
    unanswered = f'{{"question": "Who hosted in 1994?", "answer": {nothing}}}'
    told = '{"question": "Who hosted in 1998?", "answer": "Nagano"}'
    assert parse(f"[{told}, {unanswered}]") == [HOSTS[0]]
    assert parse(f"[{unanswered}]") == []


@interpretations_ways
@pytest.mark.parametrize("nothing", ["", "N/A", "NONE", '"None."', "null"])
def test_so_is_one_in_lines(parse: Callable[[str], list[Interpretation]], nothing: str) -> None:
    unanswered = f"DQ 2: Who hosted in 1994?\nDA 2: {nothing}"
    assert parse(unanswered) == []
    told = parse(f"DQ 1: Who hosted in 1998?\nDA 1: Nagano\nPassage: 2\n{unanswered}\nPassage: 4")
    assert told == [HOSTS[0].model_copy(update={"pid": "2"})]


@interpretations_ways
@pytest.mark.parametrize("more", ['"notes": []', '"passages": ["1", "2"]', '"reasoning": "Two games."'])
def test_the_list_is_found_among_other_fields(parse: Callable[[str], list[Interpretation]], more: str) -> None:
    assert parse(f'{{"interpretations": [{{"question": "Who hosted in 1998?", "answer": "Nagano"}}], {more}}}') == [
        HOSTS[0]
    ]


def test_interpretations_that_are_values_already() -> None:
    assert parse_interpretations(HOSTS) == HOSTS
    assert parse_interpretations(HOSTS[0]) == [HOSTS[0]]
    assert parse_interpretations(tuple(HOSTS)) == HOSTS
    assert parse_interpretations(None) == []


def test_several_short_answers_make_one() -> None:
    value = {"question": "Who hosted in 1998?", "short_answers": ["Nagano", "Japan"]}
    assert parse_interpretations(value)[0].answer == "Nagano; Japan"


def test_the_answer_zero_is_an_answer() -> None:
    assert parse_interpretations([{"question": "How many?", "answer": 0}])[0].answer == "0"


@interpretations_ways
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Nothing of the kind", "no interpretation found in: 'Nothing of the kind'"),
        ("DA 1: Nagano\nDQ 1: Who hosted?", "no interpretation found in: 'DA 1: Nagano"),
        ("DQ 1: Who hosted in 1998?", "no interpretation found in: 'DQ 1: Who hosted in 1998?'"),
        (
            '{"question": "Who hosted in 1998?"}',
            "not an interpretation with a question and an answer: {'question': 'Who hosted in 1998?'",
        ),
        (
            '[{"question": "", "answer": "Nagano"}]',
            "not an interpretation with a question and an answer: {'question': '', 'answer': 'Nagano'}",
        ),
        ("[1, 2]", "not an interpretation with a question and an answer: 1"),
    ],
)
def test_nonsense_is_no_interpretation_and_is_shown(
    parse: Callable[[str], list[Interpretation]], text: str, message: str
) -> None:
    with pytest.raises((ValueError, AdapterParseError)) as caught:
        parse(text)
    assert message in str(caught.value)


def test_the_long_answer_ends_the_list() -> None:
    text = "DQ 1: Who hosted in 1998?\nDA 1: Nagano\nAnswer: Nagano hosted.\nDQ 1: Who sang?\nDA 1: Nobody"
    assert parse_interpretation_lines(text) == [HOSTS[0]]


def test_the_long_answer_is_not_the_answer_of_a_question_without_one() -> None:
    text = "DQ 1: Who hosted in 1998?\nDA 1: Nagano\nDQ 2: Who hosted in 2002?\nAnswer: Nagano hosted in 1998."
    assert parse_interpretation_lines(text) == [HOSTS[0]]


def test_quotes_around_a_part_of_an_answer_stay() -> None:
    pairs = parse_interpretation_lines('DQ 1: Which songs?\nDA 1: "Hello" and "Goodbye"')
    assert pairs[0].answer == '"Hello" and "Goodbye"'


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: repr(case["input"])[:40])
def test_every_pair_of_the_released_parser_is_found_in_order(case: dict[str, Any]) -> None:
    try:
        found = [(pair.question, pair.answer) for pair in parse_interpretations(case["input"])]
    except ValueError:
        found = []
    rest = iter(found)
    for pair in case["output"]:
        assert (pair["question"], pair["answer"]) in rest, found


PLAIN_ANSWER = (
    st.lists(st.text(alphabet=string.ascii_letters + string.digits, min_size=1, max_size=8), min_size=1, max_size=4)
    .map(" ".join)
    .filter(lambda text: not is_null(text))
)
PID = st.none() | st.integers(0, 99).map(str)
PLAIN_INTERPRETATIONS = st.lists(
    st.builds(Interpretation, question=QUESTION, answer=PLAIN_ANSWER, pid=PID), min_size=1, max_size=5
)
STRIPPED = st.text(min_size=1, max_size=40).map(str.strip).filter(bool)
TOLD = STRIPPED.filter(lambda text: not is_null(text))
ANY_INTERPRETATIONS = st.lists(st.builds(Interpretation, question=STRIPPED, answer=TOLD, pid=PID), max_size=4)


@given(ANY_INTERPRETATIONS)
def test_interpretations_round_trip_through_json(pairs: list[Interpretation]) -> None:
    dumped = [pair.model_dump() for pair in pairs]
    for text in (
        json.dumps(dumped),
        json.dumps(dumped, ensure_ascii=False, indent=2),
        f"```json\n{json.dumps(dumped)}\n```",
        json.dumps({"interpretations": dumped}),
        repr(dumped),
    ):
        assert parse_interpretations(text) == pairs


@given(PLAIN_INTERPRETATIONS)
@settings(max_examples=60)
def test_interpretations_round_trip_through_lines(pairs: list[Interpretation]) -> None:
    lines = []
    for number, pair in enumerate(pairs, 1):
        lines += [f"DQ {number}: {pair.question}", f"DA {number}: {pair.answer}"]
        lines += [f"Passage: {pair.pid}"] if pair.pid is not None else []
    for text in ("\n".join(lines), "\n\n".join(lines), "\n".join(f"- {line}" for line in lines)):
        assert parse_interpretations(text) == pairs
        assert chat_interpretations(text) == pairs


@given(PLAIN_INTERPRETATIONS)
@settings(max_examples=30)
def test_what_dspy_shows_in_a_demo_it_reads_back(pairs: list[Interpretation]) -> None:
    for adapter in (dspy.ChatAdapter(), dspy.JSONAdapter()):
        reply = adapter.format_assistant_message_content(ExtractInterpretations, {"interpretations": pairs})
        assert adapter.parse(ExtractInterpretations, reply) == {"interpretations": pairs}


# --- yes or no -----------------------------------------------------------------------------------


@yes_no_ways
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Yes", "Yes"),
        ("Yes.", "Yes"),
        ("YES", "Yes"),
        ("yes, the second passage says so", "Yes"),
        ("**Yes**", "Yes"),
        ("'Yes'", "Yes"),
        ("[Yes]", "Yes"),
        ('{"answerable": "Yes"}', "Yes"),
        ("Answer: yes", "Yes"),
        ("true", "Yes"),
        ("No", "No"),
        ("no.", "No"),
        ("No, although yes would be nicer", "No"),
        ("Nothing there: no", "No"),
        ("False", "No"),
    ],
)
def test_yes_and_no_in_every_usual_form(parse: Callable[[str], str], text: str, verdict: str) -> None:
    assert parse(text) == verdict


def test_a_digit_is_a_verdict_for_dspy() -> None:
    assert [chat_yes_no("1"), chat_yes_no("0")] == ["Yes", "No"]


@yes_no_ways
@pytest.mark.parametrize("text", ["", "maybe", "N/A", "yesterday", "nobody knows"])
def test_neither_yes_nor_no(parse: Callable[[str], str], text: str) -> None:
    with pytest.raises((ValueError, AdapterParseError), match="neither Yes nor No") as caught:
        parse(text)
    assert text in str(caught.value)


@pytest.mark.parametrize("text", ["No [1]", "No. See passage [1].", "No, passage [1] is about another year"])
def test_a_citation_beside_no_does_not_turn_it_into_yes(text: str) -> None:
    try:
        verdict = chat_yes_no(text)
    except AdapterParseError:
        return  # loud is fine: DSPy asks again
    assert verdict == "No"


def test_yes_no_values() -> None:
    assert {parse_yes_no(value) for value in (True, 1, ["Yes"], [True])} == {"Yes"}
    assert {parse_yes_no(value) for value in (False, 0, ["no"], [False])} == {"No"}
    for value in (None, 2, [], ["Perhaps"]):
        with pytest.raises(ValueError, match="neither Yes nor No"):
            parse_yes_no(value)


@given(ANY_TEXT)
def test_yes_no_is_total_over_text(text: str) -> None:
    try:
        verdict = parse_yes_no(text)
    except ValueError:
        assert "yes" not in text.lower().split()
        return
    assert verdict in ("Yes", "No")
    assert verdict.lower() in text.lower() or {"Yes": "true", "No": "false"}[verdict] in text.lower()


# --- ambiguity types -----------------------------------------------------------------------------


@types_ways
@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("AmbSub", [AmbiguityType.SUBJECT]),
        ("[AmbSub]", [AmbiguityType.SUBJECT]),
        ("[ambsub]", [AmbiguityType.SUBJECT]),
        ("AMBTIME.", [AmbiguityType.TIME]),
        ("Subject", [AmbiguityType.SUBJECT]),
        ("Ambiguity: AmbLoc", [AmbiguityType.LOCATION]),
        ("AmbSub, AmbTime", [AmbiguityType.SUBJECT, AmbiguityType.TIME]),
        ("AmbTime and AmbSub", [AmbiguityType.TIME, AmbiguityType.SUBJECT]),
        ("[ambtime, ambsub]", [AmbiguityType.TIME, AmbiguityType.SUBJECT]),
        ("[AmbSub], [AmbTime]", [AmbiguityType.SUBJECT, AmbiguityType.TIME]),
        ("- AmbObj\n- AmbPred", [AmbiguityType.OBJECT, AmbiguityType.PREDICATE]),
        ('["AmbObj", "AmbPred", "AmbObj"]', [AmbiguityType.OBJECT, AmbiguityType.PREDICATE]),
        ('```json\n["AmbLoc"]\n```', [AmbiguityType.LOCATION]),
        ('{"ambiguity_types": ["AmbPred"]}', [AmbiguityType.PREDICATE]),
        ("N/A", [AmbiguityType.NONE]),
        ("[N/A]", [AmbiguityType.NONE]),
        ("none", [AmbiguityType.NONE]),
        ("Unambiguous", [AmbiguityType.NONE]),
        ("N/A, AmbTime", [AmbiguityType.TIME]),
        ('["N/A"]', [AmbiguityType.NONE]),
    ],
)
def test_ambiguity_types_in_every_usual_form(
    parse: Callable[[str], list[AmbiguityType]], text: str, types: list[AmbiguityType]
) -> None:
    assert parse(text) == types


@types_ways
@pytest.mark.parametrize("text", ["", "banana", "meantime", "objection", "[]"])
def test_no_label_at_all(parse: Callable[[str], list[AmbiguityType]], text: str) -> None:
    with pytest.raises((ValueError, AdapterParseError), match="no ambiguity type") as caught:
        parse(text)
    assert text in str(caught.value)
    assert "AmbSub, AmbObj, AmbPred, AmbTime, AmbLoc, N/A" in str(caught.value)


def test_ambiguity_types_that_are_values_already() -> None:
    assert parse_ambiguity_types([AmbiguityType.TIME, AmbiguityType.NONE]) == [AmbiguityType.TIME]
    assert parse_ambiguity_types(AmbiguityType.NONE) == [AmbiguityType.NONE]
    assert parse_ambiguity_types(None) == [AmbiguityType.NONE]


@given(st.lists(st.sampled_from(list(AmbiguityType)), min_size=1, unique=True), st.booleans())
def test_lists_of_labels_round_trip(types: list[AmbiguityType], lower: bool) -> None:
    text = ", ".join(types)
    expected = [label for label in types if label is not AmbiguityType.NONE] or types
    assert parse_ambiguity_types(text.lower() if lower else text) == expected
    assert chat_types(json.dumps(types)) == expected


# --- numbers -------------------------------------------------------------------------------------


@numbers_ways
@pytest.mark.parametrize(
    "text",
    [
        "[1, 3]",
        "1, 3",
        "1,3",
        "1 and 3",
        "1; 3",
        "1\n3",
        "1.\n3.",
        "1, 3.",
        "- 1\n- 3",
        "* 1\n* 3",
        "(1, 3)",
        "[1], [3]",
        "[1, 3].",
        "#1, #3",
        "**1**, **3**",
        "Covered: 1 and 3.",
        "Covered: [1, 3]",
        "Readings to keep: 1, 3",
        "The covered readings are 1 and 3.",
        '["1", "3"]',
        "['1', '3']",
        "```json\n[1, 3]\n```",
        '{"covered": [1, 3]}',
        '{"covered": "1, 3"}',
        "1, 3, 1",
    ],
)
def test_numbers_in_every_usual_form(parse: Callable[[str], list[int]], text: str) -> None:
    assert parse(text) == [1, 3]


@numbers_ways
@pytest.mark.parametrize("text", ["2", "2.", "[2]", "(2)", "Reading 2"])
def test_one_number_is_a_list_of_one(parse: Callable[[str], list[int]], text: str) -> None:
    assert parse(text) == [2]


@numbers_ways
@pytest.mark.parametrize("text", ["", "[]", "[ ]", "none", "None", "None.", "N/A", "[none]", "null", '{"covered": []}'])
def test_no_numbers(parse: Callable[[str], list[int]], text: str) -> None:
    assert parse(text) == []


@numbers_ways
@pytest.mark.parametrize(
    "text",
    [
        "all",
        "nothing",
        "Yes",
        "No",
        "true",
        "false",
        "[true, false, true]",
        "1: yes\n2: no\n3: yes",
        '{"1": true, "2": false, "3": true}',
        "1, 3 (not 2)",
        "all but 2",
        "all except 2",
        "1-3",
        "1 – 3",
        "1 to 3",
        "1 through 3",
        "1.5",
    ],
)
def test_what_is_no_list_of_numbers_is_refused_and_shown(parse: Callable[[str], list[int]], text: str) -> None:
    with pytest.raises((ValueError, AdapterParseError), match="no list of numbers") as caught:
        parse(text)
    assert text.splitlines()[0] in str(caught.value)


def test_numbers_that_are_values_already() -> None:
    assert parse_numbers([3, 1, 3]) == [3, 1]
    assert parse_numbers((1, 2.0, "3")) == [1, 2, 3]
    assert parse_numbers([[1], [3]]) == [1, 3]
    assert parse_numbers(7) == [7]
    assert parse_numbers(None) == parse_numbers([None]) == []
    assert parse_numbers([-1, 0]) == [-1, 0]  # whoever shows the numbers knows which are too many


@pytest.mark.parametrize("value", [True, [True, False], 1.5, float("nan"), float("inf"), {"1": 1, "2": 2}, object()])
def test_values_of_other_kinds_are_no_numbers(value: Any) -> None:
    with pytest.raises(ValueError, match="no list of numbers"):
        parse_numbers(value)


def test_a_long_number_is_one_number() -> None:
    assert parse_numbers("12345") == chat_numbers("12345") == [12345]


@given(st.lists(st.integers(1, 60), max_size=8, unique=True))
def test_every_rendered_list_of_numbers_parses_back(numbers: list[int]) -> None:
    texts = [str(numbers), json.dumps({"covered": numbers})]
    if numbers:
        texts += [", ".join(map(str, numbers)), "\n".join(map(str, numbers)), f"Covered: {numbers}"]
    for text in texts:
        assert parse_numbers(text) == numbers, text
        assert chat_numbers(text) == numbers, text


# --- all together --------------------------------------------------------------------------------

direct_parsers = pytest.mark.parametrize(
    "parse",
    [
        parse_questions,
        parse_interpretations,
        parse_interpretation_lines,
        parse_lines,
        parse_yes_no,
        parse_ambiguity_types,
        parse_numbers,
    ],
)


def outcome(parse: Callable[[str], Any], text: str, expected: type[Exception]) -> Any:
    """Return what a parser returns, or the error of the expected kind that it raises."""
    try:
        return parse(text)
    except expected as error:
        return error


@direct_parsers
@given(text=ANY_TEXT)
@example(text="{[1]: 2}")
@example(text="{1, 2}")
@example(text="[b'x', ...]")
@example(text="[\0]")
@settings(max_examples=150)
def test_arbitrary_text_raises_nothing_but_value_error(parse: Callable[[str], Any], text: str) -> None:
    found = outcome(parse, text, ValueError)
    assert str(found) if isinstance(found, ValueError) else isinstance(found, (list, str))


@direct_parsers
@pytest.mark.parametrize("opening", ["[", "{'a': ", '{"a": '])
def test_deep_nesting_raises_nothing_but_value_error(parse: Callable[[str], Any], opening: str) -> None:
    assert isinstance(outcome(parse, opening * 3_000, ValueError), (list, ValueError))


@pytest.mark.parametrize("parse", [chat_questions, chat_interpretations, chat_types, chat_yes_no, chat_numbers])
@given(text=ANY_TEXT)
@example(text="{[1]: 2}")
@settings(max_examples=60)
def test_arbitrary_replies_fail_as_dspy_expects(parse: Callable[[str], Any], text: str) -> None:
    found = outcome(parse, text, AdapterParseError)
    assert isinstance(found, (list, str)) or "Failed to parse field" in str(found)
