"""How long a server may be silent and how much it may send: limits on the wire, for DSPy's own HTTP client.

They hold where the bytes come in, so a connection that nobody waits for any more ends as well: without them the thread
of a call that was given up reads an endless reply until the memory is full.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from dspy import lm15

# The HTTP client of lm15, which DSPy brings along and names nowhere else.
from dspy._vendor.lm15.transports import (
    AsyncTransportResponse,
    ReadTimeout,
    StdlibAsyncTransport,
    StdlibTransport,
    TransportRequest,
    TransportResponse,
)
from dspy.clients.engines.lm15_engine import AsyncLM15Engine, LM15Engine

from polyqa.base.text import counted

from .pacing import CLOCK, Pace, keep_pace

MEGABYTE = 1_000_000


class SilentServerError(lm15.TimeoutError):
    """Raised when no byte came for as long as a server may be silent, or the time of the whole call is over."""


class LargeReplyError(lm15.ProviderError):
    """Raised when a reply is larger than it may be."""


@dataclass(frozen=True)
class WireLimits:
    """What a connection may take.

    Attributes
    ----------
    connect
        Seconds until it stands.
    read
        Seconds of silence, before the first byte of a reply and between two.
    reply
        Bytes of a reply's body, as it is when it is unpacked.
    """

    connect: float
    read: float
    reply: int

    def checked(self, size: int) -> None:
        """Check how much of a reply has come.

        Raises
        ------
        LargeReplyError, SilentServerError
            If that is too much, or too late.
        """
        if size > self.reply:
            raise LargeReplyError(
                f"the reply is larger than {self.reply / MEGABYTE:g} MB. Check that the server is one of language "
                "models, or let it send more (--max-reply, in Python max_reply=)."
            )
        clock = CLOCK.get()
        if clock is not None and clock.left < 0:
            raise SilentServerError("the time of the call is over")

    def silence(self) -> SilentServerError:
        """Return the error of a server that says nothing."""
        return SilentServerError(
            f"nothing came for {counted(self.read, 'second')}. Check that the server is well, or give it more time "
            "(--read-timeout, in Python read_timeout=)."
        )


class Engines(dict[Any, Any]):
    """The connections of a language model, as `dspy.LM` keeps them; each new one gets limits, and keeps pace.

    Parameters
    ----------
    limits
        For those of DSPy's own client. LiteLLM, which DSPy takes for providers that this does not know, has its own.
    pace
        For all.
    """

    def __init__(self, limits: WireLimits, pace: Pace) -> None:
        super().__init__()
        self._limits = limits
        self._pace = pace

    def __setitem__(self, key: Any, engine: Any) -> None:
        """Keep an engine, with limits."""
        transports = {LM15Engine: _Transport, AsyncLM15Engine: _AsyncTransport}
        if kind := transports.get(type(engine)):
            config = replace(engine.config, timeouts=None, transport=kind(self._limits))
            engine.__init__(config, model_type=engine.model_type)
        keep_pace(engine, self._pace)
        super().__setitem__(key, engine)


class _Transport(StdlibTransport):
    def __init__(self, limits: WireLimits) -> None:
        super().__init__(connect_timeout=limits.connect, read_timeout=limits.read, write_timeout=limits.read)
        self._limits = limits

    @contextmanager
    def stream(self, request: TransportRequest) -> Iterator[TransportResponse]:
        try:
            with super().stream(request) as response:
                yield TransportResponse(
                    status=response.status,
                    reason=response.reason,
                    headers=response.headers,
                    http_version=response.http_version,
                    chunks=self._checked(response),
                    release=lambda _: None,
                )
        except ReadTimeout as error:
            raise self._limits.silence() from error

    def _checked(self, response: TransportResponse) -> Iterator[bytes]:
        size = 0
        with closing(iter(response)) as chunks:
            for chunk in chunks:
                size += len(chunk)
                self._limits.checked(size)
                yield chunk


class _AsyncTransport(StdlibAsyncTransport):
    def __init__(self, limits: WireLimits) -> None:
        super().__init__(connect_timeout=limits.connect, read_timeout=limits.read, write_timeout=limits.read)
        self._limits = limits

    @asynccontextmanager
    async def stream(self, request: TransportRequest) -> AsyncIterator[AsyncTransportResponse]:
        async def released(_: bool) -> None:
            pass

        try:
            async with super().stream(request) as response:
                yield AsyncTransportResponse(
                    status=response.status,
                    reason=response.reason,
                    headers=response.headers,
                    http_version=response.http_version,
                    chunks=self._checked(response),
                    release=released,
                )
        except ReadTimeout as error:
            raise self._limits.silence() from error

    async def _checked(self, response: AsyncTransportResponse) -> AsyncIterator[bytes]:
        size = 0
        async with aclosing(aiter(response)) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                self._limits.checked(size)
                yield chunk
