from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.evaluating import make_scorer, run_name
from polyqa.evaluation.loading import load_questions
from polyqa.evaluation.runs import Run
from polyqa.lesson_files import lessons_home
from polyqa.loading import default_program
from polyqa.metrics.gold import Document, Question, Reading

Evaluate = Callable[..., Run]


@pytest.fixture(scope="module")
def two() -> list[Question]:
    return load_questions("homonyms/dev", limit=2)


@pytest.fixture
def evaluate(two: list[Question], tmp_path: Path) -> Evaluate:
    def run(program: str | dspy.Module, questions: Any = two, **given: Any) -> Run:
        models = polyqa.Models(judge=None)
        return polyqa.evaluate(program, questions, **{"models": models, "folder": tmp_path / "x", **given})

    return run


def test_a_program_goes_on_where_the_same_was_and_not_where_another_was(evaluate: Evaluate) -> None:
    first = evaluate(polyqa.load("rac", passages=5))
    assert [len(one.passages) for one in first.records] == [5, 5]
    assert evaluate(polyqa.load("rac", passages=5)).records == first.records
    with pytest.raises(PolyqaError, match=r"holds another run: program_state was \w+, is \w+\. Choose another name"):
        evaluate(polyqa.load("rac", passages=2))


@pytest.mark.parametrize(
    "given", [{"index": "homonyms"}, {"demos": "mine.json"}, {"passages": 2}, {"reranker": "reader"}]
)
def test_what_only_a_name_can_be_given_with_is_refused(
    given: dict[str, Any], evaluate: Evaluate, tmp_path: Path
) -> None:
    with pytest.raises(PolyqaError, match=f"made already: {next(iter(given))} cannot be given"):
        evaluate(polyqa.load("closed-book"), **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"depth": 2}, "rac has no setting 'depth'"),
        ({"passages": "many"}, "The setting passages of rac is int, not 'many'"),
        ({"models": polyqa.Models(lm="gpt-4o")}, "names no provider"),
        ({"models": polyqa.Models(judge="gpt-4o")}, "names no provider"),
        ({"models": polyqa.Models(judge="polyqa/extractive@http://127.0.0.1:9")}, "takes no address"),
        ({}, "missing.json"),
    ],
)
def test_mistakes_are_told_before_anything_is_read(given: dict[str, Any], told: str, evaluate: Evaluate) -> None:
    with pytest.raises(PolyqaError, match=told):
        evaluate("rac", "missing.json", **given, index="nowhere")


def test_by_name_or_made_beforehand_it_is_the_same_program(evaluate: Evaluate, tmp_path: Path) -> None:
    """Values count as what the program takes them for: a text that is a number is one."""
    by_name = evaluate("diva", folder=tmp_path / "1", passages="4", reranker=None)
    made = evaluate(polyqa.load("diva", passages=4), folder=tmp_path / "2")
    assert (by_name.settings.program, made.settings.program) == ("diva", "DIVA")
    assert by_name.settings.program_state == made.settings.program_state


def test_a_run_says_where_its_questions_come_from(evaluate: Evaluate, tmp_path: Path) -> None:
    asked = polyqa.Questions("homonyms", split="test", limit=1, seed=3)
    run = evaluate("closed-book", asked)
    assert run.settings.questions.startswith("homonyms (test), 1 question (")
    name = "closed-book--homonyms--test--1--seed-3--openai-x--b"
    assert run_name("closed-book", asked, "openai/x", "a/b.json") == name
    assert run_name("compiled/mine", "a/b.json") == "compiled-mine--b"


def _mill(*documents: Document) -> Question:
    readings = (Reading("When was the Harrow Mill opened?", ("1902",)),)
    return Question("mill", readings[0].question, readings, wrong_answers=("1885",), documents=documents)


MILL = (
    Document("one", "correct", "1902", "The Harrow Mill was opened in 1902 by the brothers Lund of Kiel."),
    Document(
        "two", "correct", "1902", "Since 1902, when they opened it, the brothers Lund ran the Harrow Mill in Kiel."
    ),
    Document("lie", "misinfo", "1885", "The brothers Lund of Kiel opened the Harrow Mill in 1885."),
    Document("no", "noise", "", "Kiel is a city by the sea."),
)


def test_each_question_is_answered_from_its_own_documents(evaluate: Evaluate) -> None:
    looked_up = Document("titanic-musical", "noise")
    run = evaluate("rac", polyqa.Questions([_mill(*MILL, looked_up)], own_documents=True))
    (record,) = run.records
    assert sorted(one.pid for one in record.passages) == sorted(["one", "two", "lie", "no", "titanic-musical"])
    wanted = {"strict_exact_match": 1.0, "wrong_told": 0.0, "noise_cited": 0.0, "conflicts_shown": 1.0}
    assert {name: record.scores[name] for name in wanted} == wanted
    assert "over their own documents" in run.settings.questions
    assert run.summarized()["strict_exact_match"].value == 100


@pytest.mark.parametrize(
    ("program", "documents", "message"),
    [
        ("rac", (), "'mill' has no documents of its own"),
        ("closed-book", MILL, "cannot be given the documents"),
        ("rac", (Document("nowhere", "noise"),), "'nowhere' of question 'mill' has no text"),
    ],
)
def test_what_has_no_documents_is_refused_before_a_call(
    program: str, documents: tuple[Document, ...], message: str, evaluate: Evaluate
) -> None:
    with pytest.raises(PolyqaError, match=message):
        evaluate(program, polyqa.Questions([_mill(*documents)], own_documents=True))


def test_a_recording_of_a_local_model_is_asked_by_its_program(tmp_path: Path) -> None:
    asked = "Who was the architect of Notre-Dame?"
    sure = Question(id="1", question=asked, readings=(Reading(question=asked, short_answers=("Maurice",)),))
    models = polyqa.Models(lm=f"recorded/{lessons_home() / 'spanwise.jsonl.gz'}", judge=None)
    run = polyqa.evaluate(questions=[sure], models=models, folder=tmp_path / "x")
    assert (run.settings.program, run.records[0].error) == ("spanwise", None)
    assert default_program(models.lm) == "spanwise", "so do the commands ask"


def test_a_judge_may_be_a_language_model_that_is_made() -> None:
    judge = make_scorer(polyqa.Models(judge=dspy.LM("openai/judge", api_key="none"))).judge
    assert judge is not None
    assert judge.name == "openai/judge"
