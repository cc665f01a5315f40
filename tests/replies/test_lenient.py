"""What language models write, as the lenient types read it: by the parser alone, and through DSPy's adapter."""

import contextlib
import json
import string
from collections.abc import Iterator
from typing import Any

import dspy
import pytest
from data_files import golden
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given, settings
from hypothesis import strategies as st
from lenient_kinds import KINDS

from polyqa.base.values import AmbiguityType, Grade, Interpretation, Support
from polyqa.lm.adapter import LeanAdapter
from polyqa.replies import (
    is_null,
    parse_ambiguity_types,
    parse_answers,
    parse_interpretations,
    parse_numbers,
    parse_questions,
    parse_yes_no,
)
from polyqa.replies.text import parse_lines
from polyqa.signatures import ExtractInterpretations, InferPseudoInterpretations

WON = ["Who won in 1998?", "Who won in 2002?"]
HOSTS = [
    Interpretation(question="Who hosted in 1998?", answer="Nagano"),
    Interpretation(question="Who hosted in 2002?", answer="Salt Lake City"),
]
NAGANO_IN_2 = HOSTS[0].model_copy(update={"pid": "2"})
JONES = ["1901", "Horace Jones"]
SUBJECT, OBJECT, PREDICATE, TIME, LOCATION, NONE = AmbiguityType
# Kind, what is read, and how it may be written. Usual lists and lines are rendered below, under "round trips".
WRITTEN: list[tuple[str, Any, list[str]]] = [
    (
        "questions",
        WON,
        [
            "  1. Who won in 1998?\n\n  2. Who won in 2002?  ",
            "Here they are:\n1. Who won in 1998?\n2. Who won in 2002?\nI hope this helps.",
            '1. "Who won in 1998?"\n2. "Who won in 2002?"',
            "DQ 1: Who won in 1998?\nDQ 2: Who won in 2002?",
            "- Question 1: Who won in 1998?\n- Question 2: Who won in 2002?",
            '["1. Who won in 1998?", "2. Who won in 2002?"]',
            '```\n["Who won in 1998?", "Who won in 2002?"]\n```',
            "1. Who won in 1998?\n2. who won  in 1998?\n3. Who won in 2002?",
        ],
    ),
    ("questions", WON[:1], ["Who won in 1998?", '"Who won in 1998?"']),
    ("questions", [], ["", "N/A", "n/a", "None", "[]"]),
    (
        "interpretations",
        HOSTS,
        [
            "dq1: Who hosted in 1998?\nda1: Nagano\ndq2: Who hosted in 2002?\nda2: Salt Lake City",
            "**DQ 1:** Who hosted in 1998?\n**DA 1:** Nagano\n**DQ 2:** Who hosted in 2002?\n**DA 2:** Salt Lake City",
            "Question 1: Who hosted in 1998?\nAnswer 1: Nagano\nQuestion 2: Who hosted in 2002?\n"
            "Answer 2: Salt Lake City",
            "Question 1: Who hosted in 1998?\nAnswer: Nagano\nQuestion 2: Who hosted in 2002?\nAnswer: Salt Lake City",
            "Question: Who hosted in 1998?\nShort answer: Nagano\n"
            "Question: Who hosted in 2002?\nShort answer: Salt Lake City",
            "Disambiguations:\nDQ 1: Who hosted in 1998?\nsome prose\nDA 1: Nagano\n"
            "DQ 2: Who hosted in 2002?\nDA 2: Salt Lake City\nDQ 3: Who hosted in 2006?",
            '[{"Disambiguated_Question": "Who hosted in 1998?", "Short_Answer": "Nagano"}, '
            '{"dq": "Who hosted in 2002?", "da": "Salt Lake City"}]',
            '[["Who hosted in 1998?", "Nagano"], ["Who hosted in 2002?", "Salt Lake City"]]',
            '["DQ 1: Who hosted in 1998?", "DA 1: Nagano", "DQ 2: Who hosted in 2002?", "DA 2: Salt Lake City"]',
        ],
    ),
    (
        "interpretations",
        [NAGANO_IN_2],
        [
            '{"question": "Who hosted in 1998?", "answer": "Nagano", "pid": "2"}',
            '{"question": "Who hosted in 1998?", "answer": "Nagano", "pid": 2}',
            '{"question": "Who hosted in 1998?", "answer": "Nagano", "passage": "[2]"}',
            '[{"question": "Who hosted in 1998?", "answer": ["Nagano"], "source": " 2 "}]',
            "DQ 1: Who hosted in 1998?\nDA 1: Nagano\nPassage: 2",
            "DQ 1: Who hosted in 1998?\nDA 1: Nagano\nSource 1: 2",
        ],
    ),
    (  # the list is found among other fields
        "interpretations",
        HOSTS[:1],
        [
            f'{{"interpretations": [{{"question": "Who hosted in 1998?", "answer": "Nagano"}}], {more}}}'
            for more in ('"notes": ""', '"reasoning": "Two games."')
        ],
    ),
    (
        "interpretations",
        [Interpretation(question="When was Reading (Berkshire) founded?", answer="1121", pid="1")],
        ["1. When was Reading (Berkshire) founded? | 1121 [1]"],
    ),
    ("interpretations", [], ["", "N/A", "none", "None", "None.", "[]", '{"interpretations": []}']),
    ("types", [SUBJECT], ["AmbSub", "[AmbSub]", "[ambsub]", "Subject", '["subject"]']),
    ("types", [TIME], ["AMBTIME.", "N/A, AmbTime"]),
    ("types", [LOCATION], ["Ambiguity: AmbLoc", '```json\n["AmbLoc"]\n```']),
    ("types", [PREDICATE], ['{"ambiguity_types": ["AmbPred"]}']),
    ("types", [SUBJECT, TIME], ["AmbSub, AmbTime", "[AmbSub], [AmbTime]"]),
    ("types", [TIME, SUBJECT], ["AmbTime and AmbSub", "[ambtime, ambsub]"]),
    ("types", [OBJECT, PREDICATE], ["- AmbObj\n- AmbPred", '["AmbObj", "AmbPred", "AmbObj"]']),
    ("types", [NONE], ["N/A", "[N/A]", "none", "Unambiguous", '["N/A"]', "[]"]),
    (
        "yes or no",
        "Yes",
        [
            *("Yes", "Yes.", "YES", "**Yes**", "'Yes'", "[Yes]", "Answer: yes", "true"),
            "yes, the second passage says so",
            '{"answerable": "Yes"}',
        ],
    ),
    (
        "yes or no",
        "No",
        [
            *("No", "no.", "No, although yes would be nicer", "Nothing there: no", "False"),
            *("No [1]", "No. See passage [1].", "No, passage [1] is about another year"),
        ],
    ),
    (
        "numbers",
        [1, 3],
        [
            *("[1, 3]", "1, 3", "1,3", "1 and 3", "1; 3", "1\n3", "1.\n3.", "1, 3.", "- 1\n- 3", "* 1\n* 3", "(1, 3)"),
            *("[1], [3]", "[1, 3].", "#1, #3", "**1**, **3**", "Covered: 1 and 3.", "Covered: [1, 3]"),
            *("Readings to keep: 1, 3", '["1", "3"]'),
            *("```json\n[1, 3]\n```", '{"covered": [1, 3]}', "1, 3, 1"),
        ],
    ),
    ("numbers", [2], ["2", "2.", "[2]", "(2)", "Reading 2"]),
    ("numbers", [12345], ["12345"]),
    ("numbers", [], ["", "[]", "[ ]", "none", "None", "None.", "N/A", "[none]", "null", '{"covered": []}']),
    (
        "answers",
        JONES,
        [
            '["1901", "Horace Jones"]',
            '[1901, "Horace Jones"]',
            '```json\n["1901", "Horace Jones"]\n```',
            '{"answers": ["1901", "Horace Jones"]}',
            "1. 1901\n2. Horace Jones",
            "- 1901\n- Horace Jones",
            "* 1901\n* Horace Jones\n* horace jones",
            '1. "1901"\n2. "Horace Jones"',
            "1901; Horace Jones",
            "Spans:\n- 1901\n- Horace Jones",
        ],
    ),
    ("answers", JONES[1:], ["Horace Jones"]),
    ("answers", ["1,079 blocks"], ["1,079 blocks"]),
    ("answers", [], ["", "[]", "None", "none.", "N/A", '["None"]']),
    ("grade", Grade.CORRECT, ["Correct"]),
    ("grade", Grade.AMBIGUOUS, ["Ambiguous (it could be correct)"]),
    ("grade", Grade.INCORRECT, ["**incorrect.**", "The passage is Incorrect", "Incorrect: it is about the ship."]),
    ("support", Support.FULLY, ["Fully supported"]),
    ("support", Support.PARTIALLY, ["[Partially supported]", "Partially supported.", "partly"]),
    ("support", Support.NO, ["No support / contradictory", "not supported", "none"]),
    ("mark", 4, ["4/5", "4 out of 5"]),
    ("mark", 2, ["Usefulness: 2"]),
]
# What is read of values, and of text that DSPy's repairing parser would change before we see it.
VALUES: list[tuple[str, Any, list[Any]]] = [
    ("questions", WON, ["[1] Who won in 1998?\n[2] Who won in 2002?"]),
    ("questions", WON[:1], [["Who  won\tin\n1998?"]]),
    (
        "questions",
        ['Who sang "Hello" first?', 'Who sang "Hello" last?'],
        ['1. Who sang "Hello" first?\n2. Who sang "Hello" last?'],
    ),
    ("questions", [], [None]),
    *[
        ("questions", [question], [[question]])  # a number that begins a question is no bullet
        for question in ("1998 was the year of what?", "2.5 million people live where?", "9:30 is what?")
    ],
    ("interpretations", HOSTS, [HOSTS, tuple(HOSTS)]),
    ("interpretations", HOSTS[:1], [HOSTS[0]]),
    ("interpretations", [], [None]),
    (
        "interpretations",
        HOSTS[:1],
        [
            # The long answer ends the list, and is not the answer of a question without one.
            "DQ 1: Who hosted in 1998?\nDA 1: Nagano\nAnswer: Nagano hosted.\nDQ 1: Who sang?\nDA 1: Nobody",
            "DQ 1: Who hosted in 1998?\nDA 1: Nagano\nDQ 2: Who hosted in 2002?\nAnswer: Nagano hosted in 1998.",
        ],
    ),
    (
        "interpretations",
        [Interpretation(question="Which songs?", answer='"Hello" and "Goodbye"')],
        ['DQ 1: Which songs?\nDA 1: "Hello" and "Goodbye"'],
    ),
    (
        "interpretations",
        [Interpretation(question="Who hosted?", answer="Nagano; Japan")],
        [{"question": "Who hosted?", "short_answer": ["Nagano", "Japan"]}],
    ),
    ("interpretations", [Interpretation(question="How many?", answer="0")], [[{"question": "How many?", "answer": 0}]]),
    ("types", [TIME], [[TIME, NONE]]),
    ("types", [NONE], [NONE, None]),
    ("yes or no", "Yes", [True, 1, ["Yes"], [True]]),
    ("yes or no", "No", [False, 0, ["no"], [False]]),
    ("numbers", [3, 1], [[3, 1, 3]]),
    ("numbers", [1, 2, 3], [(1, 2.0, "3")]),
    ("numbers", [7], [7]),
    ("numbers", [], [None, [None]]),
    ("numbers", [-1, 0], [[-1, 0]]),  # whoever shows the numbers knows which are too many
    ("grade", Grade.CORRECT, [["Correct"]]),
    ("grade", Grade.AMBIGUOUS, [Grade.AMBIGUOUS]),
    ("mark", 5, [5]),
    ("mark", 3, ["3.0"]),
    ("mark", 1, [[1]]),
]
# Kind, parts of the message ({} is the first line of what was written), and texts that mean nothing.
REFUSED: list[tuple[str, str, list[str]]] = [
    ("questions", "not a question: '{}'", ["banana", "???"]),
    ("questions", "not a question: 'banana'", ["1. banana\n2. cherry"]),
    ("interpretations", "no interpretation found in: '{}", ["Nothing of the kind", "DQ 1: Who hosted in 1998?"]),
    ("interpretations", "no interpretation found in: 'DA 1: Nagano", ["DA 1: Nagano\nDQ 2: Who hosted?"]),
    (
        "interpretations",
        "not an interpretation with a question and an answer: {'question': 'Who hosted in 1998?'",
        ['{"question": "Who hosted in 1998?"}'],
    ),
    (
        "interpretations",
        "not an interpretation with a question and an answer: {'question': '', 'answer': 'Nagano'}",
        ['[{"question": "", "answer": "Nagano"}]'],
    ),
    ("interpretations", "not an interpretation with a question and an answer: 1", ["[1, 2]"]),
    (
        "types",
        "no ambiguity type among AmbSub, AmbObj, AmbPred, AmbTime, AmbLoc, N/A in: '{}'",
        ["", "banana", "meantime", "objection", "the time of the event"],
    ),
    ("types", "no ambiguity type is clear in: '{}'", ["not AmbSub"]),
    ("yes or no", "neither Yes nor No: '{}'", ["", "maybe", "N/A", "yesterday", "nobody knows"]),
    (
        "numbers",
        "no list of numbers: …{}",
        [
            *("all", "nothing", "Yes", "No", "true", "false", "[true, false, true]", "1: Yes\n2: perhaps"),
            *('{"1": true, "2": false, "3": true}', "1, 3 (not 2)", "all but 2", "all except 2", "1-3", "1 – 3"),
            *("1 to 3", "1 through 3", "1.5", "1: Yes and 2: No", "1: Yes, 2: No", "1:\n3:", "Readings 1 and 3:"),
        ],
    ),
    ("grade", "not one of Correct, Ambiguous, Incorrect: …{}", ["", "not correct", "either correct or incorrect"]),
    ("support", "not one of Fully, Partially, No: …{}", ["not fully supported", "perhaps"]),
    ("mark", "not a mark from 1 to 5: …{}", ["4.5", "8/10", "between 2 and 3", "", "good"]),
]
REFUSED_VALUES: list[tuple[str, str, list[Any]]] = [
    ("questions", "not a (?:list|question)", [7, 1.5, ..., {"a": 1}, [None], [True], [WON]]),
    ("yes or no", "neither Yes nor No", [None, 2, [], ["Perhaps"]]),
    ("numbers", "no list of numbers", [True, [True, False], 1.5, float("nan"), float("inf"), {"1": 1, "2": 2}, ...]),
    ("answers", "not a", [1901, [1901], [["a"]], {"a": 1, "b": 2}, [{"question": "Who?"}], True]),
    ("grade", "not one of Correct, Ambiguous, Incorrect", [1, None, ["Correct", "Incorrect"]]),
    ("support", "not one of Fully, Partially, No", [True]),
    ("mark", "not a mark from 1 to 5", [0, 6, True, None]),
]


