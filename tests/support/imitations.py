"""Imitations of servers of language models, each after its public documentation, on this machine.

ollama
    https://docs.ollama.com/api/chat, /api/openai-compatibility, /api/errors
lmstudio
    https://lmstudio.ai/docs/developer/openai-compat; an unknown endpoint is a 200 with an error (its bug tracker, 618)
vllm
    https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html; FastAPI's 404 outside /v1
llamacpp
    https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md; errors of its pull requests 15780, 16486
anthropic
    https://docs.anthropic.com/en/api/messages, /en/api/errors
azure
    https://learn.microsoft.com/azure/ai-services/openai/reference, …/how-to/reasoning
tgi
    https://huggingface.co/docs/text-generation-inference, and validation.rs of its router
openrouter
    https://openrouter.ai/docs/api/reference/errors-and-debugging
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from lab.servers import completion, running, send

GOOD = (
    "## interpretations\n1. Who built Harbour Castle? | Earl Rowan [1]\n\n## answer\nEarl Rowan built Harbour Castle."
)
CONTEXT = 4096  # tokens; a word is one here
Reply = tuple[int, Any]


@dataclass
class Imitation:
    """Where an imitation listens, what it was asked, and how it behaves.

    Attributes
    ----------
    root
        Its address, without a path.
    asked
        Path and body of each request.
    text, finish, thoughts
        What it replies.
    pause
        Seconds before the first byte of a reply.
    """

    root: str = ""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    text: str | None = GOOD
    finish: str = "stop"
    thoughts: str | None = None
    pause: float = 0.0

    @property
    def body(self) -> dict[str, Any]:
        """The only request's body."""
        ((_, body),) = self.asked
        return body

    def completion(self) -> Reply:
        body = completion("m", self.text, self.finish, (10, 5))
        if self.thoughts is not None:
            body["choices"][0]["message"]["reasoning_content"] = self.thoughts
        return 200, body


def _words(body: dict[str, Any]) -> int:
    return sum(len(str(message["content"]).split()) for message in body.get("messages", ()))


def _ollama(server: Imitation, path: str, body: dict[str, Any]) -> Reply:
    if path not in ("/v1/chat/completions", "/api/chat", "/api/generate", "/api/show"):
        return 404, "404 page not found"
    if body.get("model") == "missing":
        text = 'model "missing" not found, try pulling it first'
        return 404, {"error": {"message": text, "type": "api_error"} if path.startswith("/v1") else text}
    if path == "/v1/chat/completions":
        return server.completion()
    done = {"done": True, "done_reason": server.finish, "prompt_eval_count": 10, "eval_count": 5}
    message = {"role": "assistant", "content": server.text or ""}
    return 200, {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, **done}


def _lmstudio(server: Imitation, path: str, body: dict[str, Any]) -> Reply:
    if path != "/v1/chat/completions":
        return 200, {"error": f"Unexpected endpoint or method. (POST {path})"}
    if body.get("response_format", {}).get("type") not in (None, "json_schema"):
        return 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}
    return server.completion()


def _vllm(server: Imitation, path: str, body: dict[str, Any]) -> Reply:
    if path != "/v1/chat/completions":
        return 404, {"detail": "Not Found"}
    if body["model"] == "missing":
        text = "The model `missing` does not exist."
        return 404, {"object": "error", "message": text, "type": "NotFoundError", "param": None, "code": 404}
    wanted = _words(body) + body.get("max_tokens", body.get("max_completion_tokens", 0))
    if wanted > CONTEXT:
        text = f"This model's maximum context length is {CONTEXT} tokens. However, you requested {wanted} tokens."
        return 400, {"object": "error", "message": text, "type": "BadRequestError", "param": None, "code": 400}
    return server.completion()


def _llamacpp(server: Imitation, path: str, body: dict[str, Any]) -> Reply:
    if path not in ("/v1/chat/completions", "/chat/completions"):
        return 404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}
    if (count := _words(body)) >= CONTEXT:
        text = f"request ({count} tokens) exceeds the available context size ({CONTEXT} tokens), try increasing it"
        more = {"type": "exceed_context_size_error", "n_prompt_tokens": count, "n_ctx": CONTEXT}
        return 400, {"error": {"code": 400, "message": text, **more}}
    return server.completion()


