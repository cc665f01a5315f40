"""What a server's errors mean, by status and class, and what to do about each."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from typing import Any

from dspy.utils import exceptions as dspy_errors

from polyqa.base.keys import without_keys

_LONGEST = 300  # characters of what a server says
_BEGINNING = 160  # characters of a reply
# Most servers (vLLM, SGLang, llama.cpp, LM Studio, OpenRouter) say it in words only.
_TOO_LONG = re.compile(
    r"\bcontext (?:length|window|size)\b|\bprompt is too long\b"
    r"|`inputs` (?:tokens \+|must have less than)",  # of TGI
    re.I,
)
# Codes of OpenAI and Azure, then of Gemini, for what their filters stop: that is about one prompt, or one reply.
_FILTERED = {
    *("content_filter", "content_policy_violation", "invalid_prompt", "ResponsibleAIPolicyViolation"),
    *("promptFeedback", "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"),
}
_FILTER_HINT = (
    "the provider refused to reply",
    "Leave out the passage that its filter may have stopped, or ask another model.",
)
_NOT_FOUND = (
    "the server has no such model or address",
    "Is the model's name right, and does --api-base end as the server wants it (mostly in /v1)?",
)
_HINTS: tuple[tuple[type[Exception], str, str], ...] = (
    (
        dspy_errors.ContextWindowExceededError,
        "the prompt does not fit into the model's context",
        "Show fewer passages (-k) or demos, or give the server more context (Ollama: --lm-set num_ctx=16384; vLLM: "
        "--max-model-len; llama.cpp: --ctx-size).",
    ),
    (dspy_errors.LMUnsupportedModelError, *_NOT_FOUND),
    (dspy_errors.LMNotConfiguredError, "the language model has no key", "Set the provider's key variable."),
    (dspy_errors.LMAuthError, "the server refused the key", "Check the provider's key variable."),
    (dspy_errors.LMBillingError, "the provider wants payment", "Check your plan and its limits."),
    (
        dspy_errors.LMRateLimitError,
        "the server wants fewer requests",
        "Ask again later, or more slowly (--requests-per-minute).",
    ),
    (dspy_errors.LMTimeoutError, "the server gave up the request", "Ask again later, or show fewer passages (-k)."),
    (
        dspy_errors.LMTransportError,
        "the language model's server cannot be reached",
        "Check --api-base and that the server runs.",
    ),
    (dspy_errors.LMServerError, "the server failed", "Ask again later; its log says more."),
    (
        dspy_errors.LMUnsupportedFeatureError,
        "the request cannot be sent so",
        "Leave out the setting that it names (--lm-set NAME=null). For a model that reasons say so: --lm-set "
        "reasons=true.",
    ),
    (
        dspy_errors.LMInvalidRequestError,
        "the server refused the request",
        "A setting that it does not take is left out with --lm-set NAME=null; for a model that reasons say so: "
        "--lm-set reasons=true.",
    ),
)
_NO_REPLY = (
    "what the server sent is no reply of a language model",
    "Does --api-base end as the server wants it (mostly in /v1)? Or does a proxy stand before it?",
)
_OTHER = ("the language model failed", "")
# Every reply in the APIs of OpenAI, Anthropic and Gemini has one of these; any other would be read as an empty one.
_REPLIES = {"choices", "output", "content", "candidates", "promptFeedback", "usageMetadata"}
_NO_TEXT = "The LM returned an empty or null response"  # of DSPy, which shows its own data as the reply then
_ADVICE = re.compile(r"\n\n|\. A gateway or proxy")  # from there on lm15 speaks to programmers


def explain(error: dspy_errors.LMError, model: str = "", address: str | None = None) -> None:
    """Rewrite a language model's error, in place: status, address, what the server said and what to do.

    Its class, status and other fields stay. The model and the address are those asked, as far as they are known.
    """
    if getattr(error, "explained", False):
        return
    not_found = error.status == 404 and isinstance(error, dspy_errors.LMInvalidRequestError)
    hints = ((problem, advice) for kind, problem, advice in _HINTS if isinstance(error, kind))
    no_reply = error.status is not None and error.status < 400
    special = _FILTER_HINT if is_filtered(error) else _NOT_FOUND if not_found else None
    problem, advice = special or next(hints, _NO_REPLY if no_reply else _OTHER)
    where = " from ".join(part for part in (str(error.status or ""), address or "") if part)
    message = what_it_says(error)
    detail = "." if not message else f": {message}." if len(message) <= _LONGEST else f": {message[:_LONGEST]}…"
    text = " ".join(filter(None, (problem, f"({where})" if where else ""))) + detail + (f" {advice}" if advice else "")
    error.message, error.explained = text, True
    error.args = (f"[{name}] {text}" if (name := model or error.model) else text,)


def what_it_says(error: Any) -> str:
    """Return what a server said, on one line, without what lm15 adds and without keys."""
    return without_keys(" ".join(_ADVICE.split(error.message)[0].split())).rstrip(". ")


def is_filtered(error: Exception) -> bool:
    """Return whether a provider's filter stopped a prompt or a reply: others may pass."""
    return isinstance(error, dspy_errors.LMInvalidRequestError) and error.provider_code in _FILTERED


