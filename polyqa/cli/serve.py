"""`polyqa serve`: polyqa for browsers and for other software."""

from typing import TYPE_CHECKING, Annotated

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.extras import needs

from . import options
from .help import SET_BY_LM_SET
from .terminal import say

if TYPE_CHECKING:
    from polyqa.web.shelf import Shelf

_Indexes = Annotated[
    list[str] | None,
    typer.Option(
        "--index",
        metavar="NAME",
        help="Name or path of an index that may be searched; repeat for more. By default all that have a name.",
    ),
]
_Programs = Annotated[
    list[str] | None,
    typer.Option(
        "--program",
        metavar="NAME",
        help="A program that may be asked, the folder of a compiled one, or MODULE:FUNCTION of your own; repeat for "
        "more. By default all.",
    ),
]
_GUARD = "Who may ask"
_WITHOUT = (*SET_BY_LM_SET, "prompt_lm")
_OF_HTTP = ("host", "port", "token", "allow_host", "allow_origin", "at_once", "seconds")


@options.takes_language_models(*_WITHOUT)
def serve_command(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Address to listen on.", rich_help_panel=_GUARD)
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="Port; 0 takes a free one.")] = 8000,
    indexes: _Indexes = None,
    programs: _Programs = None,
    models: options.LanguageModels = options.EMBEDDED,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            envvar="POLYQA_TOKEN",
            show_envvar=True,
            help="Clients must send it as `Authorization: Bearer …`. Other users of this machine can read a command "
            "line, so set the variable instead.",
            rich_help_panel=_GUARD,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="A host name that clients may use for this server; repeat for more.",
            rich_help_panel=_GUARD,
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Origin of another site whose pages may ask, such as https://chat.example; repeat for more.",
            rich_help_panel=_GUARD,
        ),
    ] = None,
    at_once: Annotated[
        int | None,
        options.more(
            metavar="N",
            min=1,
            max=1_000,
            help="Questions answered at the same time: 64, with the embedded engine the number of cores, with --lm "
            "local that of its slots.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        options.more(
            metavar="SECONDS",
            min=1,
            show_default="120, or that of a call if it is longer than 300",
            help="Time limit of a question, in seconds.",
        ),
    ] = None,
    mcp: Annotated[
        bool,
        typer.Option(
            "--mcp",
            help="Serve the tools ask and search by the Model Context Protocol instead, on standard input and output.",
        ),
    ] = False,
    mlflow: options.Mlflow = None,
) -> None:
    """Serve a page, an HTTP API, OpenAI's chat completions and ColBERTv2's search: http://127.0.0.1:8000.

    Only this machine can ask. With another --host other machines can, and --token is required. Ctrl-C finishes the
    questions that are being answered.
    """
    if mcp:
        if http_options := options.given(context, *_OF_HTTP):
            raise PolyqaError(f"--mcp serves standard input and output only: leave out {', '.join(http_options)}.")
        needs("mcp", extra="mcp", for_="polyqa serve --mcp")
    else:
        needs("fastapi", extra="serve", for_="polyqa serve")
    from polyqa.tracing import traced

    with traced(mlflow):
        if mcp:
            from polyqa.web.mcp import mcp_server

            shelf = _shelf(models, indexes, programs)
            say("polyqa serves ask and search on standard input and output.", err=True)
            mcp_server(shelf).run("stdio")  # until the client goes
            return
        from polyqa.serving import guard_of, limits_of, serve

        guard = guard_of(host, token, tuple(allow_host or ()), tuple(allow_origin or ()))
        shelf = _shelf(models, indexes, programs)
        serve(shelf, guard, limits_of(shelf.lm, at_once, seconds), host=host, port=port, say=say)


def _shelf(models: options.LanguageModels, indexes: list[str] | None, programs: list[str] | None) -> "Shelf":
    from polyqa.web.shelf import Shelf

    chosen = models.models()
    return Shelf(chosen.answering(), helper_lm=chosen.helping(), indexes=indexes or (), programs=programs or ())
