"""What lenient parsers make of text that used to be read wrongly without a word."""

from typing import Any

import dspy
import pytest

from polyqa.base.values import AmbiguityType
from polyqa.replies import (
    Interpretations,
    Questions,
    clean_answer,
    is_null,
    looks_like_refusal,
    parse_ambiguity_types,
    parse_answers,
    parse_interpretations,
    parse_numbers,
    parse_questions,
    parse_yes_no,
    without_thoughts,
)

TWO = [("Who won in 1998?", "France", None), ("Who won in 2002?", "Brazil", None)]
CITED = [("Who won in 1998?", "France", "3"), ("Who won in 2002?", "Brazil", "1")]
READINGS: list[tuple[list[tuple[str, str, str | None]], list[str]]] = [
    (
        TWO,
        [
            "DQ 1: Who won in 1998?\nDQ 2: Who won in 2002?\nDA 1: France\nDA 2: Brazil",
            "DA 1: France\nDQ 1: Who won in 1998?\nDA 2: Brazil\nDQ 2: Who won in 2002?",
            "DQ 1: Who won in 1998? DA 1: France DQ 2: Who won in 2002? DA 2: Brazil",
            "**DQ 1**\nWho won in 1998?\n**DA 1**\nFrance\n**DQ 2**\nWho won in 2002?\n**DA 2**\nBrazil",
            "DQ 1:\nWho won in 1998?\nDA 1:\nFrance\nDQ 2:\nWho won in 2002?\nDA 2:\nBrazil\n"
            "DQ 3: Who won in 2006?\nDA 3:\n",
            "1. Question: Who won in 1998?\n   Answer: France\n2. Question: Who won in 2002?\n   Answer: Brazil",
            "1. Question: Who won in 1998?\n2. Answer: France\n3. Question: Who won in 2002?\n4. Answer: Brazil",
            '{"question": "Who won in 1998?", "answer": "France"}\n'
            '{"question": "Who won in 2002?", "answer": "Brazil"}',
            'Two:\n```json\n[{"question": "Who won in 1998?", "answer": "France"}, '
            '{"question": "Who won in 2002?", "answer": "Brazil"}]\n```\nDone.',
            '{"reading_1": {"question": "Who won in 1998?", "answer": "France"}, '
            '"reading_2": {"question": "Who won in 2002?", "answer": {"text": "Brazil"}}}',
            '[{"question": "Who won?", "disambiguated_question": "Who won in 1998?", "answer": "France"}, '
            '{"question": "Who won?", "disambiguated_question": "Who won in 2002?", "answer": "Brazil"}]',
            '{"DQ 1": "Who won in 1998?", "DA 1": "France", "DQ 2": "Who won in 2002?", "DA 2": "Brazil"}',
            '{"Who won in 1998?": "France", "Who won in 2002?": "Brazil"}',
            "Who won in 1998? | France; Who won in 2002? | Brazil",
            "1. Who won in 1998? | France 2. Who won in 2002? | Brazil",
            "<think>DQ 1: Who? DA 1: I</think>\n1. Who won in 1998? | France\n2. Who won in 2002? | Brazil",
        ],
    ),
    (
        CITED,
        [
            "1. Who won in 1998? | France [3]\n2. Who won in 2002? | Brazil [1, 2]",
            "Here:\n1. **Who won in 1998?** | France [3][4]\n"
            "2. Who won in 2002?|Brazil (passage 1)\n3. Who won in 2006? | none",
            "| # | Question | Answer | Passage |\n|---|---|---|---|\n| 1 | Who won in 1998? | France | [3] |\n"
            "| 2 | Who won in 2002? | Brazil | 1 |",
            "[Interpretation(question='Who won in 1998?', answer='France', pid='3'), "
            "Interpretation(question='Who won in 2002?', answer='Brazil', pid=1)]",
            "DQ 1: Who won in 1998?\nDA 1: France\n**Passage:** 3\n"
            "DQ 2: Who won in 2002?\nDA 2: Brazil\nSource: passage [1]",
        ],
    ),
    ([("Who?", "Tom [Cruise]", None)], ["1. Who? | Tom [Cruise]"]),
    ([("Who sang AC/DC | Live?", "Bon | Brian", "2")], ["1. Who sang AC/DC | Live? | Bon | Brian [2]"]),
    (
        [],
        [
            "1. Who won? | null (the passage only names the year)",
            "DQ 1: Who won?\nDA 1: **null**",
            "No answer.",
            "- null",
        ],
    ),
]


@pytest.mark.parametrize(("meant", "text"), [(meant, text) for meant, texts in READINGS for text in texts])
def test_readings(meant: list[tuple[str, str, str | None]], text: str) -> None:
    assert [(one.question, one.answer, one.pid) for one in parse_interpretations(text)] == meant