def flat(table: list[tuple[str, Any, list[Any]]]) -> list[Any]:
    return [pytest.param(kind, value, one, id=f"{kind}-{one!r:.40}") for kind, value, shown in table for one in shown]


@pytest.mark.parametrize(
    "reply",
    [
        f"{one}谁赢了1998年世界杯？\n{other}谁赢了2002年世界杯？"
        for one, other in (("1. ", "2. "), ("1、", "2、"), ("", ""))
    ],
)
def test_questions_without_spaces_are_questions(reply: str) -> None:
    assert parse_questions(reply) == ["谁赢了1998年世界杯？", "谁赢了2002年世界杯？"]


@pytest.mark.parametrize("question", ["谁赢了1998年世界杯？", "من فاز بكأس العالم؟"])
def test_questions_with_marks_of_other_scripts_are_questions_in_json(question: str) -> None:
    reply = json.dumps({"pseudo_interpretations": [question]})
    assert LeanAdapter().parse(InferPseudoInterpretations, reply) == {"pseudo_interpretations": [question]}


@pytest.mark.parametrize("through_dspy", [False, True], ids=["alone", "dspy"])
@pytest.mark.parametrize(("kind", "value", "text"), flat(WRITTEN))
def test_every_usual_form_is_read(kind: str, value: Any, text: str, through_dspy: bool) -> None:
    assert (KINDS[kind].reply if through_dspy else KINDS[kind].parse)(text) == value


