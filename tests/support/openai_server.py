"""A real OpenAI-compatible HTTP server on localhost that serves an engine over the wire."""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from dspy.lm15 import LM15Error, Message, Request, Response

from lab import servers


class Engine(Protocol):
    """What is served: `polyqa.extractive.ExtractiveEngine`, or one that a test makes."""

    def complete(self, request: Request) -> Response: ...


@dataclass
class Wire(Exception):
    """Raised by an engine: what the server sends instead of a completion; without a body it resets the connection."""

    body: str | None
    status: int = 200
    content_type: str = "application/json"


@dataclass
class Server:
    """Where the server listens, and what it was asked."""

    base: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When each request came, as of `time.monotonic`."""
    most_at_once: int = 0


def completion(text: str | None, finish_reason: str = "stop") -> str:
    """Return the body of a completion, for `Wire`."""
    return json.dumps(servers.completion("m", text, finish_reason))


@contextmanager
def serve(
    engine: Engine,
    *,
    latency: float = 0.0,
    drip: float | None = None,
    failures: Sequence[tuple[int, Mapping[str, str]]] = (),
) -> Iterator[Server]:
    """Serve ``POST /v1/chat/completions`` until the block ends.

    Parameters
    ----------
    engine
        Answers.
    latency
        Seconds that every call waits for its reply; with a long one the server hangs, until the block ends.
    drip
        Seconds before every byte of a reply, whose headers come at once; all bytes at once if not given.
    failures
        Status and headers of the first replies, which are errors.
    """
    running = 0
    lock = threading.Lock()
    over = threading.Event()
    failing = iter(failures)

    class Handler(servers.QuietHandler):
        def do_POST(self) -> None:
            nonlocal running
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                state.requests.append(body)
                state.times.append(time.monotonic())
                running += 1
                state.most_at_once = max(state.most_at_once, running)
                status, headers = next(failing, (200, {}))
            content_type = "application/json"
            try:
                over.wait(latency)
                reply: dict[str, Any] = {"error": {"message": f"status {status}"}}
                if status == 200:
                    status, reply = self._answer(body)
                data = json.dumps(reply).encode()
            except Wire as wire:
                if wire.body is None:
                    servers.reset(self)
                    return
                data, status, content_type = wire.body.encode(), wire.status, wire.content_type
            finally:
                with lock:
                    running -= 1
            with suppress(ConnectionError):  # who asked may have given up
                servers.send_head(self, status, len(data), Content_Type=content_type, **headers)
                if drip is None:
                    self.wfile.write(data)
                    return
                for byte in data:
                    if over.wait(drip):
                        return
                    self.wfile.write(bytes([byte]))

        def _answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
            if self.path.split("?")[0] != "/v1/chat/completions":
                return 404, {"error": {"message": f"no such path: {self.path}"}}
            system, messages = "", []
            for message in body["messages"]:
                text = message["content"]
                if not isinstance(text, str):
                    text = "".join(part["text"] for part in text)
                if message["role"] in ("system", "developer"):
                    system += text
                else:
                    make = Message.user if message["role"] == "user" else Message.assistant
                    messages.append(make(text))
            try:
                request = Request(model=body["model"], messages=tuple(messages), system=system or None)
                response = engine.complete(request)
            except LM15Error as error:
                return 400, {"error": {"message": str(error), "type": "invalid_request_error"}}
            tokens = response.usage.input_tokens, response.usage.output_tokens
            return 200, servers.completion(body["model"], response.message.text, response.finish_reason, tokens)

    with servers.serving(Handler) as base:
        state = Server(f"{base}/v1")
        try:
            yield state
        finally:
            over.set()
