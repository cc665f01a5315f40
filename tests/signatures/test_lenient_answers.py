"""Lists of short answers as language models write them, directly and through DSPy's adapter."""

import contextlib
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyqa.signatures import DetectAnswers
from polyqa.signatures.lenient import parse_answers


def chat_answers(text: str) -> list[str]:
    reply = f"[[ ## answers ## ]]\n{text}\n\n[[ ## completed ## ]]"
    return list(dspy.ChatAdapter().parse(DetectAnswers, reply)["answers"])


ways = pytest.mark.parametrize("parse", [parse_answers, chat_answers])


@ways
@pytest.mark.parametrize(
    "text",
    [
        '["1901", "Horace Jones"]',
        '[1901, "Horace Jones"]',
        "['1901', 'Horace Jones']",
        '```json\n["1901", "Horace Jones"]\n```',
        '{"answers": ["1901", "Horace Jones"]}',
        '[{"answer": "1901"}, {"answer": "Horace Jones"}]',
        "1. 1901\n2. Horace Jones",
        "- 1901\n- Horace Jones",
        "* 1901\n* Horace Jones\n* horace jones",
        '1. "1901"\n2. "Horace Jones"',
        "1901; Horace Jones",
        "Spans:\n- 1901\n- Horace Jones",
    ],
)
def test_every_usual_way_gives_the_list(parse: Any, text: str) -> None:
    assert parse(text) == ["1901", "Horace Jones"]


@ways
@pytest.mark.parametrize("text", ["", "[]", "None", "none.", "N/A", '["None"]'])
def test_none_gives_none(parse: Any, text: str) -> None:
    assert parse(text) == []


@ways
def test_one_answer_is_a_list_of_one(parse: Any) -> None:
    assert parse("Horace Jones") == ["Horace Jones"]
    assert parse("1,079 blocks") == ["1,079 blocks"]


@pytest.mark.parametrize("value", [None, 1901, [1901], [["a"]], {"a": 1, "b": 2}, [{"question": "Who?"}], True])
def test_values_of_other_kinds_are_no_answers(value: Any) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse_answers(value)


@given(st.text(max_size=80))
def test_any_text_gives_distinct_answers_or_a_reason(text: str) -> None:
    with contextlib.suppress(ValueError):  # text that means nothing may fail, with nothing else
        answers = parse_answers(text)
        assert len({answer.lower() for answer in answers}) == len(answers)
        assert all(answer.strip() for answer in answers)