@pytest.mark.parametrize(("kind", "value", "given"), flat(VALUES))
def test_values_are_read(kind: str, value: Any, given: Any) -> None:
    assert KINDS[kind].parse(given) == value


@pytest.mark.parametrize("through_dspy", [False, True], ids=["alone", "dspy"])
@pytest.mark.parametrize(("kind", "message", "text"), flat(REFUSED))
def test_text_that_means_nothing_is_refused_and_shown(kind: str, message: str, text: str, through_dspy: bool) -> None:
    with pytest.raises((ValueError, AdapterParseError)) as caught:
        (KINDS[kind].reply if through_dspy else KINDS[kind].parse)(text)
    first = (text.splitlines() or [""])[0]
    assert all(part.replace("{}", first) in str(caught.value) for part in message.split("…"))


@pytest.mark.parametrize(("kind", "message", "value"), flat(REFUSED_VALUES))
def test_values_of_other_kinds_are_refused(kind: str, message: str, value: Any) -> None:
    with pytest.raises(ValueError, match=message):
        KINDS[kind].parse(value)


# --- readings that nothing answers, lines, quotes ---------------------------------------------------


@pytest.mark.parametrize("parse", [parse_interpretations, KINDS["interpretations"].reply])
@pytest.mark.parametrize("nothing", ["null", '""', '"N/A"', '"None."', "[]"])
def test_a_question_that_nothing_answers_is_left_out_and_the_others_stay(parse: Any, nothing: str) -> None:
    unanswered = f'{{"question": "Who hosted in 1994?", "answer": {nothing}}}'
    told = '{"question": "Who hosted in 1998?", "answer": "Nagano"}'
    assert parse(f"[{told}, {unanswered}]") == [HOSTS[0]]
    assert parse(f"[{unanswered}]") == []


