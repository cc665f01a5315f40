"""The worked examples of the calls that make questions keep to what the calls ask for."""

import dspy
import pytest
from harness import scripted

import polyqa
from polyqa.base.values import Passage
from polyqa.lm.adapter import LeanAdapter
from polyqa.questions.examples import with_examples
from polyqa.questions.namesakes import _ask, namesakes
from polyqa.signatures import (
    AnswerFromPassage,
    AskOfNamesakes,
    AskOfPassage,
    DetectAnswers,
    GenerateQuestion,
    ReviseQuestion,
)
from polyqa.signatures.sixpaq import detecting

SIGNATURES = [AnswerFromPassage, AskOfNamesakes, DetectAnswers, GenerateQuestion, ReviseQuestion]


@pytest.mark.parametrize("signature", SIGNATURES)
def test_answers_are_copied_from_the_passage_and_not_told_by_the_question(signature: type[dspy.Signature]) -> None:
    for demo in with_examples(signature).demos:
        shown = demo.get("passage") or demo["passages"]
        single = [demo[name] for name in ("answer", "first_answer", "second_answer") if name in demo]
        for answer in [*single, *demo.get("answers", ())]:
            assert answer in shown or answer == "None"
            assert answer == "None" or answer not in (demo.get("revised_question") or demo.get("question") or "")


def test_answers_to_all_questions_of_a_passage_are_copied_from_it() -> None:
    demos = with_examples(AskOfPassage).demos
    assert {"Why", "How", "Where", "When"} <= {
        pair["question"].split()[0] for demo in demos for pair in demo["questions"]
    }
    for demo in demos:
        for pair in demo["questions"]:
            assert pair["answer"] in demo["passage"]
            assert pair["answer"] not in pair["question"]


@pytest.mark.parametrize("signature", SIGNATURES)
def test_some_have_nothing_to_write(signature: type[dspy.Signature]) -> None:
    last = list(signature.output_fields)[-1]
    written = [demo[last] for demo in with_examples(signature).demos]
    assert signature is ReviseQuestion or any(value in ([], "None") for value in written)
    assert any(value not in ([], "None") for value in written)


def test_the_embedded_engine_needs_none() -> None:
    with dspy.context(lm=polyqa.embedded_lm()):
        assert with_examples(DetectAnswers).demos == []


def test_another_number_of_spans_keeps_them() -> None:
    assert with_examples(detecting(3)).demos == with_examples(DetectAnswers).demos != []


def test_they_stand_before_what_is_asked() -> None:
    first, second = namesakes(
        [
            Passage(pid="a", title="Falcon 1", text="It flew in 2016."),
            Passage(pid="b", title="Falcon 2", text="In 2018."),
        ]
    )[0]
    with scripted(lambda message: "## question\nNone\n\n## first_answer\nNone\n\n## second_answer\nNone") as (
        lm,
        server,
    ):
        with dspy.context(lm=lm, adapter=LeanAdapter()):
            assert _ask((first, second)) is None
        (request,) = server.requests
    texts = [message["content"] for message in request["messages"]]
    assert "Hairspray" in texts[1]
    assert "Falcon" in texts[-1]
    assert "Falcon" not in "".join(texts[:-1])
