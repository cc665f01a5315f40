"""`polyqa questions …`: build, search and describe the database of an index's generated questions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import completion, options
from .failures import WITH_FAILURES
from .terminal import say

if TYPE_CHECKING:
    from rich.table import Table

questions_app = typer.Typer(help="Make questions from an index, and search them.", no_args_is_help=True)

_Index = Annotated[str, typer.Option("--index", help="Name or path of the index.", autocompletion=completion.indexes)]
_Place = Annotated[
    Path | None, typer.Option("--questions", help="Folder of the database; by default questions/ in the index.")
]


@questions_app.command("build")
@options.takes_language_models("helper_lm", "prompt_lm")
def build_command(
    index: _Index = "homonyms",
    out: Annotated[Path | None, typer.Option(help="Folder; by default questions/ in the index's folder.")] = None,
    models: options.LanguageModels = options.EMBEDDED,
    reader: options.Reader = "embedded",
    threads: options.Threads = None,
    revisions: Annotated[int, typer.Option(min=0, max=2, help="How often each question is revised.")] = 2,
    spans: Annotated[
        int, typer.Option(min=1, max=32, help="Most spans of a passage to ask for (paper's mean: 13.5).")
    ] = 8,
    limit: Annotated[int | None, typer.Option(min=1, help="Read a random sample of so many passages.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    engine: options.Engine = "local",
    workers: options.Workers = 2,
    address: options.Address = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a database that is there.")] = False,
) -> None:
    """Make questions from the passages of an index: detect answers, ask, verify, revise.

    The same command goes on where it was stopped, and reads again what failed. Exit code 3 if passages failed.
    """
    from polyqa.base.text import counted
    from polyqa.evaluation.progress import showing
    from polyqa.question_building import build_questions
    from polyqa.questions import QuestionSettings

    from .display import Bars

    cluster = options.cluster(engine, workers, address)
    with showing(Bars()):
        database = build_questions(
            index,
            out=out,
            models=models.models(reader=reader),
            settings=QuestionSettings(revisions, spans),
            threads=threads,
            limit=limit,
            seed=seed,
            ray=cluster,
            overwrite=overwrite,
        )
    say(f"{database.manifest.counts}: {database.path}")
    if failed := database.manifest.counts.failed:
        say(f"{counted(failed, 'passage')} failed. The same command reads what failed again.", err=True)
        raise typer.Exit(WITH_FAILURES)


@questions_app.command("search")
def search_command(
    question: Annotated[str, typer.Argument(help="What to search for.")],
    index: _Index = "homonyms",
    questions: _Place = None,
    by: Annotated[
        str, typer.Option(help="questions: the nearest questions; max or count: passages through them.")
    ] = "questions",
    ranking: Annotated[str, typer.Option(help="How questions are ranked: dense or bm25.")] = "dense",
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many questions or passages.")] = 10,
    as_json: options.Json = False,
) -> None:
    """Search the questions, or the passages through them."""
    from polyqa.base.errors import PolyqaError
    from polyqa.question_building import open_questions
    from polyqa.questions import QuestionRetriever

    from .display import console, show_json

    if by not in ("questions", "max", "count"):
        raise PolyqaError(f"--by is questions, max or count, not {by!r}.")
    if ranking not in ("dense", "bm25"):
        raise PolyqaError(f"--ranking is dense or bm25, not {ranking!r}.")
    if not question.strip():
        raise PolyqaError("The question is empty.")
    opened, database = open_questions(index, questions)
    found: list[Any] = (
        database.search(question, k, ranking=ranking)  # type: ignore[arg-type]
        if by == "questions"
        else QuestionRetriever(database, opened, by=by, ranking=ranking).search(question, k)  # type: ignore[arg-type]
    )
    if as_json:
        show_json([one.model_dump() for one in found])
        return
    console().print(_questions(found) if by == "questions" else _passages(found))


@questions_app.command("info")
def info_command(
    index: _Index = "homonyms",
    questions: _Place = None,
    check: Annotated[bool, typer.Option("--check", help="Read the whole database and check it.")] = False,
    as_json: options.Json = False,
) -> None:
    """Say what a database of questions holds and how it was made."""
    from polyqa.base.text import counted
    from polyqa.question_building import open_questions

    _, database = open_questions(index, questions)
    if check:
        database.check()
    if as_json:
        say(database.manifest.model_dump_json(indent=2))
        return
    from .display import console, facts

    manifest = database.manifest
    data = {
        "path": database.path,
        "questions": len(database),
        "made from": f"{manifest.counts.passages:,} of {counted(manifest.index_passages, 'passage')}",
        "steps": manifest.counts,
        "revisions": manifest.origin.revisions,
        "spans per passage": f"at most {manifest.origin.spans}",
        "language model": manifest.origin.lm,
        "reader": manifest.origin.reader,
        "encoder": f"{manifest.encoder} ({manifest.dimensions} dimensions)",
        "index": manifest.index,
        "lancedb": manifest.lancedb,
    }
    console().print(facts(data))


def _questions(found: list[Any]) -> "Table":
    from rich.markup import escape

    from .display import table

    columns = ("", "score", "question", "answers", "passages")
    rows = [
        (str(rank), f"{one.score:.3f}", escape(one.question), *map(_listed, (one.answers, one.pids)))
        for rank, one in enumerate(found, 1)
    ]
    return table(*columns, right=columns[:2], rows=rows)


def _passages(found: list[Any]) -> "Table":
    from rich.markup import escape

    from .display import table

    columns = ("", "score", "passage", "title")
    rows = [(str(rank), f"{one.score:.3f}", escape(one.pid), escape(one.title)) for rank, one in enumerate(found, 1)]
    return table(*columns, right=columns[:2], rows=rows)


def _listed(names: list[str]) -> str:
    from rich.markup import escape

    return escape(", ".join(dict.fromkeys(names)))
