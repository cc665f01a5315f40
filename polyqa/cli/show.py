"""`polyqa show`: look inside programs."""

from pathlib import Path
from typing import Annotated

import typer

from . import completion, options
from .terminal import say

_NAME = "Name of a program, or name or folder of a compiled one."


def show_command(
    artifact: Annotated[str, typer.Argument(help=_NAME, autocompletion=completion.programs)],
    other: Annotated[
        str | None,
        typer.Argument(
            help="A second program: show how its prompts differ from the first one's.",
            autocompletion=completion.programs,
        ),
    ] = None,
    index: options.Index = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print card and state as JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the report of the compilation to this HTML file instead.")
    ] = None,
) -> None:
    """Show a program's prompts (instructions, fields, demos) and a compiled program's card, or compare two programs."""
    from polyqa.artifacts.state import dump_program
    from polyqa.artifacts.store import read_artifact
    from polyqa.loading import load
    from polyqa.optimizers.prompts import prompt_diff, prompt_texts
    from polyqa.programs import PROGRAMS

    from .display import show_json

    if html is not None:
        _write_report(artifact, html)
        return
    card = None if artifact in PROGRAMS else read_artifact(artifact).card.describe()
    program = load(artifact, index=index, strict=False)
    if other is not None:
        say(prompt_diff(program, load(other, index=index, strict=False)))
        return
    if as_json:
        show_json({"card": card, "program": dump_program(program)})
        return
    if card is not None:
        show_json(card)
        say()
    for name, text in prompt_texts(program).items():
        say(f"## {name}\n\n{text}")


def _write_report(artifact: str, to: Path) -> None:
    """Write the report of an artifact to a file."""
    from polyqa.artifacts.store import read_artifact
    from polyqa.base.errors import PolyqaError
    from polyqa.base.files import write_atomically
    from polyqa.programs import PROGRAMS
    from polyqa.reports.compilation import read_report

    if artifact in PROGRAMS:
        raise PolyqaError(f"{artifact} is not compiled, so there is no report of it: name a compiled program.")
    report = read_report(read_artifact(artifact))
    to.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(to, report)
    say(f"written to {to}", err=True)
