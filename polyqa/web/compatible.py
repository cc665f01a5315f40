"""Interfaces of other software: OpenAI's chat completions, and the search of `dspy.ColBERTv2`."""

import asyncio
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from fastapi.sse import format_sse_event
from scipy.special import softmax

from polyqa.asking_back import Clarification, choice_of
from polyqa.base.html import markdown
from polyqa.reports.result import read_otherwise

from .errors import WebError
from .schemas import CONDITION, LONGEST, Ask, Completion, Message
from .service import MOST_PASSAGES, Event, Service, answer_while_connected, as_json, event_stream, server_sent

MODEL = "polyqa"
_Index = Annotated[str | None, Query(max_length=200)]
_Where = Annotated[str | None, Query(max_length=LONGEST, description=CONDITION)]


def compatible_router(service: Service) -> APIRouter:
    """Return the routes that clients of OpenAI's API and of ColBERTv2's hosted server ask."""
    router = APIRouter()

    @router.get("/v1/models", tags=["OpenAI"])
    async def models() -> dict[str, Any]:
        """List the models: `polyqa` (the server's default), that over each index, and the programs."""
        names = [MODEL, *(f"{MODEL}/{index}" for index in service.shelf.indexes), *service.shelf.programs]
        return {"object": "list", "data": [_model(name) for name in names]}

    @router.get("/v1/models/{name:path}", tags=["OpenAI"])
    async def model(name: str) -> dict[str, Any]:
        """Say that there is a model of this name: clients ask before their first question."""
        service.shelf.names(*_named(name))
        return _model(name) if name else await models()

    @router.post("/v1/chat/completions", tags=["OpenAI"])
    async def complete(request: Request, sent: Completion) -> Response:
        """Answer the last message of the user.

        The text of the answer has marks, `[1]`, and ends with the list of the passages that they name; `citations` has
        them as data. A question stands on its own: earlier messages are not looked at, unless the last one chooses
        between the readings of a question back (`ask_back`).
        """
        if sent.n not in (None, 1):
            raise WebError("bad_request", "n is 1: a question has one answer that covers its readings.")
        program, index = _named(sent.model)
        question, choice = _asked(sent.messages)
        ask = Ask.model_construct(  # checked as fields of `Completion`
            question=question,
            program=program,
            index=index,
            where=sent.where,
            ask_back=sent.ask_back,
            choice=choice,
        )
        client_question = await service.checked(ask, request.scope["request_id"])
        if sent.stream:
            with_usage = bool((sent.stream_options or {}).get("include_usage"))
            return await event_stream(service.events(client_question), _chunks(sent.model, with_usage))
        return await answer_while_connected(request, service.events(client_question), partial(_completion, sent.model))

    @router.get("/api/search", tags=["ColBERTv2"])
    async def search(query: str, k: int = 10, index: _Index = None, where: _Where = None) -> Any:
        """Find passages: `dspy.ColBERTv2(url="http://127.0.0.1:8000/api/search")` asks here.

        `text` is title and text, as the hosted server's index of Wikipedia's abstracts had it; `prob` is the softmax of
        the scores of what was found. `index` and `where` are polyqa's own.
        """
        if not 1 <= k <= MOST_PASSAGES:
            raise WebError("bad_request", f"k is from 1 to {MOST_PASSAGES}, not {k}.")
        passages = await asyncio.to_thread(service.shelf.search, query, k, index, where)
        shares = softmax(np.array([passage.score for passage in passages])) if passages else []
        topk = [
            {
                "pid": passage.pid,
                "rank": rank,
                "score": passage.score,
                "prob": float(share),
                "text": passage.render(),
                "long_text": passage.render(),
                "metadata": dict(passage.metadata),
            }
            for rank, (passage, share) in enumerate(zip(passages, shares, strict=True), 1)
        ]
        return {"query": query, "topk": topk}

    return router


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "polyqa"}


def _named(model: str) -> tuple[str | None, str | None]:
    """Return the program and the index that a model's name stands for; ``None`` for the server's default."""
    program, _, index = model.partition("/")
    return None if program == MODEL else program, index or None


def _asked(messages: Sequence[Message]) -> tuple[str, str | None]:
    """Return what is asked: the user's last message, or the message before it and the choice that the last one makes.

    A conversation holds all that is needed: the assistant's message is a question back, and its choices stand in it.
    """
    turns = [(message.role, _text_of(message)) for message in messages if message.role in ("user", "assistant")]
    while turns and turns[-1][0] != "user":
        turns.pop()
    if not turns:
        raise WebError("bad_request", "There is no message of the user's, so nothing is asked.")
    last = turns[-1][1]
    if [role for role, _ in turns[-3:]] == ["user", "assistant", "user"]:
        back = Clarification.read(re.sub(r"\\([\\<\[])", r"\1", turns[-2][1]))  # which `_content` has escaped
        chosen = None if back is None else choice_of(last, back)
        if back is not None and chosen is not None:
            return turns[-3][1], back.choices[chosen]
    return last, None


def _text_of(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return " ".join(str(part.get("text") or "") for part in message.content or () if part.get("type") == "text")


def _completion(model: str, answer: Mapping[str, Any]) -> Response:
    message = {"role": "assistant", "content": _content(answer)}
    return as_json(
        {
            **_head(model, "chat.completion"),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": _usage(answer),
            "citations": _citations(answer),
        }
    )


def _chunks(model: str, with_usage: bool) -> Callable[[Event], bytes]:
    """Return what makes OpenAI's chunks of the events of a question."""
    head = _head(model, "chat.completion.chunk")

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        return server_sent({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def chunks(event: Event) -> bytes:
        if event.name == "started":
            return chunk({"role": "assistant", "content": ""})
        if event.name == "result":
            usage = server_sent({**head, "choices": [], "usage": _usage(event.data)}) if with_usage else b""
            ends = chunk({"content": _content(event.data)}) + chunk({}, "stop")
            return ends + usage + format_sse_event(data_str="[DONE]")
        return server_sent(event.data) if event.name == "error" else b""

    return chunks


def _citations(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the passages that an answer names."""
    return [
        {"number": evidence["number"], **{key: value for key, value in passage.items() if key != "score"}}
        for evidence, passage in zip(answer["evidence"], answer["passages"], strict=True)
        if evidence["cited"]
    ]


def _sources(answer: Mapping[str, Any]) -> str:
    """Return which words were read otherwise, and the passages that an answer names; a question back names none."""
    mended = "".join(f"\n\n{markdown(line)}" for line in read_otherwise(answer["respelled"]))
    if answer["asked_back"]:
        return mended
    lines = [
        f"- [{found['number']}] {markdown(one['title'] or one['text'][:60])} ({markdown(found['place'] or one['pid'])})"
        for found, one in zip(answer["evidence"], answer["passages"], strict=True)
        if found["cited"]
    ]
    return mended + ("\n".join(["\n\nSources:", *lines]) if lines else "")


def _content(answer: Mapping[str, Any]) -> str:
    """Return an answer in which no passage brings a picture, a link or HTML: chat clients show Markdown."""
    text = "".join(
        re.sub(r"[\\<\[]", r"\\\g<0>", piece["text"]) if "text" in piece else str(piece["cites"])
        for piece in answer["pieces"]
    )
    return text + _sources(answer)


def _head(model: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": model}


def _usage(answer: Mapping[str, Any]) -> dict[str, int]:
    prompt, completion = answer["input_tokens"], answer["output_tokens"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
