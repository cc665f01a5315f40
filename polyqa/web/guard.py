"""Who may ask: the host that is named, the page that asks, the token, the size; the headers of every answer."""

import asyncio
import hmac
import json
import logging
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from .errors import Kind, WebError
from .limits import WebLimits

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger("polyqa.web.requests")
LOCAL = ("127.0.0.1", "localhost", "[::1]")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
OPEN = ("/", "/health")
_OPEN_BELOW = "/static/"
_WRONG_TOKENS = 10  # in a minute, from one address
_MINUTE = 60.0
_ADDRESSES = 10_000


@dataclass(frozen=True)
class Guard:
    """Who may ask a server.

    Attributes
    ----------
    hosts
        What a request may name as its host, without the port; any if empty. A page of somebody's own domain that
        points to this machine (DNS rebinding) names another.
    origins
        Pages of other origins that may ask, such as ``https://chat.example``; none by default.
    token
        What ``Authorization: Bearer …`` must say, for all but the page's own files and ``/health``.
    """

    hosts: tuple[str, ...] = LOCAL
    origins: tuple[str, ...] = ()
    token: str | None = None


class Guarded:
    """An application behind a guard; each request gets a number, ``X-Request-ID``, in ``scope["request_id"]``."""

    def __init__(self, app: App, guard: Guard, limits: WebLimits) -> None:
        self._app = app
        self._guard = guard
        self._limits = limits
        self._wrong = _Wrong()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["request_id"] = uuid.uuid4().hex[:12]
        with _logged(scope, send) as noting:
            await self._answer(scope, receive, noting)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        more = {"x-request-id": scope["request_id"]}
        try:
            headers = _headers(scope)
            self._check_host(headers)
            more |= self._allowed_origin(headers)
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                await _answer(send, 204, b"", more)
                return
            self._check_token(scope, headers)
            await self._app(scope, self._bounded(headers, receive), _with(send, more))
        except WebError as error:
            body = json.dumps(error.body()).encode()
            await _answer(send, error.status_code, body, {**more, **(error.headers or {}), "connection": "close"})

    def _check_host(self, headers: dict[str, str]) -> None:
        name = _host_name(headers.get("host", ""))
        if name is None or (self._guard.hosts and name not in self._guard.hosts):
            raise WebError(
                Kind.FORBIDDEN, "This server is not known under that host name; its owner names it with --allow-host."
            )

    def _allowed_origin(self, headers: dict[str, str]) -> dict[str, str]:
        """Return the headers for a page of another origin that may ask."""
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
                raise WebError(Kind.FORBIDDEN, "Pages of other sites may not ask this server.")
            return {}
        if urlsplit(origin).netloc == headers.get("host") and origin.startswith(("http://", "https://")):
            return {}
        if origin not in self._guard.origins:
            raise WebError(
                Kind.FORBIDDEN,
                "A page of another origin may not ask this server; its owner allows one with --allow-origin.",
            )
        return {
            "access-control-allow-origin": origin,
            "access-control-allow-headers": "authorization, content-type",
            "access-control-allow-methods": "GET, POST",
            "access-control-max-age": "600",
            "cross-origin-resource-policy": "cross-origin",
            "vary": "Origin",
        }

    def _check_token(self, scope: Scope, headers: dict[str, str]) -> None:
        path = scope["path"]
        if self._guard.token is None or path in OPEN or path.startswith(_OPEN_BELOW):
            return
        address = (scope.get("client") or ("",))[0]
        if after := self._wrong.wait(address):
            raise WebError(Kind.BUSY, "Too many wrong tokens: wait a minute.", {"retry-after": str(after)})
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._guard.token.encode()):
            return
        if given:
            self._wrong.add(address)
        raise WebError(
            Kind.UNAUTHORIZED,
            "This server wants a token: send Authorization: Bearer …; whoever started it has it.",
            {"www-authenticate": "Bearer"},
        )

    def _bounded(self, headers: dict[str, str], receive: Receive) -> Receive:
        """Return what receives a request that is neither too large nor too slow."""
        most = self._limits.body
        told = headers.get("content-length", "0")
        if not told.isdecimal():
            raise WebError(Kind.BAD_REQUEST, "Content-Length is no number.")
        too_large = WebError(Kind.TOO_LARGE, f"A request has at most {most:,} bytes.", {"connection": "close"})
        if int(told) > most:
            raise too_large
        began, taken, whole = time.monotonic(), 0, False

        async def bounded() -> Message:
            nonlocal taken, whole
            if whole:  # what comes now is the end of the connection, which may be long away
                return await receive()
            left = self._limits.body_seconds - (time.monotonic() - began)
            try:
                message = await asyncio.wait_for(receive(), max(left, 0.001))
            except TimeoutError:
                closing = {"connection": "close"}
                raise WebError(Kind.TOO_SLOW, "The request took too long to arrive.", closing, status=408) from None
            taken += len(message.get("body", b""))
            if taken > most:
                raise too_large
            whole = not message.get("more_body", False)
            return message

        return bounded


class _Wrong:
    """Wrong tokens of the last minute, by address."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def add(self, address: str) -> None:
        """Count one."""
        self._times.setdefault(address, deque(maxlen=_WRONG_TOKENS)).append(time.monotonic())
        self._times.move_to_end(address)
        while len(self._times) > _ADDRESSES:
            self._times.popitem(last=False)

    def wait(self, address: str) -> int:
        """Return how many seconds an address has to wait, 0 if it need not."""
        times = self._times.get(address)
        if times is None or len(times) < _WRONG_TOKENS:
            return 0
        left = times[0] + _MINUTE - time.monotonic()
        return int(left) + 1 if left > 0 else 0


def _host_name(host: str) -> str | None:
    """Return the name in a ``Host`` header, without its port, an IPv6 address in brackets; ``None`` if it is none."""
    try:
        parts = urlsplit(f"//{host}")
        named, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if not named or parts.netloc != host or parts.username is not None:
        return None
    return f"[{named}]" if ":" in named else named


def _headers(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found and key in ("host", "authorization", "content-length", "origin"):
            raise WebError(Kind.BAD_REQUEST, f"The header {key} is there twice.")
        found[key] = value.decode("latin-1")
    if "content-length" in found and "transfer-encoding" in found:
        raise WebError(Kind.BAD_REQUEST, "A request has a length or comes in chunks, not both.")
    return found


@contextmanager
def _logged(scope: Scope, send: Send) -> Iterator[Send]:
    """Log a request when it ends, with the status that was sent; its query, which may hold a question, is left out."""
    began = time.perf_counter()
    told: dict[str, Any] = {"request": scope["request_id"], "method": scope["method"], "path": scope["path"]}
    told["status"] = None  # where the client went before there was an answer

    async def noting(message: Message) -> None:
        if message["type"] == "http.response.start":
            told["status"] = message["status"]
        await send(message)

    try:
        yield noting
    finally:
        LOG.info("request", extra={"told": {**told, "seconds": round(time.perf_counter() - began, 3)}})


def _with(send: Send, more: Mapping[str, str]) -> Send:
    """Return what sends answers with the headers of all answers, unless one has its own."""
    headers = {**HEADERS, **more}

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", ())}
            added = [(name.encode(), value.encode()) for name, value in headers.items() if name.encode() not in own]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    own = {"content-length": str(len(body)), **({"content-type": "application/json"} if body else {}), **headers}
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.lower().encode(), value.encode()) for name, value in own.items()],
    }
    send = _with(send, {})
    await send(start)
    await send({"type": "http.response.body", "body": body})
