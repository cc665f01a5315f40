"""What becomes of a question when the language model's server fails: what the user is told, and what is kept.

python -m lab.faults lm [--program NAME …] [--question TEXT] [--timeout 2] [--json FILE]

A server on this machine answers as the embedded engine does, but for the prompts that fail, in one of twelve ways. Of
every program each step fails in turn (the first prompt of it, as often as it is sent), then, with one program, all
calls. A call is not sent again by the client (no retries), so what is seen is what is left when retries do not help;
the program itself asks once more.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Annotated, Any, Literal, NamedTuple

import dspy
import typer

from polyqa.asking import ask
from polyqa.cli.errors import explain
from polyqa.extractive import embedded_lm
from polyqa.language_models import embedded_engine, language_model
from polyqa.loading import load
from polyqa.programs.registry import REGISTRY

from ..results import JsonFile, Programs, Table, report, tracked
from ..servers import completion, prompt_key, reset, running, send, send_head

_DRIP = 0.2  # seconds before every byte


class Failure(NamedTuple):
    """How a server fails, in words, and what it sends: at once, a byte now and then, or never, or it closes."""

    text: str
    body: str = ""
    status: int = 200
    headers: Mapping[str, str] = {}
    manner: Literal["whole", "drip", "hang", "reset"] = "whole"


def _reply(text: str) -> str:
    return json.dumps(completion("m", text))


def _error(message: str) -> str:
    return json.dumps({"error": {"message": message, "type": "error"}})


FAILURES: Mapping[str, Failure] = {
    "empty": Failure("an empty reply", _reply("")),
    "garbage": Failure('not a reply: `{"status": "ok"}`', _reply('{"status": "ok"}')),
    "429": Failure("429, `Retry-After: 1`", _error("Too many requests"), 429, {"Retry_After": "1"}),
    "500": Failure("500", _error("Internal server error"), 500),
    "reset": Failure("the connection is reset", manner="reset"),
    "hang": Failure("no byte comes", manner="hang"),
    "drip": Failure("a byte comes now and then", _reply("Yes"), manner="drip"),
    "html": Failure("a page in HTML", "<html><body>It works!</body></html>", headers={"Content_Type": "text/html"}),
    "half": Failure("half of a JSON body", _reply("Yes")[:90]),
    "no choices": Failure("no choices", json.dumps({**completion("m", ""), "choices": []})),
    "401": Failure("401, a wrong key", _error("Incorrect API key provided"), 401),
    "model": Failure("404, a wrong model name", _error("The model does not exist"), 404),
}


@dataclass
class FaultyServer:
    """A language model's server, the embedded engine over HTTP; a prompt that comes again gets the same reply at once.

    If ``prompt``, a `prompt_key`, is given, only that prompt fails, whenever it comes. ``over`` is set when nobody
    waits any more for a reply that hangs.
    """

    base: str = ""
    failure: Failure | None = None
    prompt: str | None = None
    over: threading.Event = field(default_factory=threading.Event)
    replies: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def failing(self, failure: Failure, prompt: str | None = None) -> Iterator[None]:
        """Fail in the block."""
        self.failure, self.prompt, self.over = failure, prompt, threading.Event()
        try:
            yield
        finally:
            self.over.set()
            self.failure = self.prompt = None

    def respond(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Reply to a request, or fail."""
        failure, over, key = self.failure, self.over, prompt_key(body["messages"])
        other = self.prompt is not None and key != self.prompt
        if failure is None or other:
            self.replies[key] = self.replies.get(key) or engine_reply(body)
            failure = Failure("", _reply(self.replies[key]))
        with suppress(OSError):  # who asked may have given up
            _send(handler, failure, over)


def engine_reply(body: Mapping[str, Any]) -> str:
    """Return what the embedded engine says to a request."""
    roles = {"developer": "system"}
    messages = [{**message, "role": roles.get(message["role"], message["role"])} for message in body["messages"]]
    return str(embedded_lm(embedded_engine())(messages=messages)[0])


def _send(handler: BaseHTTPRequestHandler, failure: Failure, over: threading.Event) -> None:
    if failure.manner == "hang":
        over.wait()
    if failure.manner in ("hang", "reset"):
        reset(handler)
        return
    data = failure.body.encode()
    if failure.manner == "whole":
        send(handler, failure.status, data, **failure.headers)
        return
    send_head(handler, failure.status, len(data))
    for byte in data:
        handler.wfile.flush()
        if over.wait(_DRIP):
            handler.close_connection = True
            return
        handler.wfile.write(bytes([byte]))


