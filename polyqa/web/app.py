"""The application: every route behind one guard."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from polyqa import __version__
from polyqa.base.event_loops import give_threads

from .api import api_router
from .compatible import compatible_router
from .errors import STATUS, WebError
from .guard import Guard, Guarded
from .service import Service

STATIC = Path(__file__).parent / "static"
_KINDS = {status: kind for kind, status in STATUS.items()}


def make_app(service: Service, guard: Guard = Guard()) -> Guarded:
    """Return the application that a server runs."""
    app = FastAPI(
        title="polyqa",
        version=__version__,
        summary="Answers ambiguous questions completely, with sources.",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere; /openapi.json is there
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.include_router(api_router(service))
    app.include_router(compatible_router(service))
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _not_understood)

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return Guarded(app, guard, service.limits)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    with give_threads():
        yield


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if not isinstance(error, WebError):
        nothing = "There is nothing at this address; /openapi.json lists what there is."
        message = nothing if error.status_code == 404 else f"{error.detail}."
        kind = _KINDS.get(error.status_code, "bad_request")
        error = WebError(kind, message, error.headers, status=error.status_code)
    return error.response()


async def _not_understood(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body")[:200]
    message = f"{place}: {first['msg']}."
    if first["type"] == "json_invalid":
        message = f"The request is no JSON: {first['ctx']['error']}, at character {place}."
    elif not place:
        message = "The request: send a JSON object, with the header Content-Type: application/json."
    return WebError("bad_request", message, status=422).response()
