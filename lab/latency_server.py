"""A language model's server that knows its replies beforehand and takes the same time for each.

python -m lab.latency_server REPLIES SECONDS

REPLIES is a JSON file of replies by `prompt_key`. The server prints its address and ends with its standard input. It is
a process of its own, so that its work does not slow down the one that is measured.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dspy

from polyqa.extractive import embedded_lm
from polyqa.language_models import embedded_engine


def prompt_key(messages: Iterable[Mapping[str, Any]]) -> str:
    """Return what a prompt is known by; messages as OpenAI's chat completions have them."""
    texts = [(message["role"], text_of(message["content"])) for message in messages]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def rehearse(program: dspy.Module, question: str) -> list[dict[str, Any]]:
    """Ask a question of the embedded engine; return its calls as ``history`` of a `dspy.LM` has them."""
    lm = embedded_lm(embedded_engine())
    with dspy.context(lm=lm):
        program(question=question)
    return list(lm.history)


def replies_of(calls: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the replies of calls by `prompt_key`."""
    return {prompt_key(call["messages"]): call["outputs"][0] for call in calls}


@contextmanager
def serving(replies: Mapping[str, str], latency: float) -> Iterator[str]:
    """Serve replies by `prompt_key` after so many seconds each, until the block ends; yield the server's address."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "replies.json"
        path.write_text(json.dumps(replies), encoding="utf-8")
        command = [sys.executable, "-m", "lab.latency_server", str(path), str(latency)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                yield process.stdout.readline().strip()
            finally:
                process.stdin.close()
                process.wait()


def chat_server(respond: Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]) -> ThreadingHTTPServer:
    """Return a server for ``POST …/chat/completions`` on a free port of this machine.

    Parameters
    ----------
    respond
        Replies to a request, given its handler and its body.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # headers and body go out together

        def do_POST(self) -> None:
            respond(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # so many calls may come at once
        daemon_threads = True

    return Server(("127.0.0.1", 0), Handler)


def send_head(handler: BaseHTTPRequestHandler, status: int, length: int, **headers: str) -> None:
    """Send status and headers; underscores in their names become hyphens."""
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(length), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def send_body(handler: BaseHTTPRequestHandler, status: int, answer: Mapping[str, Any]) -> None:
    """Send a reply that is JSON."""
    data = json.dumps(answer).encode()
    send_head(handler, status, len(data))
    handler.wfile.write(data)
    handler.wfile.flush()


def make_server(replies: Mapping[str, str], latency: float) -> ThreadingHTTPServer:
    """Return a server that knows its replies by `prompt_key` and takes so many seconds for each."""

    def respond(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        due = time.perf_counter() + latency
        reply = replies.get(prompt_key(body["messages"]))
        status, answer = (200, completion(body["model"], reply)) if reply is not None else (400, _unknown(body))
        time.sleep(max(0.0, due - time.perf_counter()))
        send_body(handler, status, answer)

    return chat_server(respond)


def text_of(content: Any) -> str:
    """Return the text of a message."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


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


def _unknown(body: Mapping[str, Any]) -> dict[str, Any]:
    end = text_of(body["messages"][-1]["content"])[-200:]
    message = f"no reply was prepared for the prompt that ends with {end!r}"
    return {"error": {"message": message, "type": "invalid_request_error"}}


def main(path: str, latency: str) -> None:
    """Serve until standard input ends."""
    server = make_server(json.loads(Path(path).read_text(encoding="utf-8")), float(latency))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
