"""Fills the marked parts of the documents from their sources, and keeps the summaries that are among these.

python -m lab.figures            fill all documents, draw README's pictures
python -m lab.figures --check    name what differs from its source, and exit with 1
python -m lab.figures store runs/*-homonyms-dev --to lab/results/homonyms-dev.json

A marked part is ``<!-- figures: NAME ARGUMENT -->…<!-- /figures -->``; `documents.part` knows the names.
"""

import io
import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from polyqa.artifacts.store import README, artifact_names, read_artifact
from polyqa.base.files import write_atomically
from polyqa.cli import app as polyqa
from polyqa.reports.readme import artifact_readme

from . import recipes
from .documents import part
from .results import store_runs

ROOT = Path(__file__).resolve().parents[1]
PICTURE, RECIPES = ROOT / "docs" / "answer.svg", ROOT / "docs" / "recipes.svg"
QUESTION = "When did Titanic come out?"
_WIDTH = 100
_MARKED = re.compile(r"<!-- figures: ([^>]+?) -->(.*?)<!-- /figures -->", re.DOTALL)

app = typer.Typer(add_completion=False)


def filled(text: str) -> str:
    """Return a document with its marked parts as their sources have them; one that began on its own line stays so."""

    def value_of(match: re.Match[str]) -> str:
        name, *arguments = match[1].split()
        value = part(name, *arguments)
        if match[2].startswith("\n"):
            value = f"\n\n{value}\n\n"
        return f"<!-- figures: {match[1]} -->{value}<!-- /figures -->"

    return _MARKED.sub(value_of, text)


def picture() -> str:
    """Return what `polyqa ask` prints, as SVG, the same on every machine and without the seconds."""
    environment = {"COLUMNS": str(_WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color", "POLYQA_PRECISION": "float32"}
    result = CliRunner().invoke(polyqa, ["ask", QUESTION], env=environment, catch_exceptions=False)
    printed = re.sub(r" · \d+\.\d s", "", result.stdout)
    console = Console(record=True, width=_WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(printed))
    svg = console.export_svg(title=f'polyqa ask "{QUESTION}"', unique_id="answer")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # fonts from the network


def generated() -> dict[Path, str]:
    """Return every generated file with what it should hold."""
    documents = [ROOT / "README.md", *ROOT.glob("*/README.md"), *(ROOT / "docs").rglob("*.md")]
    texts = {path: filled(path.read_text(encoding="utf-8")) for path in documents}
    for artifact in map(read_artifact, artifact_names()):
        text = artifact_readme(artifact.card, artifact.state, artifact.path)
        texts[artifact.path / README] = text.rstrip() + "\n"
    return texts | {PICTURE: picture(), RECIPES: recipes.picture()}


@app.callback(invoke_without_command=True)
def fill(
    context: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if something differs.")] = False,
) -> None:
    """Fill the documents from their sources."""
    if context.invoked_subcommand is not None:
        return
    texts = generated()
    differing = [path for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in differing:
        typer.echo(f"{path.relative_to(ROOT)} {'differs from its source; run make figures' if check else 'is filled'}")
        if not check:
            write_atomically(path, texts[path])
    raise typer.Exit(int(check and bool(differing)))


@app.command()
def store(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs over the same questions.")],
    to: Annotated[Path, typer.Option(help="The file of their summaries, in lab/results/.")],
) -> None:
    """Keep the summaries of runs."""
    results = store_runs(runs, to)
    typer.echo(f"{to}: {len(results.runs)} runs")


if __name__ == "__main__":
    app()