def _tgi(server: Imitation, path: str, body: dict[str, Any]) -> Reply:
    if (count := _words(body)) >= CONTEXT:
        text = f"`inputs` must have less than {CONTEXT} tokens. Given: {count}"
        return 422, {"error": f"Input validation error: {text}", "error_type": "validation"}
    return server.completion()


def _anthropic(server: Imitation, path: str, body: dict[str, Any]) -> Reply:
    def refused(status: int, kind: str, text: str) -> Reply:
        return status, {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}

    if path != "/v1/messages":
        return refused(404, "not_found_error", "Not Found")
    sampled = [name for name in ("temperature", "top_p", "top_k") if name in body]
    if {"temperature", "top_p"} <= {*sampled}:
        return refused(
            400, "invalid_request_error", "`temperature` and `top_p` cannot both be specified for this model."
        )
    if "opus-4-7" in body["model"] and sampled:
        return refused(400, "invalid_request_error", f"`{sampled[0]}` is not supported for this model.")
    if not isinstance(body.get("max_tokens"), int):
        return refused(400, "invalid_request_error", "max_tokens: Field required")
    return 200, {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": server.text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _azure(server: Imitation, path: str, body: dict[str, Any]) -> Reply:
    parts = path.strip("/").split("/")
    if parts[:2] != ["openai", "deployments"] or parts[3:] != ["chat", "completions"]:
        return 404, {"error": {"code": "404", "message": "Resource not found"}}
    if parts[2] == "missing":
        text = "The API deployment for this resource does not exist."
        return 404, {"error": {"code": "DeploymentNotFound", "message": text}}
    if parts[2] != "plain":
        for name in ("max_tokens", "temperature", "top_p"):
            if body.get(name, 1 if name != "max_tokens" else None) not in (1, None):
                text = f"Unsupported parameter: '{name}' is not supported with this model."
                error = {"message": text, "type": "invalid_request_error", "param": name}
                return 400, {"error": {**error, "code": "unsupported_parameter"}}
    return server.completion()


def _openrouter(server: Imitation, path: str, body: dict[str, Any]) -> Reply:
    if path != "/api/v1/chat/completions":
        return 404, "<!DOCTYPE html><title>Not Found</title>"
    if body["model"] == "poor/model":
        return 402, {"error": {"message": "This request requires more credits.", "code": 402}, "user_id": "u"}
    if body["model"] == "broken/model":
        error = {"message": "Provider returned error", "code": 502, "metadata": {"provider_name": "X"}}
        return 200, {"error": error, "user_id": "u"}
    return server.completion()


DIALECTS: dict[str, Callable[[Imitation, str, dict[str, Any]], Reply]] = {
    "ollama": _ollama,
    "lmstudio": _lmstudio,
    "vllm": _vllm,
    "llamacpp": _llamacpp,
    "tgi": _tgi,
    "anthropic": _anthropic,
    "azure": _azure,
    "openrouter": _openrouter,
}


@contextmanager
def imitate(name: str, **behaviour: Any) -> Iterator[Imitation]:
    """Serve an imitation until the block ends; ``behaviour`` are fields of `Imitation`."""
    server = Imitation(**behaviour)
    over = threading.Event()

    def respond(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        path = handler.path.partition("?")[0]
        if handler.command != "POST":
            status, reply = 404, "404 page not found"
        else:
            if path != "/api/show":  # LiteLLM asks it beside each call
                server.asked.append((path, body))
            over.wait(server.pause)
            status, reply = DIALECTS[name](server, path, body)
        data, kind = (reply, "text/plain") if isinstance(reply, str) else (json.dumps(reply), "application/json")
        with suppress(ConnectionError):
            send(handler, status, data.encode(), Content_Type=kind)

    with running(respond) as server.root:
        try:
            yield server
        finally:
            over.set()


def drip(connection_text: bytes, seconds: float) -> Iterator[bytes | float]:
    """Yield the head of a stream of events, then a comment now and then, for `raw_server.serve_bytes`."""
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        yield connection_text
        yield seconds
