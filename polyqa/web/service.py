"""Answers questions for clients: one gate, one shelf; a question is a series of events, as JSON or as a stream."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import dspy
from cachetools import LRUCache
from fastapi import Request
from fastapi.responses import Response
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event

from polyqa.asking import Result, aask, asking_back, check_question
from polyqa.base.errors import PolyqaError
from polyqa.base.text import counted
from polyqa.language_models import LOCAL
from polyqa.lm.recorder import listening
from polyqa.questions.database import NoDatabaseError
from polyqa.watching import Tokens, Watch

from .answered import answered
from .errors import WebError
from .limits import Gate, WebLimits
from .schemas import Ask
from .shelf import Shelf

LOG = logging.getLogger("polyqa.web")
MOST_PASSAGES = 100
_OFFERED = 256
"""Results whose readings can be chosen without asking again."""
_ALIVE = 5.0
"""Seconds without an event, after which a sign of life is sent."""


class ClientQuestion(Ask):
    """A question of a client's, checked; program and index are names on the shelf."""

    program: str
    index: str
    request_id: str


@dataclass(frozen=True)
class Event:
    """Something that a client is told: a name, and JSON data."""

    name: str
    data: Mapping[str, Any]


ALIVE = Event("alive", {})


class Service:
    """Answers questions over what is on a shelf, within limits."""

    def __init__(self, shelf: Shelf, limits: WebLimits) -> None:
        self.shelf = shelf
        self.limits = limits
        self.gate = Gate(limits)
        self._offered: LRUCache[ClientQuestion, Result] = LRUCache(_OFFERED)

    async def checked(self, ask: Ask, request_id: str) -> ClientQuestion:
        """Return what a client asks, with this server's defaults; a `WebError` says what of it cannot be."""
        try:
            text = check_question(ask.question)
        except PolyqaError as error:
            raise WebError("bad_request", str(error)) from None
        program, index = self.shelf.names(ask.program, ask.index)
        await asyncio.to_thread(self.shelf.index, index, ask.where)
        checked_fields = {"question": text, "program": program, "index": index}
        return ClientQuestion.model_construct(**(dict(ask) | checked_fields), request_id=request_id)

    async def events(self, question: ClientQuestion) -> AsyncGenerator[Event, None]:
        """Yield what happens while a question is answered; the last event is the result.

        Whoever stops listening stops the work: the generator, when it is closed, cancels what runs.

        Raises
        ------
        WebError
            If the server is busy, the language model fails, or it takes too long.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        work = asyncio.create_task(self._work(question, queue))
        work.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), _ALIVE)
                except TimeoutError:
                    yield ALIVE
                    continue
                if event is None:
                    break
                yield event
            await work
        finally:
            if not work.done():
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)

    async def _work(self, question: ClientQuestion, queue: asyncio.Queue[Event | None]) -> None:
        """Answer a question, and log how it ended: never its text, which is the client's own affair."""
        began, outcome = time.perf_counter(), "cancelled"
        try:
            result = await self._answer(question, queue)
            counts = [(len(result.interpretations), "reading"), (len(result.calls), "call")]
            outcome = ", ".join([result.standing, *(counted(count, noun) for count, noun in counts if count)])
        except WebError as error:
            outcome = error.kind
            raise
        finally:
            seconds = time.perf_counter() - began
            LOG.info("request %s: %s over %s: %s, %.3f s", *_names(question), outcome, seconds)

    async def _answer(self, question: ClientQuestion, queue: asyncio.Queue[Event | None]) -> Result:
        seconds = self.limits.seconds
        steps: list[Mapping[str, Any]] = []
        try:
            async with self.gate.entered(lambda place: queue.put_nowait(Event("waiting", {"place": place}))):
                names = {"program": question.program, "index": question.index, "lm": self.shelf.lm.model}
                queue.put_nowait(Event("started", {"question": question.question, **names}))
                async with asyncio.timeout(seconds):
                    result = await self._answered(question, queue, steps)
        except TimeoutError:
            raise WebError("too_slow", f"The answer took longer than {seconds:.0f} s, and was given up.") from None
        queue.put_nowait(Event("result", answered(result, steps)))
        return result

    async def _answered(
        self, question: ClientQuestion, queue: asyncio.Queue[Event | None], steps: list[Mapping[str, Any]]
    ) -> Result:
        """Answer a question, by a question back, or with the reading chosen: of what was just asked nothing again."""
        key = question.model_copy(update={"request_id": "", "ask_back": False, "choice": None})
        result = self._offered.get(key) if question.choice is not None else None
        if result is None:
            try:
                result = await self._ask(question, queue, steps)
            except WebError:
                raise
            except Exception as error:  # also a time-out of somebody else's
                LOG.exception("request %s: %s over %s failed", *_names(question), exc_info=error)
                raise WebError(
                    "failed",
                    f"No answer: {question.program} failed over {question.index}, or its language model. The server's "
                    f"log says why, at request {question.request_id}.",
                ) from None
            if result.clarification is not None:
                self._offered[key] = result
        if question.choice is not None:
            try:
                return result.choose(question.choice)
            except PolyqaError as error:
                raise WebError("bad_request", str(error)) from None
        return asking_back(result) if question.ask_back else result

    async def _ask(
        self, question: ClientQuestion, queue: asyncio.Queue[Event | None], steps: list[Mapping[str, Any]]
    ) -> Result:
        lm = self.shelf.lm
        try:
            program = await asyncio.to_thread(self.shelf.program, question.program, question.index, question.where)
        except NoDatabaseError:  # its message names a path of the server
            raise WebError(
                "bad_request",
                f"{question.program} cannot answer over {question.index}, which has no database of questions. Choose "
                "another program, or have `polyqa questions build` run there.",
            ) from None
        loop = asyncio.get_running_loop()

        def emit(name: str, data: Mapping[str, Any]) -> None:
            if name == "step":
                steps.append(data)
            loop.call_soon_threadsafe(queue.put_nowait, Event(name, data))

        # A model on this machine writes for minutes. A hosted one is quick, and a call that streams is not retried.
        local = str(lm.model).partition("/")[0] == LOCAL
        written = dspy.context(send_stream=Tokens(emit, program)) if local else nullcontext()
        with listening(Watch(emit), program), written:
            result = await aask(question.question, program=program, lm=lm, min_confidence=question.min_confidence)
        return replace(result, program=question.program)


