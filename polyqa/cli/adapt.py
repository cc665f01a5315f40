"""`polyqa adapt`: a program for a corpus of yours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from polyqa.base.text import counted

from . import options
from .display import at_work, confirming
from .errors import NOTHING_DONE, end_with_failures
from .terminal import say

if TYPE_CHECKING:
    from polyqa.metrics.optimizing import Measure


@options.takes_language_models()
def adapt_command(
    corpus: Annotated[Path, typer.Argument(help="A corpus, as for `polyqa index build`; also FILE@SPLIT.")],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the compiled program; the index gets its name.")
    ],
    program: options.PlainProgram = None,
    questions: Annotated[
        str | None,
        typer.Option(metavar="SET", help="Your own training questions; by default they are made from the corpus."),
    ] = None,
    recipe: options.RecipeName = "knn",
    models: options.LanguageModels = options.EMBEDDED,
    reader: options.Reader = "embedded",
    limit_passages: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of passages that questions are made from; by default all."),
    ] = None,
    measure: options.Measure = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    max_calls: options.MaxCalls = None,
    mlflow: options.Mlflow = None,
    yes: options.Yes = False,
) -> None:
    """Adapt a program to your corpus: index it, make questions from it, compile, report on held-out questions.

    By default DR is optimized, or disambig_f1 if your questions have no long answers. Run the same command again to
    resume, and to repeat failed questions. Exit code 3 if some questions failed.
    """
    from polyqa.adapting import REPORT, adapt
    from polyqa.compiling import Budget
    from polyqa.reports.adaptation import (
        WHAT_IT_MEASURES,
        ask_command,
        changed_readings,
        kinds_of_questions,
        still_wrong,
    )

    with at_work(mlflow):
        adaptation = adapt(
            corpus,
            program,
            out=out,
            questions=questions,
            recipe=recipe,
            models=models.models(reader=reader),
            limit_passages=limit_passages,
            measure=cast("Measure | None", measure),
            budget=Budget(max_calls=max_calls, threads=threads, seed=seed, confirm=confirming(yes)),
        )
    if adaptation is None:
        say(f"not started; the index {out.resolve().name} is built and stays", err=True)
        raise typer.Exit(NOTHING_DONE)
    say(adaptation.verdict)
    say(f"{WHAT_IT_MEASURES[adaptation.measure]} {kinds_of_questions(adaptation)}")
    if adaptation.counts is not None:
        say(f"{adaptation.counts}; {counted(sum(adaptation.dropped.values()), 'question')} not used")
    say(f"questions: {len(adaptation.train)} train, {len(adaptation.dev)} dev, {len(adaptation.held_out)} held out")
    other, wrong = len(changed_readings(adaptation)), len(still_wrong(adaptation))
    held_out = f"of {len(adaptation.held_out)} held-out questions"
    say(f"{held_out} {other} have other readings now, {wrong} no right answer yet")
    compilation = adaptation.made
    report = compilation.path / REPORT
    say(f"index {adaptation.index.name}; saved in {compilation.path}; all questions in {report}", err=True)
    say(f"ask it: {ask_command(adaptation)}", err=True)
    end_with_failures(*compilation.compiled.runs)
