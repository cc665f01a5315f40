"""The application: every route behind one guard."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from polyqa import __version__
from polyqa.base.event_loops import give_threads

from .ask import ask_router
from .catalog import catalog_router
from .chat import chat_router
from .colbert import colbert_router
from .errors import STATUS, Kind, WebError
from .gone import GoneError
from .guard import Guard, Guarded
from .runs import runs_router
from .service import Service

STATIC = Path(__file__).parent / "static"
_KINDS = {status: kind for kind, status in STATUS.items()}


def make_app(service: Service, guard: Guard = Guard(), *, runs: Path | None = None) -> Guarded:
    """Return the application that a server runs.

    Parameters
    ----------
    service
        Answers the questions.
    guard
        Who may ask.
    runs
        A folder of evaluation runs that may be looked at.

    Raises
    ------
    PolyqaError
        If there is no such folder.
    """
    app = FastAPI(
        title="polyqa",
        version=__version__,
        summary="Answers ambiguous questions completely, with sources.",
        docs_url=None,  # FastAPI's pages load scripts from elsewhere; /openapi.json is there
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.include_router(ask_router(service))
    app.include_router(catalog_router(service, runs=runs is not None))
    app.include_router(chat_router(service))
    app.include_router(colbert_router(service))
    if runs is not None:
        app.include_router(runs_router(runs))
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(GoneError, _gone)

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    app.mount("/static", _Static(directory=STATIC), name="static")
    return Guarded(app, guard, service.limits)


class _Static(StaticFiles):
    """The page's own files: asked for again each time, answered "not changed" where they are not."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["cache-control"] = "no-cache"
        return response


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    with give_threads():
        yield


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if not isinstance(error, WebError):
        kind = _KINDS.get(error.status_code, Kind.BAD_REQUEST)
        error = WebError(kind, _said(error), error.headers, status=error.status_code)
    return JSONResponse(error.body(), error.status_code, error.headers)


def _said(error: HTTPException) -> str:
    if error.status_code == 404:
        return "There is nothing at this address; /openapi.json lists what there is."
    return f"{error.detail}."


async def _not_understood(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body")[:200]
    message = f"{place or 'The request'}: {first['msg']}."
    return JSONResponse(WebError(Kind.BAD_REQUEST, message, status=422).body(), 422)


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it