def _names(question: ClientQuestion) -> tuple[str, str, str]:
    return question.request_id, question.program, question.index


def server_sent(data: Mapping[str, Any], name: str | None = None) -> bytes:
    """Return an event with JSON data as it is sent."""
    return format_sse_event(data_str=json.dumps(data), event=name)


def as_json(data: Mapping[str, Any]) -> Response:
    """Return an answer of JSON data; half a character, as of a reply that was cut in an emoji, is an escape there."""
    return Response(json.dumps(data), media_type="application/json")


async def event_stream(events: AsyncGenerator[Event, None], encoded: Callable[[Event], bytes]) -> EventSourceResponse:
    """Return the events of a question, as `Service.events` yields them, as an answer that is sent event by event.

    ``encoded`` makes what is sent of an event; of an error, too, which is the event ``error``, unless the question is
    refused at once.
    """
    first = await anext(events)

    def sent(event: Event) -> bytes:
        return KEEPALIVE_COMMENT if event is ALIVE else encoded(event)

    async def stream() -> AsyncIterator[bytes]:
        async with aclosing(events):
            yield sent(first)
            try:
                async for event in events:
                    yield sent(event)
            except WebError as error:
                yield sent(Event("error", error.body()))

    return EventSourceResponse(stream(), headers={"x-accel-buffering": "no"})


async def answer_while_connected(
    request: Request, events: AsyncGenerator[Event, None], respond: Callable[[Mapping[str, Any]], Response]
) -> Response:
    """Answer with the result of a question; when the client has gone the work is cancelled, at the next event."""
    async with aclosing(events):
        async for event in events:
            if event.name == "result":
                return respond(event.data)
            if await request.is_disconnected():
                break
    return Response(status_code=499)  # nobody reads it
