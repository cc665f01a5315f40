"""`polyqa evaluate`, `polyqa score`, `polyqa compare`, `polyqa table`: figures with their uncertainty."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import completion, options
from .errors import end_with_failures
from .terminal import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyqa.evaluation.loading import Loaded
    from polyqa.evaluation.runs import Run
    from polyqa.language_models import Models


@options.takes_language_models("prompt_lm")
def evaluate_command(
    program: options.Program = None,
    questions: options.MaybeAsked = None,
    index: options.Index = None,
    where: options.Where = None,
    models: options.LanguageModels = options.EMBEDDED,
    demos: options.Demos = None,
    reranker: options.Reranker = None,
    passages: options.Passages = None,
    sets: options.Settings = None,
    preset: options.Preset = None,
    name: Annotated[str | None, typer.Option(help="Name of the run; by default program and questions.")] = None,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = Path("runs"),
    format: options.Format = None,
    split: options.Split = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Size of a random sample of the questions.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    own_documents: Annotated[
        bool,
        typer.Option(
            "--own-documents", help="Answer each question from the documents that come with it (RAMDocs), not a search."
        ),
    ] = False,
    reader: options.Reader = "embedded",
    judge: options.Judge = "embedded",
    threads: options.Threads = None,
    engine: options.Engine = "local",
    workers: options.Workers = 2,
    address: options.Address = None,
    keep_failed: Annotated[
        bool, typer.Option("--keep-failed", help="Do not ask questions again that failed in an earlier run.")
    ] = False,
    recheck: Annotated[
        bool,
        typer.Option(
            "--recheck",
            help="Score a compiled program again on the questions of its card, and say whether its figures still hold.",
        ),
    ] = False,
    mlflow: options.Mlflow = None,
    as_json: options.Json = False,
) -> None:
    """Run a program over questions and score it.

    The run is kept in runs/NAME. Run the same command again to resume a stopped run and to repeat failed questions.
    Exit code 3 if some questions failed, 2 if all did.
    """
    if recheck:
        others = {
            "--demos": demos,
            "--reranker": reranker,
            "--passages": passages,
            "--set": sets,
            "--preset": preset,
            "--format": format,
            "--split": split,
            "--limit": limit,
            "--own-documents": own_documents,
            "--engine": engine != "local",
            "--keep-failed": keep_failed,
        }
        _refuse(program, [option for option, value in others.items() if value])
        folder = runs / name if name else None
        _recheck(str(program), questions, models.models(reader=reader), index, folder, threads, mlflow, as_json)
        return
    questions = questions or "homonyms/dev"
    from polyqa.evaluating import evaluate, run_name
    from polyqa.evaluation.progress import showing
    from polyqa.loading import default_program
    from polyqa.question_sets import Questions
    from polyqa.tracing import traced

    from .bars import Bars

    program = program or default_program(models.lm)
    settings = options.program_settings(program, passages, sets, preset)
    asked = Questions(questions, format=format, split=split, limit=limit, seed=seed, own_documents=own_documents)
    _tell(asked.loaded)
    with showing(Bars()), traced(mlflow):
        run = evaluate(
            program,
            asked,
            models=models.models(reader=reader, judge=None if judge == "none" else judge),
            folder=runs / (name or run_name(program, asked, models.lm, demos, helper_lm=models.helper_lm)),
            threads=threads,
            retry_failed=not keep_failed,
            ray=options.cluster(engine, workers, address),
            index=index,
            where=where,
            demos=demos,
            reranker=reranker,
            **settings,
        )
    _show([run], as_json)
    say(f"{run.path}: {run}", err=True)
    end_with_failures(run)


def _refuse(program: str | None, others: "Sequence[str]") -> None:
    """Refuse what does not go with --recheck."""
    from polyqa.base.errors import PolyqaError

    if program is None:
        raise PolyqaError("--recheck scores a compiled program again: name it with --program.")
    if others:
        raise PolyqaError(f"--recheck runs {program} as its card says: leave out {', '.join(others)}.")


def _recheck(
    program: str,
    questions: str | None,
    models: "Models",
    index: str | None,
    folder: Path | None,
    threads: int | None,
    mlflow: str | None,
    as_json: bool,
) -> None:
    from polyqa.evaluation.progress import showing
    from polyqa.rechecking import recheck
    from polyqa.tracing import traced

    from .bars import Bars
    from .display import show_json

    with showing(Bars()), traced(mlflow):
        found = recheck(program, questions, models=models, index=index, folder=folder, threads=threads)
    if as_json:
        show_json(found.to_dict())
    else:
        say(found.verdict)
    say(f"{found.run.path}: {found.run}", err=True)
    end_with_failures(found.run)


def score_command(
    outputs: Annotated[Path, typer.Argument(help="JSON or JSON lines of answers by question id.")],
    questions: options.Asked = "homonyms/dev",
    format: options.Format = None,
    split: options.Split = None,
    reader: options.Reader = "embedded",
    judge: options.Judge = "embedded",
    alce: options.Alce = False,
    out: Annotated[
        Path | None, typer.Option(help="Also store the scores as a run in this folder, for compare and table.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Score the answers of any system.

    The file has a line {"id": …, "answer": …} per question, with interpretations and passages if there are any; or it
    is one JSON object from id to answer. A missing answer counts as an empty one.
    """
    from polyqa.base.errors import PolyqaError
    from polyqa.base.files import require_no_links, write_atomically
    from polyqa.evaluating import make_scorer
    from polyqa.evaluation.loading import read_questions
    from polyqa.evaluation.outputs import read_outputs, score_outputs
    from polyqa.evaluation.runs import PREDICTIONS, Run, line_of, write_summary

    if out is not None and (out / PREDICTIONS).exists():
        raise PolyqaError(f"{out} holds a run already; choose another folder.")
    found = read_outputs(outputs)
    loaded = read_questions(questions, format=format, split=split)
    _tell(loaded)
    found = {id: output for id, output in found.items() if id not in loaded.left_out}
    scorer = make_scorer(reader, None if judge == "none" else judge, alce=alce)
    records = score_outputs(found, loaded.questions, scorer)
    path = out or outputs.with_suffix("")
    if out is not None:
        require_no_links(out)
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(out / PREDICTIONS, "".join(map(line_of, records)))
        write_summary(out, None, records)
    run = Run(path, None, records)
    _show([run], as_json)
    say(f"{run.name}: {run}", err=True)


