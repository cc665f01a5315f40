"""The command line: `polyqa`.

Commands import what they need when they run, so that `polyqa --help` answers at once.
"""

import sys
from typing import Annotated

import typer

from polyqa import __version__

from .adapt import adapt_command
from .ask import ask_command
from .compile import compile_command, curve_command, recipes_command
from .errors import fail
from .evaluate import compare_command, evaluate_command, score_command, table_command
from .index import index_app
from .programs import programs_command
from .questions import questions_app
from .setup import setup_command
from .show import diff_command, show_command, why_command

app = typer.Typer(
    name="polyqa",
    help="Answer ambiguous questions completely, over your own corpus, with sources.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("ask")(ask_command)
app.command("programs")(programs_command)
app.command("setup")(setup_command)
app.command("evaluate")(evaluate_command)
app.command("score")(score_command)
app.command("compare")(compare_command)
app.command("table")(table_command)
app.command("compile")(compile_command)
app.command("adapt")(adapt_command)
app.command("recipes")(recipes_command)
app.command("curve")(curve_command)
app.command("show")(show_command)
app.command("diff")(diff_command)
app.command("why")(why_command)
app.add_typer(index_app, name="index")
app.add_typer(questions_app, name="questions")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"polyqa {__version__}")
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
        app()
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)
    except Exception as error:
        if debug:
            raise
        sys.exit(fail(error))
