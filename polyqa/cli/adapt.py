"""`polyqa adapt`: a program for a corpus of yours."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from ..adapting import Adapted


def adapt_command(
    corpus: Annotated[Path, typer.Argument(help="A .jsonl or .tsv file: id, title, text.")],
    out: Annotated[Path, typer.Option(help="Folder of the compiled program; the index gets its name.")],
    program: Annotated[str, typer.Option(help="A program that searches an index (`polyqa programs`).")] = "diva",
    questions: Annotated[
        str | None, typer.Option(help="Training questions of yours; by default they are made from the corpus.")
    ] = None,
    recipe: Annotated[str, typer.Option(help="How; polyqa recipes lists them.")] = "knn",
    lm: Annotated[str, typer.Option(help="Makes the questions and runs the program.")] = "polyqa/extractive",
    prompt_lm: Annotated[str | None, typer.Option(help="Writes instructions; by default --lm.")] = None,
    api_base: Annotated[str | None, typer.Option(help="Address of the language model's server.")] = None,
    reader: Annotated[
        str, typer.Option(help="Verifies questions, reads for Disambig-F1: embedded, a path, or a hub name.")
    ] = "embedded",
    limit_passages: Annotated[
        int | None, typer.Option(min=1, help="Make questions from so many passages at most.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Calls at once: 8, embedded engine 2.")] = None,
    max_calls: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Stop when so many calls were made in all steps, those of earlier, stopped runs included; with a "
            "larger number it goes on.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
) -> None:
    """Adapt a program to another corpus: index it, make questions from it, compile, report on held-out ones.

    The same command goes on where it was stopped.
    """
    from rich.console import Console

    from polyqa.evaluation.progress import Bar
    from polyqa.programs.registry import REGISTRY, registered
    from polyqa.signatures import PolyqaError

    from ..adapting import adapt

    if registered(program).needs != {"index"}:
        fitting = ", ".join(name for name, entry in REGISTRY.items() if entry.needs == {"index"})
        raise PolyqaError(f"{program} cannot be adapted: it needs a program that searches an index only: {fitting}.")

    def confirm(what: object) -> bool:
        typer.echo(f"at most {what}", err=True)
        return yes or typer.confirm("Start?", err=True)

    done = adapt(
        corpus,
        program,
        out=out,
        questions=questions,
        recipe=recipe,
        lm=lm,
        prompt_lm=prompt_lm,
        api_base=api_base,
        reader=reader,
        limit_passages=limit_passages,
        seed=seed,
        threads=threads,
        confirm=confirm,
        max_calls=max_calls,
        progress=Bar,
        steps=passage_bar,
        index_progress=True,
    )
    if done is None:
        typer.echo("not started", err=True)
        return
    console = Console(highlight=False)
    if done.counts is not None:
        console.print(_stages(done))
    console.print(f"questions: {len(done.train)} train, {len(done.dev)} dev, {len(done.held_out)} held out")
    console.print(_gains(done))
    typer.echo(f"index {done.index.name}; saved in {done.made.path}", err=True)


@contextmanager
def passage_bar(total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar of passages on standard error; give the function that moves it on."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("passages"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.update(task, advance=1)


def _stages(done: "Adapted") -> "Table":
    from rich.table import Table

    assert done.counts is not None
    every = [*done.train, *done.dev, *done.held_out]
    ambiguous = [question for question in every if len(question.readings) > 1]
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("step")
    table.add_column("n", justify="right")
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
    for name, number in rows.items():
        table.add_row(name, f"{number:,}")
    return table


def _gains(done: "Adapted") -> "Table":
    from rich.table import Table

    gain = done.made.card.test_gain
    assert gain is not None
    table = Table(
        box=None, padding=(0, 2, 0, 0), title=f"DR on {gain.before.n} held-out questions", title_justify="left"
    )
    for head in ("program", "DR", "95%", "difference", "95%", "p"):
        table.add_column(head, justify="left" if head == "program" else "right")
    table.add_row("uncompiled", f"{gain.before.value:.1f}", _interval(gain.before.low, gain.before.high), "", "", "")
    for name, value, low, high, difference, own_low, own_high, p in (
        (
            f"{done.made.card.name} ({done.made.card.recipe['name']})",
            *(gain.after.value, gain.after.low, gain.after.high),
            *(gain.difference, gain.low, gain.high, gain.p),
        ),
        *(
            (
                f"{one.name} (shipped)",
                *_estimate(one.run),
                *(one.difference.difference, one.difference.low, one.difference.high, one.difference.p),
            )
            for one in done.shipped
        ),
    ):
        table.add_row(
            name,
            f"{value:.1f}",
            _interval(low, high),
            f"{difference:+.1f}",
            _interval(own_low, own_high, "+"),
            f"{p:.3f}" if p >= 0.001 else "<0.001",
        )
    return table


def _estimate(run: object) -> tuple[float, float, float]:
    from polyqa.evaluation.runs import summarize

    found = summarize(run.records)["dr"]  # type: ignore[attr-defined]
    return found.value, found.low, found.high


def _interval(low: float | None, high: float | None, sign: str = "") -> str:
    return "" if low is None or high is None else f"{low:{sign}.1f} to {high:{sign}.1f}"