def compare_command(
    a: Annotated[Path, typer.Argument(help="Folder of a run.")],
    b: Annotated[Path, typer.Argument(help="Folder of the run to compare it with.")],
    metric: Annotated[
        str | None,
        typer.Option(
            help="Metric to show by kind of question; by default DR, or F1 answer.", autocompletion=completion.metrics
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the questions won, drawn and lost to a .png, .svg or .pdf file.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compare two runs question by question: differences with intervals, p-values, wins and losses."""
    from polyqa.evaluation.comparison import compare_runs
    from polyqa.evaluation.runs import open_run
    from polyqa.evaluation.tables import comparison_tables

    from .display import show_json, show_markdown

    runs = open_run(a), open_run(b)
    comparison = compare_runs(*runs, headline=metric)
    if plot is not None:
        from polyqa.reports.plots import plot_changes

        plot_changes(*runs, plot, metric=comparison.headline)
    if as_json:
        show_json(comparison.to_dict())
    else:
        show_markdown(comparison_tables(comparison))


def table_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    columns: Annotated[str | None, typer.Option(help="Names of metrics, separated by commas.")] = None,
    published: Annotated[bool, typer.Option("--published", help="Add the figures of the papers on ASQA.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the table to this Markdown file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw DR, or the first of --columns, to a .png, .svg or .pdf file.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Put runs side by side."""
    from polyqa.base.errors import PolyqaError
    from polyqa.base.files import write_atomically
    from polyqa.evaluation.columns import COLUMNS
    from polyqa.evaluation.published import ASQA
    from polyqa.evaluation.runs import open_run
    from polyqa.evaluation.tables import DEFAULT, SHORT_FORM, runs_table

    wanted = [name.strip() for name in columns.split(",")] if columns else (*DEFAULT, *SHORT_FORM)
    unknown = [name for name in wanted if name not in COLUMNS]
    if unknown:
        raise PolyqaError(f"There is no metric {unknown[0]!r}; there are {', '.join(COLUMNS)}.")
    opened = [open_run(path) for path in runs]
    beside = ASQA if published else ()
    if plot is not None:
        from polyqa.reports.plots import plot_runs

        plot_runs(opened, plot, metric=wanted[0] if columns else "dr", published=beside)
    if as_json:
        _show(opened, True)
        return
    text = runs_table(opened, wanted, beside)
    if out is None:
        from .display import show_markdown

        show_markdown(text)
    else:
        write_atomically(out, text)


def _tell(loaded: "Loaded | None") -> None:
    """Say how the questions of a data set were read."""
    if loaded is not None:
        say(str(loaded), err=True)


def _show(runs: "Sequence[Run]", as_json: bool) -> None:
    from math import isnan

    from polyqa.evaluation.columns import COLUMNS
    from polyqa.evaluation.runs import summarize

    from .display import console, show_json, table

    if as_json:
        show_json(
            [
                {
                    "name": run.name,
                    "questions": len(run.records),
                    "failed": run.failed,
                    "settings": run.settings.model_dump() if run.settings else None,
                    "metrics": {name: value.to_dict() for name, value in summarize(run.records).items()},
                }
                for run in runs
            ]
        )
        return
    for run in runs:
        rows = [
            (
                COLUMNS[name].label,
                f"{value.value:,.2f}",
                "–" if isnan(value.low) else f"[dim]{value.low:,.2f} – {value.high:,.2f}[/]",
                str(value.n),
            )
            for name, value in summarize(run.records).items()
        ]
        columns = ("metric", "value", "95% interval", "n")
        console().print(table(*columns, right=columns[1:], rows=rows, title=run.name))
