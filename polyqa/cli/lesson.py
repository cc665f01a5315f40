"""`polyqa lesson`: notebooks that teach what polyqa does, opened in Jupyter Lab."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyqa.base.extras import missing

from .display import console, escaped, table
from .terminal import say

if TYPE_CHECKING:
    from polyqa.lesson_files import Lesson


def lesson_command(
    number: Annotated[
        int | None, typer.Argument(help="Number of the lesson; without one the lessons are listed.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder for your copy.")] = Path(),
) -> None:
    """List the lessons, or copy one into this folder and open it in Jupyter Lab."""
    from polyqa.lesson_files import lesson, lessons

    if number is None:
        _list(lessons())
        return
    copy, as_shipped = lesson(number).copy_to(out)
    if not as_shipped:
        say(f"{copy} is there already and is left as it is; --out FOLDER makes a new copy.", err=True)
    line = missing("jupyterlab", extra="lessons", for_="Opening it here")
    say(f"Your copy is {copy}. {line or ''}".rstrip())  # Jupyter may refuse to start, as it does for root
    if line:
        return
    raise typer.Exit(subprocess.run([sys.executable, "-P", "-m", "jupyter", "lab", str(copy)], check=False).returncode)


def _list(lessons: "list[Lesson]") -> None:
    rows = [
        (str(lesson.number), f"[bold]{escaped(lesson.title)}[/]\n{escaped(lesson.learns)}", str(lesson.minutes))
        for lesson in lessons
    ]
    listed = table("", "lesson, and what you can do afterwards", "minutes", right=("", "minutes"), rows=rows)
    listed.padding = (0, 2, 1, 0)
    out = console()
    out.print(listed)
    out.print("[dim]polyqa lesson NUMBER copies one into this folder and opens it")
