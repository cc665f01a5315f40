"""The tools `ask` and `search` for assistants, by the Model Context Protocol."""

import asyncio
from typing import Annotated, Any

from dspy.utils.exceptions import DSPyError
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from polyqa.asking import aask, check_question
from polyqa.base.errors import PolyqaError
from polyqa.base.keys import error_line
from polyqa.base.values import Passage

from .errors import WebError
from .shelf import Shelf

_INSTRUCTIONS = (
    "Answers questions from the user's own documents. Many questions have several readings: `ask` finds them, answers "
    "each, and names the passages that say so. `search` finds passages."
)
_Program = Annotated[str | None, Field(description="What answers; by default the server's choice.")]
_Index = Annotated[str | None, Field(description="Which documents; by default the server's choice.")]
_Where = Annotated[
    str | None,
    Field(
        description="Only passages that fulfil this condition on their metadata, such as "
        "product = 'Falcon' and date >= 2024-01-01; the catalog lists the columns."
    ),
]


def mcp_server(shelf: Shelf) -> MCPServer:
    """Return a server with the tools over what is on a shelf."""
    server = MCPServer("polyqa", instructions=_INSTRUCTIONS)

    @server.tool()
    async def ask(
        question: Annotated[str, Field(description="One question, ambiguous or not.")],
        program: _Program = None,
        index: _Index = None,
        where: _Where = None,
    ) -> dict[str, Any]:
        """Answer a question completely: every reading, its short answer, one text with sources.

        `[n]` in the answer is the n-th passage.
        """
        try:
            checked = check_question(question)
            names = shelf.names(program, index)
            ready = await asyncio.to_thread(shelf.program, *names, where)
            result = await aask(checked, program=ready, lm=shelf.lm)
        except (PolyqaError, WebError, DSPyError) as error:  # who started the server is told of the language model, too
            raise ToolError(error.detail if isinstance(error, WebError) else error_line(error, 2_000)) from None
        data = result.to_dict()
        told = {name: data[name] for name in ("standing", "confidence", "passages", "coverage", "respelled")}
        return {"answer": data["cited_answer"], "readings": data["interpretations"], **told}

    @server.tool()
    async def search(
        query: Annotated[str, Field(description="What to search for.")],
        k: Annotated[int, Field(ge=1, le=50, description="How many passages.")] = 5,
        index: _Index = None,
        where: _Where = None,
    ) -> dict[str, list[Passage]]:
        """Find the passages that are nearest to a query."""
        try:
            return {"passages": await asyncio.to_thread(shelf.search, query, k, index, where)}
        except WebError as error:
            raise ToolError(error.detail) from None

    @server.resource("polyqa://catalog", mime_type="application/json")
    def catalog() -> dict[str, Any]:
        """Say which programs and indexes there are."""
        programs = {offered.name: offered.about.get("summary", "") for offered in shelf.programs.values()}
        columns = {name: list(index.columns) for name, index in shelf.indexes.items() if index.columns}
        sizes = {name: len(index) for name, index in shelf.indexes.items()}
        return {"programs": programs, "indexes": sizes, "columns": columns}

    return server
