"""A language model's server, the embedded engine over HTTP, that fails where it is told to."""

import json
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Literal

from dspy.lm15 import Message, Request

from polyqa.extractive import ExtractiveEngine

from ..latency_server import completion, prompt_key, text_of

_DRIP = 0.2  # seconds before every byte


@dataclass(frozen=True)
class Failure:
    """How a server fails.

    Attributes
    ----------
    told
        In words.
    status, body, headers
        What it sends.
    manner
        ``whole`` sends it at once, ``drip`` a byte now and then, ``hang`` never, ``reset`` closes the connection.
    """

    told: str
    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    manner: Literal["whole", "drip", "hang", "reset"] = "whole"


def _reply(text: str) -> str:
    return json.dumps(completion("m", text))


def _error(message: str) -> str:
    return json.dumps({"error": {"message": message, "type": "error"}})


FAILURES: Mapping[str, Failure] = MappingProxyType(
    {
        "empty": Failure("an empty reply", body=_reply("")),
        "garbage": Failure('a reply that is none: `{"status": "ok"}`', body=_reply('{"status": "ok"}')),
        "429": Failure(
            "429, `Retry-After: 1`", 429, _error("Too many requests"), MappingProxyType({"Retry-After": "1"})
        ),
        "500": Failure("500", 500, _error("Internal server error")),
        "reset": Failure("the connection is reset", manner="reset"),
        "hang": Failure("no byte comes", manner="hang"),
        "drip": Failure("a byte comes now and then", body=_reply("Yes"), manner="drip"),
        "html": Failure("a page in HTML", body="<html><body>It works!</body></html>"),
        "half": Failure("half of a JSON body", body=_reply("Yes")[:90]),
        "no choices": Failure("no choices", body=json.dumps({**completion("m", ""), "choices": []})),
        "401": Failure("401, a wrong key", 401, _error("Incorrect API key provided")),
        "model": Failure("404, a wrong model name", 404, _error("The model does not exist")),
    }
)
"""By short names."""


@dataclass
class FaultyServer:
    """Where the server listens, and how it fails.

    Attributes
    ----------
    base
        Its address.
    failure
        How; ``None`` if it does not.
    prompt
        The `prompt_key` of the prompt that fails, whenever it comes; ``None`` for all prompts.
    over
        Done when nobody waits any more for a reply that hangs.
    """

    base: str
    failure: Failure | None = None
    prompt: str | None = None
    over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def failing(self, failure: Failure, prompt: str | None = None) -> Iterator[None]:
        """Fail in the block."""
        self.failure, self.prompt, self.over = failure, prompt, threading.Event()
        try:
            yield
        finally:
            self.over.set()
            self.failure = self.prompt = None


@contextmanager
def faulty_server(engine: ExtractiveEngine) -> Iterator[FaultyServer]:
    """Serve ``POST …/chat/completions`` on a free port of this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            failure, prompt, over = state.failure, state.prompt, state.over
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            messages = [(message["role"], text_of(message["content"])) for message in body["messages"]]
            if failure is None or (prompt is not None and prompt_key(messages) != prompt):
                failure = Failure("", body=json.dumps(completion(body["model"], _answer(engine, messages))))
            with suppress(OSError):  # who asked may have given up
                self._send(failure, over)

        def _send(self, failure: Failure, over: threading.Event) -> None:
            if failure.manner == "hang":
                over.wait()
            if failure.manner in ("hang", "reset"):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
                return
            data = failure.body.encode()
            self.send_response(failure.status)
            self.send_header("Content-Type", "text/html" if failure.body.startswith("<") else "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in failure.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if failure.manner == "whole":
                self.wfile.write(data)
                return
            for byte in data:
                if over.wait(_DRIP):
                    self.close_connection = True
                    return
                self.wfile.write(bytes([byte]))

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state = FaultyServer(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(engine: ExtractiveEngine, messages: list[tuple[str, str]]) -> str:
    system = "".join(text for role, text in messages if role in ("system", "developer"))
    told = tuple(
        Message.user(text) if role == "user" else Message.assistant(text)
        for role, text in messages
        if role in ("user", "assistant")
    )
    return engine.complete(Request(model="m", messages=told, system=system or None)).message.text or ""
