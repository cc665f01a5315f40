"""`polyqa questions …`: build and search the database of an index's generated questions."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.text import counted

from . import options
from .display import at_work, console, escaped, show_json, table
from .errors import WITH_FAILURES
from .help import Command
from .terminal import say

questions_app = typer.Typer(help="Make questions from an index, and search them.", no_args_is_help=True)

_Index = Annotated[str, typer.Option("--index", metavar="NAME", help="Name or path of the index.")]
_Place = Annotated[
    Path | None,
    options.more(
        "--questions", metavar="FOLDER", help="Folder of the database; by default questions/ in the index's folder."
    ),
]


@questions_app.command("build", cls=Command)
@options.takes_language_models("helper_lm", "prompt_lm")
def build_command(
    context: typer.Context,
    index: _Index = "homonyms",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for the database; by default questions/ in the index's folder."),
    ] = None,
    models: options.LanguageModels = options.EMBEDDED,
    reader: options.Reader = "embedded",
    threads: options.Threads = None,
    revisions: Annotated[
        int | None,
        options.more(metavar="N", min=0, max=2, help="Number of revisions of each question, in steps (2)."),
    ] = None,
    spans: Annotated[
        int | None,
        options.more(
            metavar="N",
            min=1,
            max=32,
            help="The most answers per passage to make questions for, in steps (8; mean in the paper: 13.5).",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Size of a random sample of the passages.")
    ] = None,
    engine: options.Engine = "local",
    workers: options.Workers = 2,
    address: options.Address = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a database that is there.")] = False,
) -> None:
    """Make questions from the passages of an index, and check them.

    A language model writes all questions of a passage in one call. The embedded engine, or any model with --spans or
    --revisions, works in steps as SIXPAQ does: find answers, write a question for each, revise it. Run the same command
    again to resume, and to repeat failed passages. Exit code 3 if some passages failed.
    """
    from polyqa.question_building import build_questions
    from polyqa.questions import QuestionSettings

    given: dict[str, Any] = {
        name: value for name, value in (("revisions", revisions), ("spans", spans)) if value is not None
    }
    cluster = options.cluster(context, engine, workers, address)
    with at_work(overwrite=overwrite):
        database = build_questions(
            index,
            out=out,
            models=models.models(reader=reader),
            settings=QuestionSettings(**given) if given else None,
            threads=threads,
            limit=limit,
            ray=cluster,
            overwrite=overwrite,
        )
    say(f"{database.manifest.counts}: {database.path}")
    if failed := database.manifest.counts.failed:
        say(f"{counted(failed, 'passage')} failed. The same command repeats them.", err=True)
        raise typer.Exit(WITH_FAILURES)


@questions_app.command("search", cls=Command)
def search_command(
    question: Annotated[str, typer.Argument(help="What to search for.")],
    index: _Index = "homonyms",
    questions: _Place = None,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, max=1000, help="Number of questions.")] = 10,
    as_json: options.Json = False,
) -> None:
    """Search the questions: the nearest ones, with their answers and passages."""
    from polyqa.question_building import open_questions

    if not question.strip():
        raise PolyqaError("The question is empty.")
    nearest = open_questions(index, questions).search(question, k)
    if as_json:
        show_json([entry.model_dump() for entry in nearest])
        return
    columns = ("", "score", "question", "answers", "passages")
    rows = [
        (str(rank), f"{entry.score:.3f}", escaped(entry.question), *map(_listed, (entry.answers, entry.pids)))
        for rank, entry in enumerate(nearest, 1)
    ]
    console().print(table(*columns, right=columns[:2], rows=rows))


def _listed(names: Iterable[str]) -> str:
    return escaped(", ".join(dict.fromkeys(names)))
