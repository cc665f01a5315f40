"""The routes of polyqa's own interface: `/ask`, `/search`, and what there is."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from fastapi.sse import EventSourceResponse

from polyqa import __version__
from polyqa.reports.readings import COUNTED

from .schemas import CONDITION, LONGEST, Ask, ErrorAnswer
from .service import MOST_PASSAGES, Service, answer_while_connected, as_json, event_stream, server_sent

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": text}
    for status, text in {
        400: "The question is none (empty, too long), or the condition cannot be used.",
        404: "No program or index of that name.",
        429: "Too many questions: `Retry-After` says how many seconds to wait.",
        503: "The program or its language model failed.",
        504: "It took too long.",
    }.items()
}
_ANSWER: dict[str, Any] = {
    "description": "The answer; its events with `Accept: text/event-stream`.",
    "content": {"text/event-stream": {"example": 'event: step\ndata: {"number": 1, "kind": "typing", …}\n\n'}},
}


def api_router(service: Service) -> APIRouter:
    """Return the routes that answer questions, search, and say what there is."""
    router = APIRouter()
    shelf, gate = service.shelf, service.gate

    @router.post("/ask", tags=["ask"], response_class=JSONResponse, responses={200: _ANSWER, **_ERRORS})
    async def ask(asked: Ask, request: Request) -> Response:
        """Answer a question: its readings, their evidence, one answer with sources.

        With `Accept: text/event-stream` events are sent as they happen: `waiting`, `started`, `writing` (a piece of a
        reply, only of a language model on the server's machine), `step`, and finally `result` (the same as without this
        header) or `error`.
        """
        checked = await service.checked(asked, request.scope["request_id"])
        if EventSourceResponse.media_type in request.headers.get("accept", ""):
            return await event_stream(service.events(checked), lambda event: server_sent(event.data, event.name))
        return await answer_while_connected(request, service.events(checked), as_json)

    @router.get("/health", tags=["catalog"])
    async def health() -> dict[str, Any]:
        """Say that the server is up, how many questions are running and waiting, and how many were answered."""
        counts = {"running": gate.running, "waiting": gate.waiting, "answered": gate.answered}
        return {"status": "ok", "version": __version__, "lm": shelf.lm.model, **counts}

    @router.get("/programs", tags=["catalog"])
    async def programs() -> dict[str, Any]:
        """List the programs, what a question costs each, and what a confidence was worth."""
        listed = [{"name": one.name, "index": one.index, **one.about} for one in shelf.programs.values()]
        counted = [{"readings": count, "said": said, "right": right} for count, said, right in COUNTED]
        return {"default": shelf.default_program, "programs": listed, "confidence": counted}

    @router.get("/indexes", tags=["catalog"])
    async def indexes() -> dict[str, Any]:
        """List the indexes, their sizes, the columns that `where` can name, and names that passages share."""
        listed = [
            {
                "name": name,
                "passages": len(index),
                "columns": index.columns,
                "names": await asyncio.to_thread(shelf.shared_names, name),
            }
            for name, index in shelf.indexes.items()
        ]
        return {"default": shelf.default_index, "indexes": listed}

    @router.get("/search", tags=["catalog"])
    async def search(
        query: Annotated[str, Query(description="What to search for.")],
        k: Annotated[int, Query(ge=1, le=MOST_PASSAGES, description="How many passages.")] = 5,
        index: Annotated[str | None, Query(max_length=200, description="One of `/indexes`.")] = None,
        where: Annotated[str | None, Query(max_length=LONGEST, description=CONDITION)] = None,
    ) -> dict[str, Any]:
        """Find passages."""
        passages = await asyncio.to_thread(shelf.search, query, k, index, where)
        return {"index": index or shelf.default_index, "query": query, "passages": passages}

    return router
