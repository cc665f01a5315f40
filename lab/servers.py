"""Servers that are measured or attacked, and what the servers of the tests are made of."""

import hashlib
import json
import re
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from polyqa.base.errors import PolyqaError

Respond = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections open, sends at once, and prints nothing."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class _Server(ThreadingHTTPServer):
    """Closes its connections at the end: one kept alive would answer whoever gets this port next."""

    request_queue_size = 128  # so many calls may come at once

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self._connections: list[socket.socket] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()  # so soon a shutdown is seen

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.append(request)
        super().process_request(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def start_server(respond: Respond) -> ThreadingHTTPServer:
    """Start a server on a free port of this machine, in a thread, until this process ends.

    Parameters
    ----------
    respond
        Replies to a request, given its handler and its JSON body, ``{}`` without one.
    """
    return _Server(_handler(respond))


def _handler(respond: Respond) -> type[BaseHTTPRequestHandler]:
    class Handler(QuietHandler):
        wbufsize = -1  # headers and body go out together

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            respond(self, json.loads(self.rfile.read(length)) if length else {})

        do_GET = do_HEAD = do_POST

    return Handler


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on a free port of this machine, in a thread, for the block; yield the address."""
    server = _Server(handler)
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def running(respond: Respond) -> AbstractContextManager[str]:
    """Run a server for the block, see `start_server`; give its address."""
    return serving(_handler(respond))


def send(handler: BaseHTTPRequestHandler, status: int, data: bytes, **headers: str) -> None:
    """Send a response, JSON unless ``headers`` say otherwise; underscores in their names become hyphens."""
    send_head(handler, status, len(data), **headers)
    if handler.command != "HEAD":
        handler.wfile.write(data)
    handler.wfile.flush()


def send_head(handler: BaseHTTPRequestHandler, status: int, length: int, **headers: str) -> None:
    """Send status and headers alone."""
    handler.send_response(status)
    for name, value in {"Content_Type": "application/json", "Content_Length": str(length), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Reset the connection in place of a response."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def completion(
    model: str, reply: str | None, finish_reason: str | None = "stop", tokens: Sequence[int | None] = (1, 1)
) -> dict[str, Any]:
    """Return the body of a reply, as OpenAI's chat completions have it; ``tokens``: of the prompt and of the reply."""
    usage = dict(zip(("prompt_tokens", "completion_tokens"), tokens, strict=True))
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": finish_reason}],
        "usage": {**usage, "total_tokens": sum(filter(None, tokens))},
    }


def prompt_key(messages: Iterable[Mapping[str, Any]]) -> str:
    """Return what a prompt is known by; messages as OpenAI's chat completions have them."""
    texts = [(message["role"], _text_of(message["content"])) for message in messages]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@contextmanager
def polyqa_server(*words: str) -> Iterator[str]:
    """Run ``polyqa serve`` with these words on a free port for the block; yield its address."""
    command = [sys.executable, "-m", "polyqa", "serve", "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            match = re.search(r"http://[\d.:]+\d", process.stdout.readline())
            if match is None:
                raise PolyqaError("The server did not start; run `polyqa serve` to see why.")
            yield match[0]
        finally:
            process.terminate()
            process.communicate()  # what it still says would fill the pipe otherwise
