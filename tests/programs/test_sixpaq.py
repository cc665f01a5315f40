"""SIXPAQ through a real index, a real database of questions and the embedded engine, in process and over HTTP."""

import json
from collections.abc import Callable

import dspy
import pytest
from harness import fields, scripted

from polyqa.base.errors import PolyqaError
from polyqa.colbert_index import BiEncoderReranker, ColBERTIndex, FusedRetriever
from polyqa.extractive.choices import select_questions
from polyqa.extractive.evidence import Models
from polyqa.extractive.prompt import Prompt
from polyqa.loading import load
from polyqa.metrics.gold import Question
from polyqa.models import Encoder, Reader
from polyqa.optimizers.labels import label_demos
from polyqa.programs import SIXPAQ
from polyqa.programs.sixpaq import candidate_readings, chosen, render_candidates
from polyqa.questions import FoundQuestion, QuestionDatabase, QuestionRetriever

QUESTION = "When was Tower Bridge opened?"


@pytest.fixture(scope="module")
def asked(bridges: ColBERTIndex, encoder: Encoder) -> QuestionRetriever:
    return QuestionRetriever(QuestionDatabase(bridges.path / "questions", encoder=encoder, index=bridges), bridges)


@pytest.fixture
def parts(bridges: ColBERTIndex, asked: QuestionRetriever, encoder: Encoder) -> tuple[object, ...]:
    return FusedRetriever([bridges, bridges.bm25]), BiEncoderReranker(encoder, bridges), asked


@pytest.fixture
def sixpaq(parts: tuple[object, ...], encoder: Encoder) -> SIXPAQ:
    return SIXPAQ(*parts, encoder=encoder, passages=3)


def test_both_readings_come_from_generated_questions(sixpaq: SIXPAQ, embedded: dspy.LM) -> None:
    result = sixpaq(question=QUESTION)
    assert {(one.answer, one.pid) for one in result.interpretations} == {("1894", "london"), ("1935", "sacramento")}
    assert {one.question for one in result.interpretations} <= {one.question for one in result.questions}
    assert {"london", "sacramento"} <= {one.pid for one in result.passages[:3]}
    assert len(result.passages) == 3
    assert "1894" in result.answer
    assert "1935" in result.answer
    assert all(isinstance(one, FoundQuestion) for one in result.questions)


def test_without_a_fitting_question_the_readings_come_from_the_passages(sixpaq: SIXPAQ, embedded: dspy.LM) -> None:
    with dspy.context(trace=[]):
        result = sixpaq(question="Which river does Tower Bridge cross?")
        called = [predictor.signature.__name__ for predictor, _, _ in dspy.settings.trace]
    assert called == ["SelectQuestions", "ClarifyQuestion"]
    assert result.interpretations
    assert {one.pid for one in result.interpretations} <= {one.pid for one in result.passages}


def test_sources_that_the_passages_lack_follow_them(
    parts: tuple[object, ...], encoder: Encoder, embedded: dspy.LM
) -> None:
    result = SIXPAQ(*parts, encoder=encoder, passages=1)(question=QUESTION)
    assert {one.pid for one in result.interpretations} == {"london", "sacramento"}
    assert {one.pid for one in result.passages} == {"london", "sacramento"}


def test_the_writer_sees_the_numbers_of_the_shown_passages_only(parts: tuple[object, ...], encoder: Encoder) -> None:
    seen: list[str] = []

    def reply(message: str) -> str:
        seen.append(message)
        return fields(kept="[1, 2, 99]") if "[[ ## candidates ## ]]" in message else fields(answer="Both.")

    program = SIXPAQ(*parts, encoder=encoder, passages=1)
    with scripted(reply) as (lm, _), dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        result = program(question=QUESTION)
    shown = json.loads(seen[1].split("[[ ## interpretations ## ]]")[1].split("\n\n")[0])
    assert [one.get("pid") for one in shown] in (["1", None], [None, "1"])
    assert all(one.pid is not None for one in result.interpretations)
    assert [f"[{n}] «{one.question} | " in seen[0] for n, one in enumerate(result.interpretations, 1)] == [True, True]


def test_every_distinct_answer_of_a_question_is_a_candidate() -> None:
    one = FoundQuestion(
        question="Who built it?",
        answers=("Ada Brown", "the Ada Brown", "Carl Lund"),
        pids=("a", "b", "c"),
        number=0,
        score=1.0,
    )
    candidates = candidate_readings([one])
    assert [(c.answer, c.pid) for c in candidates] == [("Ada Brown", "a"), ("Carl Lund", "c")]
    assert render_candidates(candidates) == ["Who built it? | Ada Brown", "Who built it? | Carl Lund"]
    assert chosen(candidates, [2, 2, 0, 7]) == candidates[1:]
    assert chosen(candidates, []) == []


def test_assembly_finds_the_questions_and_says_how_to_make_them(
    bridges: ColBERTIndex, index: ColBERTIndex, encoder: Encoder
) -> None:
    assert isinstance(load("sixpaq", index=bridges, encoder=encoder), SIXPAQ)
    with pytest.raises(PolyqaError, match="polyqa questions build"):
        load("sixpaq", index=index, encoder=encoder)
    with pytest.raises(PolyqaError, match="other passages"):
        load("sixpaq", index=index, encoder=encoder, questions=bridges.path / "questions")


def test_labels_fill_every_predictor(sixpaq: SIXPAQ, training: Callable[[str], list[Question]]) -> None:
    demos = label_demos(sixpaq, training("sixpaq"))
    assert set(demos) == {"clarify", "write", "select"}
    assert all(demos.values())
    (demo,) = demos["select"]
    assert set(demo) == {"question", "candidates", "kept"}
    kept = chosen(candidate_readings(sixpaq.similar_questions(QUESTION)), demo["kept"])
    assert {one.answer for one in kept} == {"1894", "1935"}


def prompt(question: str, candidates: list[str]) -> Prompt:
    shown = "\n".join(f"[{n}] «{text}»" for n, text in enumerate(candidates, 1))
    return Prompt("", ("question", "candidates"), ("kept",), {"question": question, "candidates": shown})


CANDIDATES = [
    "When was Tower Bridge (London) opened? | 1894",
    "Who opened Tower Bridge (London)? | Edward",
    "When was Tower Bridge (Sacramento) opened? | 1935",
    "When was Tower Bridge in the city of London opened? | 1894",
    "When was Orava Dam built? | 1941",
]


def test_the_engine_keeps_near_questions_of_the_asked_kind_each_answer_once(encoder: Encoder) -> None:
    models = Models(encoder, Reader())
    assert select_questions(prompt(QUESTION, CANDIDATES), models) == {"kept": [1, 3]}
    assert select_questions(prompt("Who opened Tower Bridge?", CANDIDATES), models) == {"kept": [2]}
    assert select_questions(prompt("How tall is a giraffe?", CANDIDATES), models) == {"kept": []}
    assert select_questions(prompt(QUESTION, []), models) == {"kept": []}
