"""Who may ask: the host that is named, the page that asks, the token, the size; the headers of every answer."""

import asyncio
import hmac
import uuid
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import WebError
from .limits import WebLimits

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
    """An application behind a guard; each request gets a number, ``X-Request-ID``, in ``scope["request_id"]``.

    Host and origin are checked here and not by Starlette's `TrustedHostMiddleware` and `CORSMiddleware` alone: the
    first answers in plain text, the second lets a foreign page ask and only keeps the answer from it.
    """

    def __init__(self, app: ASGIApp, guard: Guard, limits: WebLimits) -> None:
        self._app = RequestBodyLimitMiddleware(app, limits.body)
        self._guard = guard
        self._limits = limits
        self._shared = CORSMiddleware(
            self._with_token,
            allow_origins=guard.origins,
            allow_methods=("GET", "POST"),
            allow_headers=("*",),  # clients add their own, such as OpenAI's x-stainless-…; origins are listed
            expose_headers=("retry-after", "x-request-id"),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["request_id"] = uuid.uuid4().hex[:12]
        if scope["method"] == "HEAD":  # asked by monitors and load balancers; the server leaves the body out
            scope = {**scope, "method": "GET"}
        send = _with_headers(send, scope)
        try:
            self._check_sender(Headers(scope=scope))
        except WebError as error:
            await error.response()(scope, receive, send)
        else:
            await self._shared(scope, receive, send)

    async def _with_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            self._check_token(scope["path"], headers)
            self._check_size(headers)
        except WebError as error:
            await error.response()(scope, receive, send)
        else:
            await self._app(scope, self._timed(receive), send)

    def _check_sender(self, headers: Headers) -> None:
        host = headers.get("host", "")
        name = host_name(host)
        if name is None or (self._guard.hosts and name not in self._guard.hosts):
            raise WebError(
                "forbidden", "This server is not known under that host name; its owner names it with --allow-host."
            )
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
                raise WebError("forbidden", "Pages of other sites may not ask this server.")
        elif origin not in (f"http://{host}", f"https://{host}", *self._guard.origins):
            raise WebError(
                "forbidden",
                "A page of another origin may not ask this server; its owner allows one with --allow-origin.",
            )

    def _check_token(self, path: str, headers: Headers) -> None:
        if self._guard.token is None or path in OPEN or path.startswith(_OPEN_BELOW):
            return
        scheme, _, sent_token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(sent_token.strip().encode(), self._guard.token.encode()):
            return
        raise WebError(
            "unauthorized",
            "This server wants a token: send Authorization: Bearer …; whoever started it has it.",
            {"www-authenticate": "Bearer"},
        )

    def _check_size(self, headers: Headers) -> None:
        """Refuse a request by the length that it states; one without is counted as it arrives."""
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers and "content-length" in headers:
            raise WebError("bad_request", "A request has a length or comes in chunks, not both.")
        if int(length) > self._limits.body:
            raise WebError("too_large", f"A request has at most {self._limits.body:,} bytes.")

    def _timed(self, receive: Receive) -> Receive:
        """Return what receives a request that must arrive in time."""
        deadline = asyncio.get_running_loop().time() + self._limits.body_seconds
        whole = False

        async def timed() -> Message:
            nonlocal whole
            if whole:  # what comes now is the end of the connection, which may be long away
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise WebError("too_slow", "The request took too long to arrive.", status=408) from None
            whole = not message.get("more_body", False)
            return message

        return timed


def host_name(host: str) -> str | None:
    """Return the name in a ``Host`` header, without its port, an IPv6 address in brackets; ``None`` if it is none."""
    try:
        parts = urlsplit(f"//{host}")
        name, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if not name or parts.netloc != host or parts.username is not None:
        return None
    return f"[{name}]" if ":" in name else name


def _with_headers(send: Send, scope: Scope) -> Send:
    """Return what sends answers with the headers of all answers, unless one has its own."""
    own_headers = {"x-request-id": scope["request_id"]}
    if scope["path"] == "/" or scope["path"].startswith(_OPEN_BELOW):  # the page, which is asked for again each time
        own_headers["cache-control"] = "no-cache"  # and answered "not changed" where it is not

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**HEADERS, **own_headers}.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
