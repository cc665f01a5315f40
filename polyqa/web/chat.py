"""OpenAI's chat completions: a chat client that points here gets answers with their sources."""

import json
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from .errors import Kind, WebError
from .gone import until_gone
from .schemas import Completion, Message
from .service import ALIVE, Asked, Service

MODEL = "polyqa"


def chat_router(service: Service) -> APIRouter:
    """Return the routes of OpenAI's API that make sense here."""
    router = APIRouter(prefix="/v1", tags=["OpenAI"])

    @router.get("/models")
    async def models() -> dict[str, Any]:
        """List the models: `polyqa` (the server's default), and the programs."""
        listed = [
            {"id": name, "object": "model", "created": 0, "owned_by": "polyqa"}
            for name in (MODEL, *service.shelf.programs)
        ]
        return {"object": "list", "data": listed}

    @router.post("/chat/completions")
    async def complete(request: Request, sent: Completion) -> Response:
        """Answer the last message of the user.

        The text of the answer has marks, `[1]`, and ends with the list of the passages that they name; `citations` has
        them as data. A question stands on its own: earlier messages are not looked at.
        """
        if sent.n not in (None, 1):
            raise WebError(Kind.BAD_REQUEST, "n is 1: a question has one answer that covers its readings.")
        program, index = _named(sent.model, service)
        asked = service.checked(last_question(sent.messages), program, index, request.scope["request_id"])
        if sent.stream:
            with_usage = bool((sent.stream_options or {}).get("include_usage"))
            return await _streamed(service, asked, sent.model, with_usage)
        found = await until_gone(request, service.answer(asked))
        return JSONResponse(
            {
                **_head(sent.model, "chat.completion"),
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": found["cited_answer"] + sources(found)},
                        "finish_reason": "stop",
                    }
                ],
                "usage": _usage(found),
                "citations": citations(found),
            }
        )

    return router


def _named(model: str, service: Service) -> tuple[str | None, str | None]:
    """Return the program and the index that a model's name means."""
    if model == MODEL:
        return None, None
    program, _, index = model.partition("/")
    return (None if program == MODEL else program), index or None


def last_question(messages: Sequence[Message]) -> str:
    """Return the text of the user's last message.

    Raises
    ------
    WebError
        If there is none.
    """
    for message in reversed(messages):
        if message.role == "user":
            if isinstance(message.content, str):
                return message.content
            return " ".join(str(part.get("text", "")) for part in message.content or () if part.get("type") == "text")
    raise WebError(Kind.BAD_REQUEST, "There is no message of the user's, so nothing is asked.")


def citations(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the passages that an answer names."""
    return [
        {"number": one["number"], "pid": passage["pid"], "title": passage["title"], "text": passage["text"]}
        for one, passage in zip(found["evidence"], found["passages"], strict=True)
        if one["cited"]
    ]


def sources(found: Mapping[str, Any]) -> str:
    """Return the list of the passages that an answer names, as Markdown that cannot be taken for anything else."""
    named = citations(found)
    lines = [f"[{one['number']}] {_plain(one['title'] or one['text'][:60])} ({_plain(one['pid'])})" for one in named]
    return "\n\nSources:\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


def _plain(text: str) -> str:
    """Return a text in one line, with what Markdown and HTML would take for marks made harmless."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#!|" else sign for sign in " ".join(text.split()))


async def _streamed(service: Service, asked: Asked, model: str, with_usage: bool) -> StreamingResponse:
    events = service.events(asked)
    await anext(events)  # says that the question waits, or has begun; or raises, before anything is sent
    head = _head(model, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**head, "choices": [choice]})

    async def told() -> AsyncIterator[str]:
        yield chunk({"role": "assistant", "content": ""})
        async with aclosing(events):
            try:
                async for one in events:
                    if one is ALIVE:
                        yield ": alive\n\n"
                    elif one.name == "sentence":
                        yield chunk({"content": _text(one.data["pieces"], first=one.data["number"] == 1)})
                    elif one.name == "result":
                        yield chunk({"content": sources(one.data)})
                        yield chunk({}, "stop")
                        if with_usage:
                            yield _data({**head, "choices": [], "usage": _usage(one.data)})
                yield "data: [DONE]\n\n"
            except WebError as error:
                yield _data(error.body())

    return StreamingResponse(told(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def _text(pieces: Sequence[Mapping[str, Any]], *, first: bool) -> str:
    said = "".join(one["text"] if "text" in one else f"[{', '.join(map(str, one['cites']))}]" for one in pieces)
    return said if first else f" {said}"


def _head(model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": model}


def _usage(found: Mapping[str, Any]) -> dict[str, int]:
    sent, got = found["input_tokens"], found["output_tokens"]
    return {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": sent + got}


def _data(value: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