@pytest.mark.parametrize("case", golden("toc_parse_disambig")["cases"], ids=lambda case: repr(case["input"])[:40])
def test_every_pair_of_the_released_parser_is_found_in_order(case: dict[str, Any]) -> None:
    try:
        found = [(pair.question, pair.answer) for pair in parse_interpretations(case["input"])]
    except ValueError:
        found = []
    rest = iter(found)
    for pair in case["output"]:
        assert (pair["question"], pair["answer"]) in rest, found


def test_parse_lines_keeps_plain_lines_only_without_bullets() -> None:
    assert parse_lines("first line\n\nsecond line") == ["first line", "second line"]
    assert parse_lines("prose\n- item\nmore prose") == ["item"]
    assert parse_lines("  \n") == []


def test_a_digit_is_a_verdict_for_dspy() -> None:
    assert [KINDS["yes or no"].reply("1"), KINDS["yes or no"].reply("0")] == ["Yes", "No"]


# --- round trips -------------------------------------------------------------------------------------

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
    yield json.dumps(questions)
    yield json.dumps(questions, ensure_ascii=False, indent=2)
    yield "```json\n" + json.dumps(questions) + "\n```"
    yield json.dumps({"pseudo_interpretations": questions})


@given(QUESTIONS)
def test_every_rendered_list_of_questions_parses_back(questions: list[str]) -> None:
    assert parse_questions(questions) == questions
    for text in rendered_lists(questions):
        assert parse_questions(text) == KINDS["questions"].reply(text) == questions, text


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


