"""Runs the application with uvicorn: slow headers are not waited for, a stop finishes what runs."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import LOGGING_CONFIG
from uvicorn.logging import DefaultFormatter
from uvicorn.protocols.http.h11_impl import H11Protocol

from polyqa.base.text import printable

HEADER_SECONDS = 10.0
STOP_SECONDS = 30
_KEEP_ALIVE = 20  # seconds; longer than clients keep a connection (5 in httpx), who would ask on one that just closed
_BACKLOG = 128  # connections that asyncio takes at once, before it looks whether there are too many
_MOST_CONNECTIONS = 1_000
_REFUSED = 64  # more that are told that there are too many
_OTHER_FILES = 256  # of the language model, the cache, the indexes


class _Printable(DefaultFormatter):
    """Leaves out what would steer the terminal: a traceback may quote a reply or a file name."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        return printable(super().format(record))


_LOG_CONFIG = LOGGING_CONFIG | {
    "formatters": {"default": {**LOGGING_CONFIG["formatters"]["default"], "()": _Printable, "use_colors": False}},
    "handlers": {"default": LOGGING_CONFIG["handlers"]["default"]},
    "loggers": {
        "asyncio": {"handlers": ["default"], "level": "WARNING", "propagate": False},
        "uvicorn": {"handlers": ["default"], "level": "WARNING", "propagate": False},
        "polyqa.web": {"handlers": ["default"], "level": "INFO"},
    },
}
"""One line for each question on standard error. Uvicorn's lines of requests would hold what was searched for."""


class Impatient(H11Protocol):
    """Closes a connection whose next request has begun but does not come."""

    _giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request; of too many connections the latest is closed at once."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > (self.limit_concurrency or _MOST_CONNECTIONS) + _REFUSED:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; its headers must be there soon after its first byte."""
        idle = self._giving_up is None and (self.cycle is None or self.cycle.response_complete)
        super().data_received(data)
        busy = self.cycle is not None and not self.cycle.response_complete
        if busy and self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
        elif idle and not busy:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._giving_up is not None:
            self._giving_up.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._giving_up = self.loop.call_later(HEADER_SECONDS, self.transport.close)


class _Server(uvicorn.Server):
    """Ends like any other work after Ctrl-C or SIGTERM.

    By itself uvicorn sends itself the signal again when what ran is finished: then nobody could send the last traces.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def server(app: ASGIApp, host: str, port: int) -> uvicorn.Server:
    """Return a server that is not running yet."""
    return _Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=Impatient,
            ws="none",
            lifespan="on",
            access_log=False,
            log_config=_LOG_CONFIG,
            server_header=False,
            date_header=True,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=STOP_SECONDS,
            backlog=_BACKLOG,
            limit_concurrency=_most_connections(),
            h11_max_incomplete_event_size=16_384,
        )
    )


def _most_connections() -> int:
    """Return how many clients may be connected: each has a file open, of which a process may have so many."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MOST_CONNECTIONS
    return max(16, min(_MOST_CONNECTIONS, files - _OTHER_FILES - _BACKLOG - _REFUSED))