@contextmanager
def faulty_server() -> Iterator[FaultyServer]:
    """Serve the embedded engine on a free port of this machine until the block ends."""
    state = FaultyServer()
    with running(state.respond) as address:
        state.base = f"{address}/v1"
        try:
            yield state
        finally:
            state.over.set()


class Outcome(NamedTuple):
    """What came of a question: what the user was told instead of an answer, and what replaced failed calls."""

    error: str
    faults: Sequence[str] = ()


def measure(
    program: dspy.Module, question: str, failures: Sequence[str], timeout: float
) -> dict[str, dict[str, Outcome]]:
    """Let each step of a program fail in every way, then all steps together (``""``); return step → failure → outcome.

    Parameters
    ----------
    failures
        Names of `FAILURES`.
    timeout
        Seconds that a call may take.
    """
    with dspy.context(lm=embedded_lm(embedded_engine())):
        program(question=question)
    calls = {name: predictor.history for name, predictor in program.named_predictors() if predictor.history}
    prompts = {name: prompt_key(history[0]["messages"]) for name, history in calls.items()}
    outcomes: dict[str, dict[str, Outcome]] = {}
    with faulty_server() as server:
        lm = language_model("openai/m", api_base=server.base, api_key="none", cache=False, timeout=timeout, retries=0)
        for step, prompt in {**prompts, "": None}.items():
            for name in failures:
                with server.failing(FAILURES[name], prompt):
                    outcomes.setdefault(step, {})[name] = _outcome(question, program, lm)
    return outcomes


def _outcome(question: str, program: dspy.Module, lm: dspy.LM) -> Outcome:
    try:
        return Outcome("", [fault.became for fault in ask(question, program=program, lm=lm).faults])
    except Exception as error:
        return Outcome(explain(error)[0].replace(lm.kwargs["api_base"], "http://SERVER/v1"))


def tables(measured: Mapping[str, Mapping[str, Mapping[str, Outcome]]], failing_program: str) -> dict[str, Table]:
    """Return what the user is told where every call fails, how many steps may fail, and what replaces each step.

    Parameters
    ----------
    measured
        Program → step → failure → outcome.
    failing_program
        The program whose calls all fail in the first table.
    """
    failures = measured[failing_program][""]
    message_rows = [
        [FAILURES[name].text, f"`{outcome.error}`" if outcome.error else "an answer"]
        for name, outcome in failures.items()
    ]
    answered_rows, fallback_rows = [], []
    for program, steps in measured.items():
        single = {step: outcomes for step, outcomes in steps.items() if step}
        answered = [[not outcomes[name].error for outcomes in single.values()] for name in failures]
        cells = [f"{sum(step_answered)} of {len(step_answered)}" for step_answered in answered]
        answered_rows.append([f"`{program}`", *cells])
        for step, outcomes in single.items():
            with_faults = [outcome for outcome in outcomes.values() if not outcome.error and outcome.faults]
            texts = dict.fromkeys(outcome.faults[0] for outcome in with_faults)
            fallback_rows.append([f"`{program}`", f"`{step}`", "; ".join(texts) or "nothing: the question fails"])
    names = [FAILURES[name].text for name in failures]
    return {
        "told": Table(heads=["every call", f"what `polyqa ask --program {failing_program}` says"], rows=message_rows),
        "answered": Table(heads=["program", *names], rows=answered_rows),
        "kept": Table(heads=["program", "step", "fallback"], rows=fallback_rows),
    }


def command(
    program: Programs = None,
    failure: Annotated[list[str] | None, typer.Option(help=f"Repeat for more: {', '.join(FAILURES)}.")] = None,
    question: Annotated[str, typer.Option(help="What is asked, of the homonyms.")] = "When did Titanic come out?",
    shown: Annotated[str, typer.Option(help="The program of which all calls fail in the first table.")] = "auto",
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a call may take.")] = 2.0,
    json_file: JsonFile = None,
) -> None:
    """Let a language model's server fail and see what is kept."""
    # All are loaded before the first is measured: one that cannot be loaded loses no measurement.
    programs = {name: load(name, preset="lean") for name in dict.fromkeys([*(program or REGISTRY), shown])}
    measured = {
        name: measure(programs[name], question, failure or list(FAILURES), timeout)
        for name in tracked(programs, "failing")
    }
    report(f"Asked: *{question}*", tables(measured, shown), json_file)