def rendered_json(pairs: list[Interpretation]) -> tuple[str, ...]:
    dumped = [pair.model_dump() for pair in pairs]
    plain = json.dumps(dumped)
    indented = json.dumps(dumped, ensure_ascii=False, indent=2)
    return plain, indented, f"```json\n{plain}\n```", json.dumps({"interpretations": dumped})


@given(ANY_INTERPRETATIONS)
def test_any_interpretations_round_trip_through_json(pairs: list[Interpretation]) -> None:
    assert all(parse_interpretations(text) == pairs for text in rendered_json(pairs))


@given(PLAIN_INTERPRETATIONS)
@settings(max_examples=60)
def test_interpretations_round_trip_through_lines_and_json(pairs: list[Interpretation]) -> None:
    lines = []
    for number, pair in enumerate(pairs, 1):
        lines += [f"DQ {number}: {pair.question}", f"DA {number}: {pair.answer}"]
        lines += [f"Passage: {pair.pid}"] if pair.pid is not None else []
    texts = "\n".join(lines), "\n\n".join(lines), "\n".join(f"- {line}" for line in lines)
    for text in (*texts, *rendered_json(pairs)):
        assert parse_interpretations(text) == pairs
        assert KINDS["interpretations"].reply(text) == pairs


@given(PLAIN_INTERPRETATIONS)
@settings(max_examples=30)
def test_what_dspy_shows_in_a_demo_it_reads_back(pairs: list[Interpretation]) -> None:
    for adapter in (dspy.ChatAdapter(), dspy.JSONAdapter()):
        reply = adapter.format_assistant_message_content(ExtractInterpretations, {"interpretations": pairs})
        assert adapter.parse(ExtractInterpretations, reply) == {"interpretations": pairs}


