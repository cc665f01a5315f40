import asyncio
import threading
from collections.abc import Callable
from typing import Any

import dspy
import pytest

import polyqa
from polyqa.base.errors import PolyqaError
from polyqa.evaluation.dry_run import Rehearsal
from polyqa.language_models import embedded_engine
from polyqa.lm.recorder import recording
from polyqa.programs import ClosedBook
from polyqa.programs.base import Program
from polyqa.programs.steps import Steps, ask, ask_all, work
from polyqa.signatures import AnswerClosedBook

QUESTION = "When did Titanic come out?"


class Asking(Program):
    """Asks in waves: so many calls at once in each."""

    def __init__(self, *waves: int, **settings: Any) -> None:
        super().__init__(**settings)
        self.waves = waves
        self.recall = self.predictor(AnswerClosedBook)

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        for count in self.waves:
            yield from work(threading.Event().wait, 0.01)
            yield from ask_all([(self.recall, {"question": question})] * count)
        return (yield from ask(self.recall, question=question))


class Early(dspy.Module):
    """Asks for something early, and goes on without it if another reply is there first."""

    def __init__(self) -> None:
        super().__init__()
        self.recall = dspy.Predict(AnswerClosedBook)

    async def aforward(self, question: str) -> dspy.Prediction:
        early = asyncio.create_task(self.twice(question))
        reply = await self.recall.acall(question=question)
        early.cancel()
        return reply

    async def twice(self, question: str) -> None:
        for _ in range(2):
            await self.recall.acall(question=question)
            await asyncio.sleep(0.5)


@pytest.mark.parametrize(
    ("program", "calls", "depth"),
    [
        (Asking(), 1, 1),
        (Asking(1, 1, 1), 4, 4),
        (Asking(20), 21, 2),
        (Asking(2, 3), 6, 3),
        (Asking(5, calls_at_once=2), 6, 4),
        (Early(), 2, 1),
    ],
)
def test_depth_is_what_a_question_waits_for(program: dspy.Module, calls: int, depth: int) -> None:
    run = Rehearsal(program, embedded_engine()).run(QUESTION)
    assert (len(run.calls), run.depth) == (calls, depth)
    assert {call.began for call in run.calls} == set(range(depth))
    assert {call.step for call in run.calls} == {"recall"}


@pytest.mark.parametrize(
    ("name", "depth"), [("closed-book", 1), ("rac", 1), ("query-refinement", 2), ("verdict", 3), ("diva", 3)]
)
def test_depth_of_programs(name: str, depth: int) -> None:
    assert Rehearsal(polyqa.load(name), embedded_engine()).run(QUESTION).depth == depth


@pytest.mark.parametrize("name", ["rac", "diva-homonyms", "toc"])
def test_the_calls_are_those_of_a_real_run(name: str) -> None:
    program = polyqa.load(name)
    with recording(polyqa.language_model()) as recorder:
        program(question=QUESTION)
    with dspy.context(adapter=dspy.settings.adapter):
        run = Rehearsal(program, embedded_engine()).run(QUESTION)
    sent = [tuple((one["role"], one["content"]) for one in call.messages) for call in recorder.calls]
    assert sorted(sent) == sorted(tuple(call.messages) for call in run.calls)
    assert sorted(call.reply for call in recorder.calls) == sorted(call.reply for call in run.calls)


def _with_a_lm(program: ClosedBook, lm: dspy.LM) -> dspy.Module:
    program.recall.lm = lm
    return program


def _nested_and_compiled(program: ClosedBook, lm: dspy.LM) -> dspy.Module:
    class Outer(Program):
        def steps(self, question: str) -> Steps[dspy.Prediction]:
            return (yield from ask(self.inner, question=question))

    outer = Outer()
    outer.inner = _with_a_lm(program, lm)
    outer.inner._compiled = True  # DSPy's named_predictors passes over it
    return outer


@pytest.mark.parametrize("make", [_with_a_lm, _nested_and_compiled])
def test_nothing_is_sent_to_a_predictors_own_language_model(make: Callable[..., dspy.Module]) -> None:
    own = dspy.LM("openai/gpt-4o", api_base="http://127.0.0.1:9/v1", api_key="none", num_retries=0)
    closed_book = ClosedBook()
    run = Rehearsal(make(closed_book, own), embedded_engine()).run(QUESTION)
    assert [call.lm for call in run.calls] == ["openai/gpt-4o"]
    assert closed_book.recall.lm is own


def test_a_program_that_cannot_be_awaited_is_refused() -> None:
    class Plain(dspy.Module):
        def forward(self, question: str) -> dspy.Prediction:
            return dspy.Prediction(answer=question)

    with pytest.raises(PolyqaError, match="Plain has no aforward"):
        Rehearsal(Plain(), embedded_engine())