def explain_unreadable(error: dspy_errors.AdapterParseError) -> None:
    """Rewrite the error of a reply that could not be read, in place: the step, how the reply began, what to do."""
    if getattr(error, "explained", False):
        return
    step = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    reply = " ".join(unreadable_reply(error).split())[:_BEGINNING]
    if limit := getattr(error, "cut_after", None):
        problem, advice = f"was cut off after {limit:,} tokens{step}", "Give it more (--max-tokens)."
    else:
        problem = f"could not be read{step}, it began: {reply!r}" if reply else f"was empty{step}"
        advice = "Try again, or another model."
    error.args, error.explained = (f"the language model's reply {problem}. {advice}",), True


def unreadable_reply(error: Exception) -> str:
    """Return the reply that could not be read; empty if there was none, or no text in it, such as only thoughts."""
    if not isinstance(error, dspy_errors.AdapterParseError) or str(error).startswith(_NO_TEXT):
        return ""
    return str(error.lm_response or "").strip()


@dataclass
class _Read:
    """A server's response whose body has been read."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    http_version: str
    body: bytes

    async def read(self) -> bytes:
        return self.body

    async def aiter_lines(self) -> AsyncIterator[bytes]:
        for line in self.body.splitlines(keepends=True):
            yield line


class ErrorReader:
    """Stands before a transport of DSPy's client and puts errors into the one form that the client reads.

    FastAPI says ``{"detail": …}``, vLLM has the fields of an error at the top, LM Studio and Ollama have a text for
    ``error``, LM Studio with the status 200, OpenRouter has the status in an error's ``code``, Gemini has a list around
    it, and how a server says that a prompt is too long differs: DSPy's client would find no message in these, or an
    empty reply. The address of each request is told.
    """

    def __init__(self, transport: Any, asked: Callable[[str], None] = lambda address: None) -> None:
        self.transport = transport
        self._asked = asked

    @asynccontextmanager
    async def stream(self, request: Any) -> AsyncIterator[Any]:
        """Send a request."""
        self._asked(request.url)
        sending = self.transport.stream(request)
        # A connection that stays open keeps the context that it is opened in, and with it a program and its index.
        response = await asyncio.create_task(sending.__aenter__(), context=Context())
        async with AsyncExitStack() as stack:
            stack.push_async_exit(sending)
            may_be_error = response.status >= 400 or "json" in (response.header("Content-Type") or "")
            yield _readable(response, await response.read()) if may_be_error else response

    async def aclose(self) -> None:
        """Close the transport."""
        await self.transport.aclose()


def _readable(response: Any, body: bytes) -> _Read:
    status = response.status
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    error = data.get("error") if isinstance(data, dict) else None
    no_reply = isinstance(data, dict) and error is None and (status >= 400 or not data.keys() & _REPLIES)
    if isinstance(error, str) or no_reply:
        message = error or data.get("message") or data.get("detail") or data
        text = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
        status = status if status >= 400 else 404 if "choices" not in data else status
        error = {"message": text, "type": data.get("type")}
        data = {"type": "error", "error": error} if status >= 400 else data
    if isinstance(error, dict):
        code = error.get("code")
        if isinstance(code, int):  # the status once more, which would hide the type; OpenRouter sends it with 200
            status = code if status < 400 <= code < 600 else status
            error["code"] = None
        if status in (400, 413, 422) and _TOO_LONG.search(str(error.get("message"))):
            error["code"] = "context_length_exceeded"
        body = json.dumps(data).encode()
    return _Read(status, response.reason, response.headers, response.http_version, body)
