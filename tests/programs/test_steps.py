"""One algorithm, two drivers: what a program's steps see and leave behind is the same with threads and in the loop."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import dspy
import pytest
from scripted_engine import ScriptedEngine, scripted_lm

from polyqa.extractive.prompt import Prompt
from polyqa.programs import Program, Steps, adrive, ask, ask_all, ask_while, drive, work
from polyqa.programs import steps as steps_module

QUESTIONS = [f"question {number}" for number in range(5)]
WAIT = 30  # seconds until a test gives up; none of them takes so long
Run = Callable[..., Any]


def in_the_loop(steps: Steps[Any]) -> Any:
    return asyncio.run(adrive(steps))


both = pytest.mark.parametrize("run", [drive, in_the_loop], ids=["threads", "loop"])


class Answers:
    """Answers each question; keeps in which order the calls ended, and fails where it is told to."""

    def __init__(self, *, backwards: bool = False, failing: tuple[str, ...] = ()) -> None:
        self.ended: list[str] = []
        self.failing = failing
        self.backwards = backwards
        self.turns = {question: threading.Event() for question in QUESTIONS}

    def __call__(self, prompt: Prompt) -> dict[str, object]:
        question = prompt.inputs["question"]
        later = dict(pairwise(QUESTIONS)).get(question)
        if self.backwards and later:  # ends only in the reverse of the order, so only if all run at once
            assert self.turns[later].wait(WAIT)
        self.ended.append(question)
        if question in self.turns:
            self.turns[question].set()
        if question in self.failing:
            raise RuntimeError(question)
        return {"answer": f"answer to {question}"}


@pytest.fixture
def predict() -> dspy.Predict:
    return dspy.Predict("question -> answer")


@pytest.fixture(autouse=True)
def adapter() -> Iterator[None]:
    with dspy.context(lm=scripted_lm(ScriptedEngine(Answers()))):
        yield


def lm(answers: Answers) -> dspy.LM:
    return scripted_lm(ScriptedEngine(answers))


def all_of(predict: dspy.Predict, questions: list[str] = QUESTIONS) -> Steps[list[str]]:
    replies = yield from ask_all([(predict, {"question": question}) for question in questions])
    return [reply.answer for reply in replies]


def traced() -> list[str]:
    return [inputs["question"] for _, inputs, _ in dspy.settings.trace]


@both
def test_replies_and_trace_keep_the_order_of_the_calls(run: Run, predict: dspy.Predict) -> None:
    answers = Answers(backwards=True)
    earlier = ("an earlier call", {"question": "earlier"}, None)
    with dspy.context(lm=lm(answers), trace=[earlier]):
        replies = run(all_of(predict))
        assert traced() == ["earlier", *QUESTIONS]
        predictors = [predictor for predictor, _, _ in dspy.settings.trace[1:]]
    assert answers.ended == QUESTIONS[::-1]
    assert replies == [f"answer to {question}" for question in QUESTIONS]
    assert all(predictor is predict for predictor in predictors)


@both
@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_trace_does_not_grow_beyond_its_limit_and_may_be_off(run: Run, predict: dspy.Predict, count: int) -> None:
    with dspy.context(trace=[], max_trace_size=3):
        assert run(all_of(predict, QUESTIONS[:count])) == [f"answer to {one}" for one in QUESTIONS[:count]]
        assert traced() == QUESTIONS[:count][-3:]
    with dspy.context(trace=None):
        assert len(run(all_of(predict, QUESTIONS[:count]))) == count
        assert dspy.settings.trace is None


@both
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_as_many_calls_are_under_way_as_the_limit_says(
    run: Run, predict: dspy.Predict, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps_module, "CALLS_AT_ONCE", limit)
    barrier = threading.Barrier(limit, timeout=WAIT)

    def together(prompt: Prompt) -> dict[str, object]:
        barrier.wait()  # nobody goes on before so many are there
        return {"answer": f"answer to {prompt.inputs['question']}"}

    engine = ScriptedEngine(together)
    with dspy.context(lm=scripted_lm(engine), trace=[]):
        replies = run(all_of(predict, QUESTIONS[:4]))
        assert traced() == QUESTIONS[:4]
    assert replies == [f"answer to {question}" for question in QUESTIONS[:4]]
    assert engine.most_at_once == limit


@both
@pytest.mark.parametrize("failing", [QUESTIONS[:1], QUESTIONS[2:3], QUESTIONS[1:4]])
def test_the_first_error_is_raised_and_finished_siblings_keep_their_traces(
    run: Run, predict: dspy.Predict, failing: list[str]
) -> None:
    with dspy.context(lm=lm(Answers(backwards=True, failing=tuple(failing))), trace=[]):
        with pytest.raises(Exception, match=failing[0]):
            run(all_of(predict))
        assert traced() == [question for question in QUESTIONS if question not in failing]


@both
def test_an_error_comes_up_at_the_line_that_asked_and_may_be_caught_there(run: Run, predict: dspy.Predict) -> None:
    def careful() -> Steps[str]:
        with pytest.raises(Exception, match="question 1"):
            yield from all_of(predict, QUESTIONS[:2])
        try:
            yield from work(int, "no number")
        except ValueError:
            reply = yield from ask(predict, question="question 4")
        return reply.answer

    with dspy.context(lm=lm(Answers(failing=("question 1",)))):
        assert run(careful()) == "answer to question 4"


@both
@pytest.mark.parametrize("count", [0, 1, 3])
def test_work_is_done_while_replies_are_awaited(run: Run, predict: dspy.Predict, count: int) -> None:
    worked, asked = threading.Event(), threading.Event()

    def look() -> str:
        assert count == 0 or asked.wait(WAIT), "no call went out meanwhile"
        worked.set()
        return "found"

    def reply(prompt: Prompt) -> dict[str, object]:
        asked.set()
        assert worked.wait(WAIT), "the work waits for the replies"
        return {"answer": f"answer to {prompt.inputs['question']}"}

    def steps() -> Steps[tuple[list[str], str]]:
        calls = [(predict, {"question": question}) for question in QUESTIONS[:count]]
        replies, found = yield from ask_while(calls, look)
        return [one.answer for one in replies], found

    with dspy.context(lm=scripted_lm(ScriptedEngine(reply)), trace=[]):
        assert run(steps()) == ([f"answer to {one}" for one in QUESTIONS[:count]], "found")
        assert traced() == QUESTIONS[:count]


@both
@pytest.mark.parametrize(("failing", "told"), [(("question 0",), "question 0"), ((), "invalid literal")])
def test_an_error_of_a_call_comes_before_one_of_the_work(
    run: Run, predict: dspy.Predict, failing: tuple[str, ...], told: str
) -> None:
    with dspy.context(lm=lm(Answers(failing=failing))), pytest.raises(Exception, match=told):
        run(ask_while([(predict, {"question": "question 0"})], int, "no number"))


@both
def test_the_settings_of_the_caller_hold_in_every_step(run: Run, predict: dspy.Predict) -> None:
    seen = []

    class Looking(dspy.Module):
        def forward(self) -> dspy.Prediction:
            seen.append(dspy.settings.get("of_this_test"))
            return dspy.Prediction()

        async def aforward(self) -> dspy.Prediction:
            return self.forward()

    def steps() -> Steps[None]:
        yield from ask_all([(Looking(), {})] * 3)
        seen.append((yield from work(dspy.settings.get, "of_this_test")))

    with dspy.context(of_this_test="seven"):
        run(steps())
    assert seen == ["seven"] * 4


@both
@pytest.mark.parametrize("steps", [lambda: iter(["answer"]), lambda: iter([work(int)])], ids=["no generator", "yield"])
def test_what_is_no_step_is_refused_with_how_to_write_one(run: Run, steps: Run) -> None:
    with pytest.raises(TypeError, match="`yield from`"):
        run(steps())


class Asking(Program):
    """Asks five questions at once, and one more."""

    def __init__(self) -> None:
        super().__init__()
        self.predict = dspy.Predict("question -> answer")

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        several = yield from all_of(self.predict)
        last = yield from ask(self.predict, question=question)
        return dspy.Prediction(answer=" ".join([*several, last.answer]), interpretations=[], passages=[])


@pytest.mark.parametrize(
    "call", [lambda p: p(question="and?"), lambda p: asyncio.run(p.acall(question="and?"))], ids=["sync", "async"]
)
def test_a_program_is_its_steps_and_knows_the_usage_of_all_its_calls(call: Run) -> None:
    program, engine = Asking(), ScriptedEngine(Answers())
    with dspy.context(lm=scripted_lm(engine), track_usage=True):
        result = call(program)
        with dspy.track_usage() as tracker:
            call(program)
    assert result.answer.startswith("answer to question 0 answer to question 1")
    assert result.answer.endswith("answer to and?")
    assert len(engine.seen) == 12
    for used in (result.get_lm_usage(), tracker.get_total_tokens()):
        ((_, usage),) = used.items()
        assert usage["prompt_tokens"] == usage["completion_tokens"] == 6


def test_a_program_without_steps_says_so() -> None:
    class Silent(Program):
        pass

    with pytest.raises(TypeError, match="Silent has no steps"):
        Silent()(question="anything?")
