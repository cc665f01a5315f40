"""What a client is told when something is wrong: a status, a kind for programs, a sentence for people."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse


class Kind(StrEnum):
    """What went wrong, for programs."""

    BAD_REQUEST = "bad_request"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    UNKNOWN = "unknown"
    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"
    BUSY = "busy"
    FAILED = "failed"


STATUS: Mapping[Kind, int] = {
    Kind.BAD_REQUEST: 400,
    Kind.UNAUTHORIZED: 401,
    Kind.FORBIDDEN: 403,
    Kind.UNKNOWN: 404,
    Kind.TOO_SLOW: 504,
    Kind.TOO_LARGE: 413,
    Kind.BUSY: 429,
    Kind.FAILED: 503,
}
_UNREAD = (408, 413)  # the rest of such a request is not read, so nothing else can come on its connection


class WebError(HTTPException):
    """Why there is no answer.

    Parameters
    ----------
    kind
        Decides the status, unless ``status`` is given.
    message
        One sentence that says what to do; it names no path and no address of the server's own.
    headers
        More headers, such as ``Retry-After``.
    """

    def __init__(
        self, kind: Kind, message: str, headers: Mapping[str, str] | None = None, *, status: int | None = None
    ) -> None:
        super().__init__(status or STATUS[kind], message, dict(headers or {}))
        self.kind = kind
        self.message = message

    def body(self) -> dict[str, Any]:
        """Return the JSON that a client gets."""
        return {"error": {"message": self.message, "kind": str(self.kind)}}

    def response(self) -> JSONResponse:
        """Return the answer that a client gets."""
        closing = {"connection": "close"} if self.status_code in _UNREAD else {}
        return JSONResponse(self.body(), self.status_code, {**(self.headers or {}), **closing})
