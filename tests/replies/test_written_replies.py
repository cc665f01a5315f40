"""Replies by hand, in many shapes: each is read rightly, or refused where it can be taken in two ways."""

from typing import Any

import dspy
import pytest
from data_files import golden
from lenient_kinds import KINDS

from polyqa.lm.adapter import LeanAdapter
from polyqa.replies import (
    Interpretations,
    Questions,
    clean_answer,
    is_null,
    looks_like_refusal,
    parse_interpretations,
    without_thoughts,
)

# By kind: what is meant, and replies that say so. Readings are [question, answer, passage].
REPLIES_BY_HAND = golden("written_replies")


def read(kind: str, text: str) -> Any:
    """Return what is read, in plain values."""
    found = clean_answer(text) if kind == "long answer" else KINDS[kind].parse(text)
    return plain(kind, found)


def plain(kind: str, found: Any) -> Any:
    return [[one.question, one.answer, one.pid] for one in found] if kind == "interpretations" else found


@pytest.mark.parametrize(
    ("kind", "meant", "text"),
    [
        pytest.param(kind, row["meant"], text, id=f"{kind}-{text!r:.40}")
        for kind, rows in REPLIES_BY_HAND["read"].items()
        for row in rows
        for text in row["replies"]
    ],
)
def test_each_is_read_rightly(kind: str, meant: Any, text: str) -> None:
    assert read(kind, text) == meant
    if kind != "long answer":
        own = KINDS[kind]
        others = "".join(f"## {name}\n{other}\n\n" for name, other in own.others.items())
        reply = text if len(own.signature.output_fields) == 1 else f"{others}## {own.name}\n{text}"
        assert plain(kind, LeanAdapter().parse(own.signature, reply)[own.name]) == meant


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in REPLIES_BY_HAND["refused"].items() for text in texts]
)
def test_what_cannot_be_told_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read(kind, text)


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
        *("I'm Sorry", '"I\'m Sorry" is a song', "I Can't Help Myself", "Sorry, Wrong Number", "Not Fade Away"),
    ],
)
def test_names_that_begin_alike_are_answers(text: str) -> None:
    assert not is_null(text)
    assert not looks_like_refusal(text)
    (reading,) = parse_interpretations(f"DQ 1: What is it called?\nDA 1: {text}")
    assert reading.answer == text


@pytest.mark.parametrize(
    "text",
    [
        *("<think>a</think>b", "<thinking>a\n</thinking>\nb", "a</think>b", "b<think>a", "b"),
        *("[THINK]a[/THINK]b", "a[/THINK]b", "b[THINK]a", "b<|channel|>analysis<|message|>a"),
        *("b<|im_end|>", "b\n</s>\n"),
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
    ],
)
def test_thoughts_and_marks_of_the_turn_go(text: str) -> None:
    assert without_thoughts(text) == "b"
    with pytest.raises(ValueError, match="nothing but thoughts: '<think>Which "):
        parse_interpretations("<think>Which film?")


def test_what_the_prompt_calls_a_reading_is_one_in_json() -> None:
    (reading,) = parse_interpretations('[{"reading": "Who won?", "answer": "I 【2†source】", "passage": [3, 4]}]')
    assert (reading.question, reading.pid) == ("Who won?", "3")
    assert parse_interpretations("1. Who won? | I 【2†source】")[0].pid == "2"


def test_dspys_adapter_shows_the_text_where_its_repairs_would_lose_some() -> None:
    fields = {
        "interpretations": "1. Who won [in 1998]? | I [1]\n2. Who lost? | You [2]",
        "questions": "1. In which film [of 1990] is he?\n2. In which is she?",
    }
    reply = "\n\n".join(f"[[ ## {name} ## ]]\n{text}" for name, text in fields.items())
    outputs = {"interpretations": (Interpretations, dspy.OutputField()), "questions": (Questions, dspy.OutputField())}
    read = dspy.ChatAdapter().parse(dspy.Signature({"question": (str, dspy.InputField()), **outputs}), reply)
    assert [one.answer for one in read["interpretations"]] == ["I", "You"]
    assert read["questions"] == ["In which film [of 1990] is he?", "In which is she?"]
