"""`polyqa adapt`: a program for a corpus of yours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .errors import end_with_failures
from .terminal import say

if TYPE_CHECKING:
    from rich.table import Table

    from polyqa.adapting import Adapted


@options.takes_language_models()
def adapt_command(
    corpus: Annotated[Path, typer.Argument(help="A corpus, as for `polyqa index build`; also FILE@SPLIT.")],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the compiled program; the index gets its name.")
    ],
    program: options.PlainProgram = "auto",
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
    from polyqa.base.errors import PolyqaError
    from polyqa.compiling import Budget
    from polyqa.evaluation.columns import COLUMNS
    from polyqa.evaluation.progress import showing
    from polyqa.metrics.optimizing import MEASURES
    from polyqa.programs.registry import REGISTRY, registered
    from polyqa.reports.adaptation import (
        WHAT_IT_MEASURES,
        ask_command,
        changed_readings,
        examples,
        kinds_of_questions,
        still_wrong,
    )
    from polyqa.tracing import traced

    from .bars import Bars
    from .display import confirming, console

    if registered(program).needs != {"index"}:
        fitting = ", ".join(name for name, entry in REGISTRY.items() if entry.needs == {"index"})
        raise PolyqaError(f"{program} cannot be adapted: it needs a program that searches an index only: {fitting}.")
    if measure not in (None, *MEASURES):
        raise PolyqaError(f"--measure is one of {', '.join(MEASURES)}, not {measure!r}.")
    with showing(Bars()), traced(mlflow):
        done = adapt(
            corpus,
            program,
            out=out,
            questions=questions,
            recipe=recipe,
            models=models.models(reader=reader),
            limit_passages=limit_passages,
            measure=measure,
            budget=Budget(max_calls=max_calls, threads=threads, seed=seed, confirm=confirming(yes)),
        )
    if done is None:
        say(f"not started; the index {out.name} is built and stays", err=True)
        return
    say(done.verdict)
    say(f"{WHAT_IT_MEASURES[done.measure]} {kinds_of_questions(done)}")
    if done.counts is not None:
        console().print(_stages(done))
    console().print(f"questions: {len(done.train)} train, {len(done.dev)} dev, {len(done.held_out)} held out")
    console().print(_gains(done))
    for change in examples(done):
        scores = f"{COLUMNS[done.measure].label} {change.before:.0f} → {change.after:.0f}"
        say(f"{'won' if change.difference > 0 else 'lost'}: {change.old.question} ({scores})")
        say(f"  before: {change.old.answer}\n  after:  {change.new.answer}")
    other, wrong = len(changed_readings(done)), len(still_wrong(done))
    say(f"of {len(done.held_out)} held-out questions {other} have other readings now, {wrong} no right answer yet")
    say(f"index {done.index.name}; saved in {done.made.path}; all questions in {done.made.path / REPORT}", err=True)
    say(f"ask it: {ask_command(done)}", err=True)
    made = done.made
    end_with_failures(made.compiled.before, made.compiled.after, *(made.test_runs or ()))


def _stages(done: "Adapted") -> "Table":
    from .display import table

    assert done.counts is not None
    every, ambiguous = done.questions, done.ambiguous
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
        "not used": sum(done.dropped.values()),
    }
    return table("step", "n", right=("n",), rows=[(name, f"{number:,}") for name, number in rows.items()])


def _gains(done: "Adapted") -> "Table":
    from polyqa.evaluation.columns import COLUMNS
    from polyqa.evaluation.runs import summarize
    from polyqa.evaluation.tables import p_text

    from .display import table

    gain = done.made.card.test_gain
    assert gain is not None
    rows = [("uncompiled", f"{gain.before.value:.1f}", _interval(gain.before.low, gain.before.high), "", "", "")]
    compiled: list[tuple[str, Any, Any]] = [
        (f"{done.made.card.name} ({done.made.card.recipe['name']})", gain.after, gain),
        *((f"{one.name} (shipped)", summarize(one.run.records)[done.measure], one.difference) for one in done.shipped),
    ]
    for name, after, change in compiled:
        value, difference = f"{after.value:.1f}", f"{change.difference:+.1f}"
        interval, range_of_change = _interval(after.low, after.high), _interval(change.low, change.high, "+")
        rows.append((name, value, interval, difference, range_of_change, p_text(change.p)))
    label = COLUMNS[done.measure].label
    columns = ("program", label, "95%", "difference", "95%", "p")
    return table(*columns, right=columns[1:], rows=rows, title=f"{label} on {gain.before.n} held-out questions")


def _interval(low: float | None, high: float | None, sign: str = "") -> str:
    return "" if low is None or high is None else f"{low:{sign}.1f} to {high:{sign}.1f}"
