"""Server-sent events."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing

from fastapi.responses import StreamingResponse

from .errors import WebError
from .service import ALIVE, Asked, Event, Service


def event_text(event: Event) -> str:
    r"""Return an event as it is sent; a sign of life is a comment.

    >>> event_text(Event("waiting", {"place": 2}))
    'event: waiting\ndata: {"place": 2}\n\n'
    """
    if event is ALIVE:
        return ": alive\n\n"
    return f"event: {event.name}\ndata: {json.dumps(event.data, ensure_ascii=False)}\n\n"


async def event_stream(service: Service, asked: Asked) -> StreamingResponse:
    """Return what happens while a question is answered, as an answer that is sent event by event.

    Raises
    ------
    WebError
        If the question is refused at once; what goes wrong later is the event ``error``.
    """
    events = service.events(asked)
    first = await anext(events)

    async def told() -> AsyncIterator[str]:
        async with aclosing(events):
            yield event_text(first)
            try:
                async for one in events:
                    yield event_text(one)
            except WebError as error:
                yield event_text(Event("error", error.body()))

    return StreamingResponse(told(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})
