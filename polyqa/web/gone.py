"""Work for a client that may go away."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request

T = TypeVar("T")


class GoneError(Exception):
    """The client has gone; nobody waits for the answer."""


async def until_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Do some work, and stop it when the client goes.

    Raises
    ------
    GoneError
        If it did.
    """
    working, going = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, going}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise GoneError
    finally:
        for one in (working, going):
            one.cancel()
        await asyncio.gather(working, going, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
