"""The command line: `polyqa`.

Commands import what they need when they run, so that `polyqa --help` answers at once.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from polyqa import __version__

from .adapt import adapt_command
from .answer import answer_command
from .ask import ask_command
from .compile import compile_command
from .cost import cost_command
from .errors import fail
from .evaluate import compare_command, evaluate_command, table_command
from .help import Command
from .index import index_app, setup_command
from .lesson import lesson_command
from .model import model_app, pull_command, push_command
from .questions import questions_app
from .serve import serve_command
from .show import programs_command, show_command
from .terminal import say
from .waiting import waiting

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it: 128 and the number of the signal."""

_GROUPS: dict[str, dict[str, Callable[..., None]]] = {
    "Ask": {"ask": ask_command, "answer": answer_command, "serve": serve_command},
    "Documents": {"setup": setup_command},
    "Measure": {"evaluate": evaluate_command, "compare": compare_command, "table": table_command, "cost": cost_command},
    "Improve": {"adapt": adapt_command, "compile": compile_command},
    "Learn": {"programs": programs_command, "show": show_command, "lesson": lesson_command},
    "Share": {"push": push_command, "pull": pull_command},
}

app = typer.Typer(
    name="polyqa",
    help="Answer ambiguous questions completely, over your own corpus, with sources.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for _group, _commands in _GROUPS.items():
    for _name, _command in _commands.items():
        app.command(_name, cls=Command, rich_help_panel=_group)(_command)
app.add_typer(index_app, name="index", rich_help_panel="Documents")
app.add_typer(questions_app, name="questions", rich_help_panel="Documents")
app.add_typer(model_app, name="model", rich_help_panel="Ask")


def _version(show_version: bool) -> None:
    if show_version:
        say(f"polyqa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options before the command; `main` reads --debug itself."""


def main() -> None:
    """Run the command line: exit code 0, 2 for what the user can mend, 1 for a bug, 130 for Ctrl-C."""
    debug = "--debug" in sys.argv[1:]
    if debug:  # accepted anywhere on the line
        sys.argv = [sys.argv[0], "--debug", *(word for word in sys.argv[1:] if word != "--debug")]
    try:
        with waiting(), warnings.catch_warnings():
            warnings.showwarning = _warn
            app()
    except SystemExit as error:
        if error.code == INTERRUPTED:  # Typer makes this of Ctrl-C
            say("interrupted", err=True)
        raise
    except Exception as error:
        if debug:
            raise
        sys.exit(fail(error))


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning on one line, without the line of code that gave it."""
    say(f"polyqa: warning: {' '.join(str(message).split())}", err=True)
