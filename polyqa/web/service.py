"""Answers questions for clients: one gate, one shelf, one question after the other told as events."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from polyqa.asking import Result, aask, check_question
from polyqa.base.errors import PolyqaError
from polyqa.lm.recorder import listening
from polyqa.models import SpanReader

from .answered import answered, told_sentences
from .confidence import confidence
from .errors import Kind, WebError
from .limits import Gate, WebLimits
from .shelf import Shelf
from .watching import Watch

LOG = logging.getLogger("polyqa.web")
_ALIVE = 5.0
"""Seconds without an event, after which a sign of life is sent."""


@dataclass(frozen=True)
class Asked:
    """A question of a client's, checked.

    Attributes
    ----------
    question
        As it is asked.
    program, index
        Names on the shelf.
    request_id
        Of the request.
    """

    question: str
    program: str
    index: str
    request_id: str = ""


@dataclass(frozen=True)
class Event:
    """Something that a client is told: a name, and JSON data."""

    name: str
    data: Mapping[str, Any]


ALIVE = Event("alive", {})


class Service:
    """Answers questions over what is on a shelf, within limits.

    Parameters
    ----------
    shelf
        Programs, indexes, the language model.
    limits
        How much at once.
    reader
        Says how sure each reading is.
    """

    def __init__(self, shelf: Shelf, limits: WebLimits, reader: SpanReader) -> None:
        self.shelf = shelf
        self.limits = limits
        self.gate = Gate(limits)
        self._reader = reader

    def checked(self, question: str, program: str | None, index: str | None, request_id: str = "") -> Asked:
        """Return what a client asks, with the defaults of this server.

        Raises
        ------
        WebError
            If the question is none, or a name is unknown.
        """
        try:
            return Asked(check_question(question), *self.shelf.names(program, index), request_id)
        except PolyqaError as error:
            raise WebError(Kind.BAD_REQUEST, str(error)) from None

    async def answer(self, asked: Asked) -> dict[str, Any]:
        """Return the JSON of an answer.

        Raises
        ------
        WebError
            If the server is busy, the language model fails, or it takes too long.
        """
        async with aclosing(self.events(asked)) as events:
            async for one in events:
                if one.name == "result":
                    return dict(one.data)
        raise AssertionError("no result came of a question")

    async def events(self, asked: Asked) -> AsyncGenerator[Event, None]:
        """Yield what happens while a question is answered; the last event is the result.

        Whoever stops listening stops the work: the generator, when it is closed, cancels what runs.

        Raises
        ------
        WebError
            See `answer`.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        work = asyncio.create_task(self._work(asked, queue))
        work.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while True:
                try:
                    one = await asyncio.wait_for(queue.get(), _ALIVE)
                except TimeoutError:
                    yield ALIVE
                    continue
                if one is None:
                    break
                yield one
            await work
        finally:
            if not work.done():
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)

    async def _work(self, asked: Asked, queue: asyncio.Queue[Event | None]) -> None:
        names = {"program": asked.program, "index": asked.index, "lm": self.shelf.lm.model}
        began = time.perf_counter()
        told: dict[str, Any] = {
            "request": asked.request_id,
            "question": asked.question,
            **names,
            "outcome": "cancelled",
        }
        try:
            await self._answer(asked, queue, names, told)
        except WebError as error:
            told["outcome"] = error.kind.name.lower()
            raise
        finally:
            LOG.info("question", extra={"told": {**told, "seconds": round(time.perf_counter() - began, 3)}})

    async def _answer(
        self, asked: Asked, queue: asyncio.Queue[Event | None], names: Mapping[str, str], told: dict[str, Any]
    ) -> None:
        """Answer a question, and note in ``told`` what the log says of it."""
        try:
            async with self.gate.entered(lambda place: queue.put_nowait(Event("waiting", {"place": place}))):
                queue.put_nowait(Event("started", {"question": asked.question, **names}))
                async with asyncio.timeout(self.limits.seconds):
                    result = await self._ask(asked, queue)
                    sure = await asyncio.to_thread(confidence, result.interpretations, result.passages, self._reader)
        except TimeoutError:
            raise WebError(
                Kind.TOO_SLOW, f"The answer took longer than {self.limits.seconds:.0f} s, and was given up."
            ) from None
        except WebError:
            raise
        except Exception as error:
            LOG.exception("request %s: %s failed", asked.request_id, asked.program, exc_info=error)
            raise WebError(
                Kind.FAILED,
                f"No answer: {asked.program} failed over {asked.index}, or its language model. The server's log says "
                f"why, at request {asked.request_id}.",
            ) from None
        told |= {
            "outcome": "answered",
            "readings": len(result.interpretations),
            "calls": len(result.calls),
            "input_tokens": result.input_tokens,
            "output_tokens": result.output_tokens,
        }
        for sentence in told_sentences(result):
            queue.put_nowait(Event("sentence", sentence))
        queue.put_nowait(Event("result", answered(result, sure)))

    async def _ask(self, asked: Asked, queue: asyncio.Queue[Event | None]) -> Result:
        program = await asyncio.to_thread(self.shelf.program, asked.program, asked.index)
        loop = asyncio.get_running_loop()

        def emit(name: str, data: Mapping[str, Any]) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, Event(name, data))

        with listening(Watch(emit), program):
            result = await aask(asked.question, program=program, lm=self.shelf.lm)
        return replace(result, program=asked.program)
