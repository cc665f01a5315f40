"""`/api/search`, as the server of `dspy.ColBERTv2` had it."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from scipy.special import softmax

from .catalog import MOST_PASSAGES, searched
from .errors import Kind, WebError
from .schemas import ColBERTQuery
from .service import Service


def colbert_router(service: Service) -> APIRouter:
    """Return the routes that `dspy.ColBERTv2(url="http://…/api/search")` asks."""
    router = APIRouter(tags=["ColBERTv2"])

    async def topk(query: str, k: int, index: str | None) -> dict[str, Any]:
        if not 1 <= k <= MOST_PASSAGES:
            raise WebError(Kind.BAD_REQUEST, f"k is from 1 to {MOST_PASSAGES}, not {k}.")
        found = await searched(service, query, k, index)
        shares = softmax(np.array([one.score for one in found])) if found else []
        listed = [
            {
                "pid": one.pid,
                "rank": rank,
                "score": one.score,
                "prob": float(share),
                "text": one.render(),
                "long_text": one.render(),
            }
            for rank, (one, share) in enumerate(zip(found, shares, strict=True), 1)
        ]
        return {"query": query, "topk": listed}

    @router.get("/api/search")
    async def search(query: str, k: int = 10, index: Annotated[str | None, Query(max_length=200)] = None) -> Any:
        """Find passages: `dspy.ColBERTv2(url="http://127.0.0.1:8000/api/search")` asks here.

        `text` is title and text, as the hosted server's index of Wikipedia's abstracts had it; `prob` is the softmax of
        the scores of what was found. `index` is polyqa's own.
        """
        return await topk(query, k, index)

    @router.post("/api/search")
    async def search_posted(asked: ColBERTQuery, index: Annotated[str | None, Query(max_length=200)] = None) -> Any:
        """Find passages: `dspy.ColBERTv2(url=…, post_requests=True)` asks here."""
        return await topk(asked.query, asked.k, index)

    return router