OTHERS: list[tuple[Any, Any, list[str]]] = [
    (
        parse_questions,
        ["Who won?", "Who lost?"],
        ["1. Who won? 2. Who lost?", "Who won?; Who lost?", "**\nWho won?\nWho lost?"],
    ),
    (
        parse_answers,
        ["1901", "Jones"],
        ["1. 1901 2. Jones", "Here are the answers:\n1901\nJones", "- **1901**\n- Jones\n- null"],
    ),
    (
        parse_yes_no,
        "Yes",
        [
            "There is no doubt: Yes",
            "Passage 1: No\nPassage 2: Yes\nOverall: Yes",
            "No doubt: Yes",
            "Y",
            "<think>No.</think>Yes",
        ],
    ),
    (
        parse_yes_no,
        "No",
        ["Not answerable", "The passages do not contain the answer", "N", "Passage 1: Yes\nPassage 2: No\nFinal: No"],
    ),
    (parse_numbers, [], ["None of the 5 candidates", "none of them", "**none**"]),
    (
        parse_numbers,
        [1, 3],
        [
            "2 of them: 1, 3",
            "the first and third",
            "one and three",
            "1. Who hosted in 1998?\n3. Who hosted in 2002?",
            "[1] [3]",
        ],
    ),
    (
        parse_ambiguity_types,
        [AmbiguityType.PREDICATE, AmbiguityType.TIME],
        ["[AmbPred] [AmbTime]", "AmbPred, AmbTime (not AmbSub)"],
    ),
    (
        parse_ambiguity_types,
        [AmbiguityType.SUBJECT],
        ["AmbSub (not AmbTime)", "AmbSub, no AmbObj", "AmbSub: yes\nAmbTime: no"],
    ),
    (parse_ambiguity_types, [AmbiguityType.NONE], ["[]", "The question is not ambiguous."]),
]


@pytest.mark.parametrize(
    ("parse", "meant", "text"), [(parse, meant, text) for parse, meant, texts in OTHERS for text in texts]
)
def test_other_values(parse: Any, meant: Any, text: str) -> None:
    assert parse(text) == meant


REFUSED: list[tuple[Any, list[str]]] = [
    (
        parse_interpretations,
        [
            "DQ 1: Who won?\nDQ 1: Who lost?\nDA 1: Jones\nDA 1: Smith",  # who won, who lost?
            "Question: Who won?\nQuestion: Who lost?\nAnswer: Jones\nAnswer: Smith",
            "1. Who won? | Jones\n2. Who lost?",
            "Who won | Jones; who lost | Smith",
            '[{"question": "Who won?", "answer": "Jones"}, {"question": "Who lost?", "ans',
            "[Interpretation(question='Who won?', answer='Jones'), Interpretation(question='Who",
            "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |",
            "I'm sorry, but I can't help with that.",
            "<think>DQ 1: Who won? DA 1: Jones",
        ],
    ),
    (
        parse_questions,
        ["I'm sorry, but I cannot rewrite it.", "1. I cannot answer this.", "The question has one meaning."],
    ),
    (parse_answers, ["I'm sorry, but I can't help with that."]),
    (parse_yes_no, ["Passage 1: No\nPassage 2: Yes", "There is no doubt.", "Yes for 1998.\nNo for 2002."]),
    (parse_numbers, ["1, 3 (2 has another year)", "2 readings", "3 of them: 1, 4", "only one reading is covered"]),
    (parse_ambiguity_types, ["not AmbSub", "no AmbObj"]),
    (clean_answer, ["", "```\n```", "Answer:", "null"]),
]


@pytest.mark.parametrize(("parse", "text"), [(parse, text) for parse, texts in REFUSED for text in texts])
def test_what_cannot_be_told_is_refused(parse: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        *("null (the passage only says who)", "**null**", "`null`", "- null", "No answer.", "N/A.", "Not answerable"),
        *("The passages do not contain the answer", "not mentioned", "not stated", "Not specified.", "unknown"),
        *("****null****", "cannot be determined", "There is no answer in the passages.", "I don't know."),
    ],
)
def test_abstentions_in_any_dress_are_nothing(text: str) -> None:
    assert is_null(text)


@pytest.mark.parametrize(
    "text",
    [
        *("None of the Above", "Unknown Pleasures", "No", "Nullarbor Plain", "The Unanswered Question", "3.", "(1)"),
        *("None (the film)", "Null Island", "No Answers in Genesis", "I Don't Know How to Love Him", "not guilty"),
    ],
)
def test_names_that_begin_alike_are_answers(text: str) -> None:
    assert not is_null(text)
    assert not looks_like_refusal(text)


@pytest.mark.parametrize("text", ["I'm Sorry", '"I\'m Sorry" is a song', "I Can't Help Myself", "Sorry, Wrong Number"])
def test_titles_are_no_refusals(text: str) -> None:
    assert not looks_like_refusal(text)


def test_a_block_of_thoughts_that_never_ends_leaves_nothing() -> None:
    assert without_thoughts("Yes<think>or") == "Yes"
    with pytest.raises(ValueError, match="nothing but thoughts: '<think>Which "):
        parse_interpretations("<think>Which film?")


@pytest.mark.parametrize(
    "text",
    [
        "It is 1997.",
        "**Answer:** It is 1997.",
        '"It is 1997."',
        "```\nIt is 1997.\n```",
        "It is 1997.\n\nI hope this helps!",
    ],
)
def test_long_answers_lose_what_is_around_them(text: str) -> None:
    assert clean_answer(text) == "It is 1997."


class Writes(dspy.Signature):
    """Answer."""

    question: str = dspy.InputField()
    interpretations: Interpretations = dspy.OutputField()
    questions: Questions = dspy.OutputField()


def test_dspys_adapter_shows_the_text_where_its_repairs_would_lose_some() -> None:
    fields = {
        "interpretations": '{"question": "Who won?", "answer": "I"}\n{"question": "Who lost?", "answer": "You"}',
        "questions": "1. In which film [of 1990] is he?\n2. In which is she?",
    }
    reply = "\n\n".join(f"[[ ## {name} ## ]]\n{text}" for name, text in fields.items())
    read = dspy.ChatAdapter().parse(Writes, reply)
    assert [one.answer for one in read["interpretations"]] == ["I", "You"]
    assert read["questions"] == ["In which film [of 1990] is he?", "In which is she?"]