@given(st.lists(st.sampled_from(list(AmbiguityType)), min_size=1, unique=True), st.booleans())
def test_lists_of_labels_round_trip(types: list[AmbiguityType], lower: bool) -> None:
    text = ", ".join(types)
    expected = [label for label in types if label is not AmbiguityType.NONE] or types
    assert parse_ambiguity_types(text.lower() if lower else text) == expected
    assert KINDS["types"].reply(json.dumps(types)) == expected


@given(st.lists(st.integers(1, 60), max_size=8, unique=True))
def test_every_rendered_list_of_numbers_parses_back(numbers: list[int]) -> None:
    texts = [str(numbers), json.dumps({"covered": numbers})]
    if numbers:
        texts += [", ".join(map(str, numbers)), "\n".join(map(str, numbers)), f"Covered: {numbers}"]
    for text in texts:
        assert parse_numbers(text) == numbers, text
        assert KINDS["numbers"].reply(text) == numbers, text


@pytest.mark.parametrize("form", ["{}: {}", "{}. {}", "[{}] {}.", "- {} – **{}**", "{}: {}, no. 2 says so"])
@given(held=st.lists(st.booleans(), min_size=1, max_size=9))
def test_verdicts_a_line_each_are_the_numbers_of_those_that_hold(form: str, held: list[bool]) -> None:
    text = "\n".join(form.format(at, "Yes" if yes else "No") for at, yes in enumerate(held, 1))
    assert parse_numbers(text) == [at for at, yes in enumerate(held, 1) if yes]


# --- any text ----------------------------------------------------------------------------------------

# What a reply is made of: enough to hit every branch, and to make broken JSON and broken Python.
JUNK = st.text(alphabet="[]{}()\"'`:;,.?!*-•0123456789 \n\\|#/DQAdqa_yesnoNtrue", max_size=60)
ANY_TEXT = st.one_of(st.text(max_size=80), JUNK)


@given(ANY_TEXT)
def test_yes_no_is_total_over_text(text: str) -> None:
    try:
        verdict = parse_yes_no(text)
    except ValueError:
        assert text.lower().split() not in (["yes"], ["no"])
        return
    assert verdict in ("Yes", "No")
    assert any(word in text.lower() for word in {"Yes": ("y", "true"), "No": ("n", "false")}[verdict])


@given(ANY_TEXT)
def test_any_text_gives_distinct_answers_or_a_reason(text: str) -> None:
    with contextlib.suppress(ValueError):  # text that means nothing may fail, with nothing else
        answers = parse_answers(text)
        assert len({answer.lower() for answer in answers}) == len(answers)
        assert all(answer.strip() for answer in answers)
