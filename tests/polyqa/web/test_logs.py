import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from polyqa.web.guard import Guard, Guarded
from polyqa.web.limits import WebLimits
from polyqa.web.logs import log_json

QUESTION = "Who is Mercury's secret friend?"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Takes what is logged; the loggers are afterwards as they were."""
    loggers = [logging.getLogger(name) for name in ("polyqa", "uvicorn", "", "py.warnings")]
    before = [(one, list(one.handlers), one.propagate, one.level) for one in loggers]
    yield io.StringIO()
    for one, handlers, propagate, level in before:
        one.handlers, one.propagate = handlers, propagate
        one.setLevel(level)
    logging.captureWarnings(False)


def fail() -> None:
    raise ValueError(f"cannot read {QUESTION}")


def log_both() -> None:
    logging.getLogger("polyqa.web").info("question", extra={"told": {"question": QUESTION, "outcome": "answered"}})
    try:
        fail()
    except ValueError:
        logging.getLogger("polyqa.web").exception("request %s failed", "r1")
    logging.getLogger("uvicorn.error").warning("half a character: %s", "\ud83d")


def test_each_line_is_an_object_without_the_texts_of_questions(stream: io.StringIO) -> None:
    log_json(stream=stream)
    log_both()
    asked, failed, other = (json.loads(line) for line in stream.getvalue().splitlines())
    assert "secret friend" not in stream.getvalue()
    assert (
        asked.items() >= {"level": "info", "logger": "polyqa.web", "message": "question", "outcome": "answered"}.items()
    )
    assert asked["time"].endswith("+00:00")
    assert (failed["level"], failed["message"], failed["error"]) == ("error", "request r1 failed", "ValueError")
    assert failed["trace"][-1].endswith(" fail")
    assert other["logger"] == "uvicorn.error"


def test_texts_are_written_if_they_are_wanted(stream: io.StringIO) -> None:
    log_json(questions=True, stream=stream)
    log_both()
    asked, failed, _ = (json.loads(line) for line in stream.getvalue().splitlines())
    assert asked["question"] == QUESTION
    assert QUESTION in failed["why"]


def test_warnings_and_what_other_libraries_say_are_objects_too(stream: io.StringIO) -> None:
    log_json(stream=stream)
    warnings.warn("something is odd", UserWarning, stacklevel=1)
    logging.getLogger("somebody.elses").error("something broke")
    logging.getLogger("somebody.elses").info("nothing of note")
    odd, broke = (json.loads(line) for line in stream.getvalue().splitlines())
    assert "something is odd" in odd["message"]
    assert broke["logger"] == "somebody.elses"


def test_each_request_is_a_line_without_its_query(stream: io.StringIO) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    log_json(stream=stream)
    client = TestClient(Guarded(app, Guard(hosts=()), WebLimits()))
    client.get("/ask?question=secret")
    client.get("/ask", headers={"origin": "http://evil.example"})
    fine, refused = (json.loads(line) for line in stream.getvalue().splitlines() if "polyqa.web.requests" in line)
    assert (fine["method"], fine["path"], fine["status"]) == ("GET", "/ask", 204)
    assert refused["status"] == 403
    assert len(fine["request"]) == 12
    assert fine["seconds"] >= 0
    assert "secret" not in stream.getvalue()
