"""`polyqa serve` and `polyqa mcp`: polyqa for browsers and for other software."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import completion, options
from .terminal import say
from .waiting import ready

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyqa.colbert_index import ColBERTIndex
    from polyqa.web.shelf import Shelf

_Indexes = Annotated[
    list[str] | None,
    typer.Option(
        "--index",
        help="An index that may be searched, by name or path; again for more. By default all that have a name.",
        autocompletion=completion.indexes,
    ),
]
_Programs = Annotated[
    list[str] | None,
    typer.Option(
        "--program",
        help="A program that may be asked, or a compiled one's folder; again for more. By default all.",
        autocompletion=completion.programs,
    ),
]
LOG = logging.getLogger("polyqa.serve")
_GUARD = "Who may ask"
_LIMITS = "Limits"


@options.takes_language_models("prompt_lm")
def serve_command(
    host: Annotated[str, typer.Option(help="Address to listen on.", rich_help_panel=_GUARD)] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = 8000,
    indexes: _Indexes = None,
    programs: _Programs = None,
    models: options.LanguageModels = options.EMBEDDED,
    runs: Annotated[
        Path | None, typer.Option(help="A folder of runs of polyqa evaluate, to look at and compare in the page.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="POLYQA_TOKEN",
            show_envvar=True,
            help="What clients must send as `Authorization: Bearer …`; others on this machine can read a command line, "
            "so rather set the variable.",
            rich_help_panel=_GUARD,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A host name under which clients may know this server; again for more.", rich_help_panel=_GUARD
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            help="A page of another origin that may ask, such as https://chat.example; again for more.",
            rich_help_panel=_GUARD,
        ),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000,
            help="Questions answered at once: 64, embedded engine as many as there are cores.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    queue: Annotated[
        int, typer.Option(min=0, max=10_000, help="Questions that wait; more are refused.", rich_help_panel=_LIMITS)
    ] = 64,
    seconds: Annotated[
        float, typer.Option(min=1, help="How long a question may take.", rich_help_panel=_LIMITS)
    ] = 120.0,
    index_workers: options.IndexWorkers = None,
    address: options.Address = None,
    mlflow: options.Mlflow = None,
    json_log: Annotated[
        bool,
        typer.Option("--log-json", help="Log to standard error, one JSON object for each request, question and fault."),
    ] = False,
    log_questions: Annotated[
        bool, typer.Option("--log-questions", help="With --log-json: the texts of questions, too.")
    ] = False,
) -> None:
    """Serve a page, an HTTP API, OpenAI's chat completions and ColBERTv2's search: http://127.0.0.1:8000.

    Only this machine can ask, unless --host says otherwise; that needs --token. Ctrl-C finishes what runs.
    """
    from polyqa.base.errors import PolyqaError
    from polyqa.base.extras import needs

    needs("fastapi", extra="serve", for_="polyqa serve")
    from polyqa.serving import guard_of, limits_of, serve
    from polyqa.tracing import traced
    from polyqa.web.logs import log_json

    if log_questions and not json_log:
        raise PolyqaError("--log-questions says what --log-json writes; give both.")
    if json_log:
        log_json(questions=log_questions)
    guard = guard_of(host, token, tuple(allow_host or ()), tuple(allow_origin or ()))

    def announce(line: str) -> None:
        ready()
        LOG.info(line) if json_log else say(line)

    with traced(mlflow), options.all_opened(indexes or [], index_workers, address) as opened:
        shelf = _shelf(models, opened, programs)
        limits = limits_of(shelf.lm.model, at_once, queue, seconds)
        serve(shelf, guard, limits, host=host, port=port, runs=runs, say=announce)


@options.takes_language_models("prompt_lm")
def mcp_command(
    indexes: _Indexes = None,
    programs: _Programs = None,
    models: options.LanguageModels = options.EMBEDDED,
    mlflow: options.Mlflow = None,
) -> None:
    """Serve the tools `ask` and `search` by the Model Context Protocol, on standard input and output."""
    from polyqa.base.extras import needs

    needs("mcp", extra="mcp", for_="polyqa mcp")
    from polyqa.tracing import traced
    from polyqa.web.mcp import run_mcp

    shelf = _shelf(models, indexes or (), programs)
    ready()
    with traced(mlflow):
        run_mcp(shelf)


def _shelf(
    models: options.LanguageModels, indexes: "Sequence[str | ColBERTIndex]", programs: list[str] | None
) -> "Shelf":
    from polyqa.web.shelf import Shelf

    asked = models.models()
    return Shelf(
        asked.answering(),
        helper_lm=asked.helping(),
        indexes=indexes,
        programs=programs or (),
    )
