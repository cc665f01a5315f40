"""What a server has: `/health`, `/programs`, `/indexes`; and `/search`."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query

from polyqa import __version__
from polyqa.asking import check_question
from polyqa.base.errors import PolyqaError
from polyqa.base.values import Passage

from .errors import Kind, WebError
from .schemas import Found, FoundPassage, Health
from .service import Service

MOST_PASSAGES = 100


def catalog_router(service: Service, *, runs: bool = False) -> APIRouter:
    """Return the routes that say what there is, stored runs among them or not."""
    router = APIRouter(tags=["catalog"])
    shelf, gate = service.shelf, service.gate

    @router.get("/health")
    async def health() -> Health:
        """Say that the server is up, and what it is doing."""
        return Health(
            version=__version__,
            lm=shelf.lm.model,
            running=gate.running,
            waiting=gate.waiting,
            answered=gate.answered,
            runs=runs,
        )

    @router.get("/programs")
    async def programs() -> dict[str, Any]:
        """List the programs, and what a question costs each."""
        listed = [{"name": one.name, **one.about} for one in shelf.programs.values()]
        return {"default": shelf.default_program, "programs": listed}

    @router.get("/indexes")
    async def indexes() -> dict[str, Any]:
        """List the indexes and their sizes."""
        listed = [{"name": name, "passages": len(index)} for name, index in shelf.indexes.items()]
        return {"default": shelf.default_index, "indexes": listed}

    @router.get("/search")
    async def search(
        query: Annotated[str, Query(description="What to search for.")],
        k: Annotated[int, Query(ge=1, le=MOST_PASSAGES, description="How many passages.")] = 5,
        index: Annotated[str | None, Query(max_length=200, description="One of `/indexes`.")] = None,
    ) -> Found:
        """Find passages."""
        found = await searched(service, query, k, index)
        name = index or shelf.default_index
        listed = [FoundPassage(pid=one.pid, title=one.title, text=one.text, score=one.score) for one in found]
        return Found(index=name, query=query, passages=listed)

    if not runs:

        @router.get("/runs", include_in_schema=False)
        async def no_runs() -> None:
            raise WebError(Kind.UNKNOWN, "This server shows no runs; polyqa serve --runs FOLDER does.")

    return router


async def searched(service: Service, query: str, k: int, index: str | None) -> list[Passage]:
    """Return the best passages of an index for a query.

    Raises
    ------
    WebError
        If the query is none, or there is no such index.
    """
    opened = service.shelf.index(index)
    try:
        checked = check_question(query)
    except PolyqaError as error:
        raise WebError(Kind.BAD_REQUEST, str(error).replace("The question", "The query", 1)) from None
    return await asyncio.to_thread(opened.search, checked, k)
