"""`POST /ask`: an answer, at once or step by step."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from .gone import until_gone
from .schemas import Ask, ErrorAnswer
from .service import Service
from .sse import event_stream

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": text}
    for status, text in {
        400: "The question is none: empty, too long.",
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


def ask_router(service: Service) -> APIRouter:
    """Return the route that answers questions."""
    router = APIRouter(tags=["ask"])

    @router.post(
        "/ask",
        response_class=JSONResponse,
        responses={200: _ANSWER, **_ERRORS},
    )
    async def ask(asked: Ask, request: Request) -> Response:
        """Answer a question: its readings, their evidence, one answer with sources.

        With `Accept: text/event-stream` each step is told as it ends: `waiting`, `started`, `step`, `sentence`, and at
        last `result` (what is answered otherwise) or `error`.
        """
        checked = service.checked(asked.question, asked.program, asked.index, request.scope["request_id"])
        if "text/event-stream" in request.headers.get("accept", ""):
            return await event_stream(service, checked)
        return JSONResponse(await until_gone(request, service.answer(checked)))

    return router
