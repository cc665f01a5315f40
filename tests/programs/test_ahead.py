"""Calls made ahead, over real HTTP: a reply that is not needed is not waited for, nor asked for again, but counted."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import dspy
import pytest
from openai_server import Server, Wire, serve
from scripted_engine import ScriptedEngine

import polyqa
from polyqa.extractive.prompt import Prompt
from polyqa.language_models import language_model
from polyqa.lm.recorder import Recorder, recording
from polyqa.programs import Program, Steps, ask, ask_ahead
from polyqa.programs.tries import Call

WAIT = 30  # seconds until a test gives up
PATIENCE = 60.0  # seconds that a call may take: none of those that are held is waited for
Run = Callable[[dspy.Module], Any]


class Deciding(Program):
    """Asks whether the second reply is needed, and for this reply meanwhile; then for a third."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.predict = dspy.Predict("question -> answer")

    def steps(self, question: str) -> Steps[dspy.Prediction]:
        """Answer a question."""
        calls = [Call(self.predict, {"question": f"{which} {question}"}) for which in ("first", "second")]
        first, second = yield from ask_ahead(*calls, lambda reply: reply.answer == "needed")
        third = yield from ask(self.predict, question=f"third {question}")
        return dspy.Prediction(answer=f"{first.answer}, {second and second.answer}, {third.answer}")


class Replies:
    """Holds the second reply until the test releases it, or the third call has come if the second is needed."""

    def __init__(self, verdict: str, bad: Wire | str | None = None) -> None:
        self.verdict = verdict
        self.bad = bad
        self.release, self.arrived = threading.Event(), threading.Event()

    def __call__(self, prompt: Prompt) -> dict[str, object] | str:
        which = prompt.inputs["question"].split()[0]
        if which == "first":
            assert self.arrived.wait(WAIT), "the second call does not go out with the first"
            return {"answer": self.verdict}
        if which == "second":
            self.arrived.set()
            assert self.release.wait(WAIT)
            if isinstance(self.bad, Wire):
                raise self.bad
            return self.bad or {"answer": "late"}
        return {"answer": "done"}


@pytest.fixture(params=["threads", "loop"])
def run(request: pytest.FixtureRequest) -> Run:
    if request.param == "threads":
        return lambda program: program(question="Q")
    return lambda program: asyncio.run(program.acall(question="Q"))


def recorded(server: Server) -> AbstractContextManager[Recorder]:
    """Answer from a server in a block, and record what is asked of it."""
    lm = language_model("openai/scripted", api_base=server.base, cache=False, timeout=PATIENCE, retries=1)
    return recording(lm)


def questions(server: Server) -> list[str]:
    """Return which calls the server got."""
    ends = [str(request["messages"][-1]["content"]) for request in server.requests]
    return sorted(which for which in ("first", "second", "third") for text in ends if f"{which} Q" in text)


def figures(recorder: Recorder) -> tuple[int, int, int]:
    return recorder.requests, len(recorder.calls), recorder.input_tokens


def test_a_reply_that_is_not_needed_is_not_waited_for(run: Run) -> None:
    replies = Replies("no")
    with serve(ScriptedEngine(replies)) as server, dspy.context(trace=[]):
        with recorded(server) as recorder:
            result = run(Deciding())
            traced = [inputs["question"] for _, inputs, _ in dspy.settings.trace]
        assert not replies.release.is_set()
        assert result.answer == "no, None, done"
        assert result.not_needed == 1
        assert traced == ["first Q", "third Q"]
        assert figures(recorder) == (3, 3, 2), "three requests, of which two came back with their usage"
        replies.release.set()
        assert questions(server) == ["first", "second", "third"]
    assert figures(recorder) == (3, 3, 2), "what comes later is not recorded"


def test_a_cancelled_call_closes_its_connection() -> None:
    replies = Replies("no")
    with serve(ScriptedEngine(replies)) as server:
        with recorded(server):
            asyncio.run(Deciding().acall(question="Q"))
        replies.release.set()
        until = time.monotonic() + WAIT
        while not server.closed_early and time.monotonic() < until:
            time.sleep(0.01)
        assert server.closed_early == 1


@pytest.mark.parametrize("bad", [Wire("", status=500), Wire(None), "no field: ["], ids=["500", "reset", "text"])
def test_a_failed_reply_that_is_not_needed_is_not_asked_for_again(run: Run, bad: Wire | str) -> None:
    replies = Replies("no", bad)
    with serve(ScriptedEngine(replies)) as server, recorded(server):
        assert run(Deciding()).faults == []
        replies.release.set()
        time.sleep(1.5)  # longer than the pause before another try
        assert questions(server) == ["first", "second", "third"]


def test_a_reply_that_is_needed_is_waited_for(run: Run) -> None:
    replies = Replies("needed")
    with serve(ScriptedEngine(replies)) as server, dspy.context(trace=[]), recorded(server) as recorder:
        threading.Timer(0.3, replies.release.set).start()
        result = run(Deciding())
        assert result.answer == "needed, late, done"
        assert result.not_needed == 0
        assert [inputs["question"] for _, inputs, _ in dspy.settings.trace] == ["first Q", "second Q", "third Q"]
    assert figures(recorder) == (3, 3, 3)


@pytest.mark.parametrize(("verdict", "asked"), [("no", ["first", "third"]), ("needed", ["first", "second", "third"])])
def test_one_call_at_a_time_makes_none_ahead(run: Run, verdict: str, asked: list[str]) -> None:
    replies = Replies(verdict)
    replies.arrived.set()
    replies.release.set()
    with serve(ScriptedEngine(replies)) as server, recorded(server):
        assert run(Deciding(calls_at_once=1)).not_needed == 0
        assert questions(server) == asked


def test_an_error_of_the_first_call_gives_up_the_second(run: Run) -> None:
    replies = Replies("no")
    first = Replies.__call__

    def fail(prompt: Prompt) -> dict[str, object] | str:
        reply = first(replies, prompt)
        if prompt.inputs["question"].startswith("first"):
            raise Wire('{"error": {"message": "wrong key"}}', status=401)
        return reply

    with serve(ScriptedEngine(fail)) as server, recorded(server):
        with pytest.raises(Exception, match="wrong key"):
            run(Deciding())
        assert not replies.release.is_set()
        replies.release.set()


def test_diva_does_not_wait_for_an_answer_from_useless_passages(run: Run) -> None:
    release = threading.Event()

    def reply(prompt: Prompt) -> dict[str, object]:
        if "interpretations" in prompt.output_fields:
            assert release.wait(WAIT)
        return {
            "reason": "",
            "ambiguity_types": "None",
            "pseudo_interpretations": ["Which Q?"],
            "answered": "none",
            "interpretations": [],
            "answer": "From memory.",
        }

    program = polyqa.load("diva", preset="lean")
    with serve(ScriptedEngine(reply)) as server, recorded(server) as recorder:
        result = run(program)
        assert not release.is_set()
        release.set()
    assert (result.answer, result.verdicts, result.not_needed) == ("From memory.", [False], 1)
    assert recorder.requests == len(recorder.calls) == 5
