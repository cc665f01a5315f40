"""`polyqa adapt`: a program for a corpus of yours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options

if TYPE_CHECKING:
    from rich.table import Table

    from ..adapting import Adapted


@options.takes_language_models()
def adapt_command(
    corpus: Annotated[Path, typer.Argument(help="A .jsonl or .tsv file: id, title, text.")],
    out: Annotated[Path, typer.Option(help="Folder of the compiled program; the index gets its name.")],
    program: Annotated[str, typer.Option(help="A program that searches an index (`polyqa programs`).")] = "diva",
    questions: Annotated[
        str | None, typer.Option(help="Training questions of yours; by default they are made from the corpus.")
    ] = None,
    recipe: options.RecipeName = "knn",
    models: options.LanguageModels = options.EMBEDDED,
    reader: options.Reader = "embedded",
    limit_passages: Annotated[
        int | None, typer.Option(min=1, help="Make questions from so many passages at most.")
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    max_calls: options.MaxCalls = None,
    yes: options.Yes = False,
) -> None:
    """Adapt a program to another corpus: index it, make questions from it, compile, report on held-out ones.

    The same command goes on where it was stopped.
    """
    from polyqa.evaluation.progress import showing
    from polyqa.programs.registry import REGISTRY, registered
    from polyqa.signatures import PolyqaError

    from ..adapting import adapt
    from ..compiling import Budget
    from .display import Bars, confirming, console

    if registered(program).needs != {"index"}:
        fitting = ", ".join(name for name, entry in REGISTRY.items() if entry.needs == {"index"})
        raise PolyqaError(f"{program} cannot be adapted: it needs a program that searches an index only: {fitting}.")
    with showing(Bars()):
        done = adapt(
            corpus,
            program,
            out=out,
            questions=questions,
            recipe=recipe,
            models=models.models(reader=reader),
            limit_passages=limit_passages,
            budget=Budget(max_calls=max_calls, threads=threads, seed=seed, confirm=confirming(yes)),
        )
    if done is None:
        typer.echo("not started", err=True)
        return
    if done.counts is not None:
        console().print(_stages(done))
    console().print(f"questions: {len(done.train)} train, {len(done.dev)} dev, {len(done.held_out)} held out")
    console().print(_gains(done))
    typer.echo(f"index {done.index.name}; saved in {done.made.path}", err=True)


def _stages(done: "Adapted") -> "Table":
    from .display import table

    assert done.counts is not None
    every = [*done.train, *done.dev, *done.held_out]
    ambiguous = [question for question in every if len(question.readings) > 1]
    rows = {
        "passages": done.counts.passages,
        "passages that failed": done.counts.failed,
        "answers detected": done.counts.answers,
        "questions written": done.counts.generated,
        "verified by the reader": done.counts.verified,
        "changed by revision": done.counts.revised,
        "distinct questions": done.counts.questions,
        "ambiguous questions": len(ambiguous),
        "their readings": sum(len(question.readings) for question in ambiguous),
        "plain questions": len(every) - len(ambiguous),
    }
    return table("step", "n", right=("n",), rows=[(name, f"{number:,}") for name, number in rows.items()])


def _gains(done: "Adapted") -> "Table":
    from polyqa.evaluation.runs import summarize

    from .display import table

    gain = done.made.card.test_gain
    assert gain is not None
    rows = [("uncompiled", f"{gain.before.value:.1f}", _interval(gain.before.low, gain.before.high), "", "", "")]
    own = f"{done.made.card.name} ({done.made.card.recipe['name']})"
    shipped: list[tuple[str, Any, Any]] = [
        (f"{one.name} (shipped)", summarize(one.run.records)["dr"], one.difference) for one in done.shipped
    ]
    for name, after, difference in ((own, gain.after, gain), *shipped):
        rows.append(
            (
                name,
                f"{after.value:.1f}",
                _interval(after.low, after.high),
                f"{difference.difference:+.1f}",
                _interval(difference.low, difference.high, "+"),
                f"{difference.p:.3f}" if difference.p >= 0.001 else "<0.001",
            )
        )
    columns = ("program", "DR", "95%", "difference", "95%", "p")
    return table(*columns, right=columns[1:], rows=rows, title=f"DR on {gain.before.n} held-out questions")


def _interval(low: float | None, high: float | None, sign: str = "") -> str:
    return "" if low is None or high is None else f"{low:{sign}.1f} to {high:{sign}.1f}"
