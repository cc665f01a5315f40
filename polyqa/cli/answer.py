"""`polyqa answer`: many questions in, a file of complete answers out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .failures import NOTHING_DONE, WITH_FAILURES
from .terminal import say

if TYPE_CHECKING:
    from polyqa.batch import Answered, Asked
    from polyqa.language_models import Models


@options.takes_language_models("prompt_lm")
def answer_command(
    questions: Annotated[
        str,
        typer.Argument(help="A .jsonl or .json file of objects with a question (and an id), or .txt with one a line."),
    ],
    out: Annotated[Path, typer.Option(help="File of the answers, such as answers.jsonl.")],
    program: options.Program = "auto",
    index: options.Index = None,
    models: options.LanguageModels = options.EMBEDDED,
    demos: options.Demos = None,
    reranker: options.Reranker = None,
    passages: options.Passages = None,
    sets: options.Settings = None,
    preset: options.Preset = None,
    at_once: Annotated[
        int | None,
        typer.Option(min=1, help="Questions at once, on Ray in each worker: 32, embedded engine 4."),
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Begin no question that might take the calls over this number, those of earlier, stopped commands "
            "included; with a larger number it goes on.",
        ),
    ] = None,
    engine: options.Engine = "local",
    workers: options.Workers = 2,
    address: options.Address = None,
    index_workers: options.IndexWorkers = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed/--keep-failed", help="Ask questions again that failed in a stopped command.")
    ] = True,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin again where the file is there.")] = False,
    mlflow: options.Mlflow = None,
    yes: options.Yes = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the sums as JSON.")] = False,
) -> None:
    """Answer many questions: each is a line of a file as it ends.

    The same command goes on where it was stopped, answers questions that were added to the file meanwhile, and asks
    again what failed. Exit code 3 if questions failed, 2 if all did.
    """
    from polyqa.base.errors import PolyqaError
    from polyqa.batch import Batch, answer_many
    from polyqa.batch.asked import read_asked
    from polyqa.evaluation.progress import showing
    from polyqa.tracing import traced

    from .display import Bars

    cluster = options.cluster(engine, workers, address, index_workers)
    if cluster is not None and mlflow is not None:
        raise PolyqaError("Workers of a cluster send no traces: leave out --mlflow, or --engine ray.")
    settings = options.program_settings(program, passages, sets, preset)
    chosen = {"demos": demos, "reranker": reranker, **settings}
    asked = read_asked(questions)
    asking = models.models()
    if not yes and not _confirmed(asked, program, asking, {"index": index, **chosen}):
        raise typer.Exit(NOTHING_DONE)
    with showing(Bars()), traced(mlflow), options.opened(index, index_workers, address, cluster) as opened:
        answered = answer_many(
            asked,
            out,
            program=program,
            index=opened,
            models=asking,
            batch=Batch(at_once, max_calls, cluster, retry_failed, overwrite),
            **chosen,
        )
    _report(answered, as_json)


def _confirmed(asked: "list[Asked]", program: str, models: "Models", chosen: dict[str, object]) -> bool:
    """Say what the questions are expected to cost and ask whether to start; yes if they cost nothing."""
    from polyqa.batch.estimate import estimate

    expected = estimate(asked, program, models, chosen)
    if expected is None:
        return True
    say(str(expected), err=True)
    return typer.confirm("Start?", err=True)


def _report(answered: "Answered", as_json: bool) -> None:
    from dataclasses import asdict

    from polyqa.base.text import counted

    from .display import show_json

    took, failed = answered.took, answered.failed
    if as_json:
        show_json({"path": str(answered.path), **asdict(took), "dollars": answered.dollars})
    parts = [counted(took.calls, "call"), f"{took.input_tokens + took.output_tokens:,} tokens"]
    if answered.dollars:
        parts.append(f"${answered.dollars:,.2f}")
    say(f"{answered.path}: {counted(len(answered), 'answer')}, {', '.join(parts)}", err=True)
    if failed:
        id, why = next(iter(failed.items()))
        say(
            f"{len(failed)} of {counted(len(answered), 'question')} failed, the first one {id!r}: {why[:300]} The same "
            "command asks them again.",
            err=True,
        )
        raise typer.Exit(NOTHING_DONE if len(failed) == len(answered) else WITH_FAILURES)
