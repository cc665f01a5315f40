"""What a client is told when something is wrong: a status, a kind for programs, a sentence for people."""

from collections.abc import Mapping
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

Kind = Literal["bad_request", "unauthorized", "forbidden", "unknown", "too_slow", "too_large", "busy", "failed"]
"""What went wrong, for programs."""
STATUS: Mapping[Kind, int] = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "unknown": 404,
    "too_slow": 504,
    "too_large": 413,
    "busy": 429,
    "failed": 503,
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

    def body(self) -> dict[str, Any]:
        """Return the JSON that a client gets."""
        return {"error": {"message": self.detail, "kind": self.kind}}

    def response(self) -> JSONResponse:
        """Return the answer that a client gets."""
        closing = {"connection": "close"} if self.status_code in _UNREAD else {}
        return JSONResponse(self.body(), self.status_code, {**(self.headers or {}), **closing})
