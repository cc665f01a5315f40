"""What a connection may take: over real sockets, from servers that do what no server should."""

import asyncio
import gzip
import itertools
import json
import pickle
import time
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from dspy.utils import exceptions as dspy_errors
from openai_server import completion
from raw_server import Said, serve_bytes

import polyqa
from polyqa.lm.bounded_lm import CallTimeoutError

WAYS = {"sync": lambda lm: lm("hi"), "async": lambda lm: asyncio.run(lm.acall("hi"))}
READ, TOTAL, LARGEST = 0.4, 1.2, 0.2
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
PIECE = b" " * 50_000


def whole(body: bytes, more: bytes = b"") -> bytes:
    return HEAD + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


def endless(piece: bytes, pause: float = 0.0) -> Said:
    for _ in itertools.count():
        yield piece
        if pause:
            yield pause


def after(head: bytes, then: Said = ()) -> Callable[[], Said]:
    return lambda: itertools.chain([head], then)


def model(base: str, **more: Any) -> dspy.LM:
    limits = {"read_timeout": READ, "timeout": TOTAL, "max_reply": LARGEST, "retries": 3}
    return polyqa.language_model("openai/m", api_base=base, cache=False, **{**limits, **more})


@pytest.fixture(params=WAYS)
def call(request: pytest.FixtureRequest) -> Callable[[dspy.LM], Any]:
    return WAYS[request.param]


LARGE = (dspy_errors.LMProviderError, r"larger than 0\.2 MB.*--max-reply")
SILENT = (CallTimeoutError, r"nothing came for 0\.4 seconds.*--read-timeout")
SLOW = (CallTimeoutError, r"no answer within 1\.2 seconds.*--timeout")


@pytest.mark.parametrize(
    ("say", "error", "told"),
    [
        pytest.param(after(b""), *SILENT, id="nothing"),
        pytest.param(after(HEAD[:20]), *SILENT, id="half a head"),
        pytest.param(lambda: endless(b"x", 0.1), *SLOW, id="a head that drips"),
        pytest.param(after(HEAD + b"Content-Length: 9\r\n\r\n{"), *SILENT, id="half a body"),
        pytest.param(lambda: after(HEAD + b"\r\n", endless(b" ", 0.1))(), *SLOW, id="a body that drips"),
        pytest.param(lambda: after(HEAD + b"\r\n", endless(PIECE))(), *LARGE, id="an endless body"),
        pytest.param(
            lambda: after(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", endless(b"c350\r\n" + PIECE + b"\r\n"))(),
            *LARGE,
            id="an endless body in chunks",
        ),
        pytest.param(after(whole(PIECE * 5)), *LARGE, id="a large body"),
        pytest.param(
            after(whole(gzip.compress(PIECE * 1000), b"Content-Encoding: gzip\r\n")),
            *LARGE,
            id="a small body that grows",
        ),
        pytest.param(
            lambda: after(b"HTTP/1.1 500 Oh\r\n\r\n", endless(PIECE))(), *LARGE, id="an endless body of an error"
        ),
    ],
)
def test_a_connection_has_limits(
    say: Callable[[], Said], error: type[Exception], told: str, call: Callable[[dspy.LM], Any]
) -> None:
    with serve_bytes(say) as server:
        started = time.perf_counter()
        with pytest.raises(error, match=told):
            call(model(server.base))
        assert time.perf_counter() - started < 3 * TOTAL
        assert server.connections == 1, "what may still be worked at, and paid for, is not asked for again"
        assert server.sent < 30_000_000


@pytest.mark.parametrize("piece", [b" ", PIECE], ids=["drips", "floods"])
def test_a_call_that_was_given_up_closes_its_connection(piece: bytes) -> None:
    """Nobody can end the thread, so what it reads from has to."""
    with serve_bytes(lambda: after(HEAD + b"\r\n", endless(piece, 0.05))()) as server:
        with pytest.raises(CallTimeoutError):
            model(server.base, max_reply=1000)("hi")
        assert server.closed.wait(5)


def test_a_reply_up_to_the_limit_is_read(call: Callable[[dspy.LM], Any]) -> None:
    text = "x" * 190_000
    with serve_bytes(after(whole(completion(text).encode()))) as server:
        assert call(model(server.base)) == [text]


def test_a_call_that_cannot_connect_ends() -> None:
    """An address that answers nothing: the backlog of this socket is full."""
    import socket

    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        held = []
        for _ in range(3):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            held.append(one)
        with pytest.raises(dspy_errors.LMTransportError, match="timed out connecting"):
            model(f"http://127.0.0.1:{port}/v1", connect_timeout=0.2, retries=0)("hi")
        for one in held:
            one.close()


def test_limits_go_with_copies_and_pickles() -> None:
    with serve_bytes(after(whole(PIECE * 5))) as server:
        lm = model(server.base)
        for other in (lm.copy(temperature=1.0), pickle.loads(pickle.dumps(lm))):
            with pytest.raises(LARGE[0], match=LARGE[1]):
                other("hi")


def test_errors_of_providers_are_read_as_before(call: Callable[[dspy.LM], Any]) -> None:
    body = json.dumps({"error": {"message": "no such model"}}).encode()
    said = b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with serve_bytes(lambda: [said]) as server, pytest.raises(dspy_errors.LMInvalidRequestError, match="no such model"):
        call(model(server.base))
