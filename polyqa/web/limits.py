"""How many questions are answered at once, how many wait, and what becomes of the rest."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import ceil

from .errors import WebError

_FIRST_GUESS = 2.0  # seconds a question takes, before one was answered
_WEIGHT = 0.2  # of the latest question in the mean


@dataclass(frozen=True)
class WebLimits:
    """What a server takes on.

    Attributes
    ----------
    at_once
        Questions under way at once.
    queue
        Questions that wait for their turn; one more gets 429.
    seconds
        How long a question may take, its wait not counted.
    body
        Bytes of a request; a chat client sends the whole conversation.
    body_seconds
        How long a request may take to arrive.
    """

    at_once: int = 2
    queue: int = 64
    seconds: float = 120.0
    body: int = 1_000_000
    body_seconds: float = 10.0


class Gate:
    """Lets so many questions in at once, in the order in which they came."""

    def __init__(self, limits: WebLimits) -> None:
        self.limits = limits
        self.running = self.waiting = self.answered = 0
        self._free = asyncio.Semaphore(limits.at_once)
        self._mean = _FIRST_GUESS

    @asynccontextmanager
    async def entered(self, waits: Callable[[int], None]) -> AsyncIterator[None]:
        """Wait for a turn, and hold it for the block; if the queue is full the error says when to come again.

        ``waits`` is told the place in the queue, from 1, if there is no free place.
        """
        if self._free.locked():
            if self.waiting >= self.limits.queue:
                after = max(1, ceil(self._mean * (self.waiting + 1) / self.limits.at_once))
                at_work = f"{self.running} questions are being answered and {self.waiting} wait"
                raise WebError("busy", f"{at_work}: try again in {after} s.", {"Retry-After": str(after)})
            waits(self.waiting + 1)
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        started = time.perf_counter()
        try:
            yield
            self.answered += 1
            self._mean += _WEIGHT * (time.perf_counter() - started - self._mean)
        finally:
            self.running -= 1
            self._free.release()
