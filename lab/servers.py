"""Servers that are measured or attacked."""

import hashlib
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from polyqa.base.errors import PolyqaError

Respond = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


def start_server(respond: Respond) -> ThreadingHTTPServer:
    """Start a server on a free port of this machine, in a thread, until this process ends.

    Parameters
    ----------
    respond
        Replies to a request, given its handler and its JSON body, ``{}`` without one.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # headers and body go out together

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            respond(self, json.loads(self.rfile.read(length)) if length else {})

        do_GET = do_HEAD = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # so many calls may come at once
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()  # so soon a shutdown is seen
    return server


@contextmanager
def running(respond: Respond) -> Iterator[str]:
    """Run a server for the block, see `start_server`; yield its address."""
    server = start_server(respond)
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


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


def completion(model: str, reply: str) -> dict[str, Any]:
    """Return the body of a reply, as OpenAI's chat completions have it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": reply}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
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
