"""`polyqa evaluate`, `polyqa compare`, `polyqa table`: figures with their uncertainty."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyqa.base.errors import PolyqaError
from polyqa.base.text import counted

from . import options
from .display import at_work, show_json, show_markdown
from .errors import end_with_failures
from .terminal import say

if TYPE_CHECKING:
    from polyqa.evaluation.runs import Run
    from polyqa.language_models import Models
    from polyqa.question_sets import Questions

_NOT_WITH_RECHECK = (
    "answers", "passages", "sets", "format", "split", "limit", "seed", "own_documents", "where", "judge", "alce",
    "engine", "workers", "address",
)  # fmt: skip

_NOT_WITH_ANSWERS = (
    "program", "index", "where", "passages", "sets", "own_documents", "lm", "api_base", "helper_lm", "temperature",
    "max_tokens", "lm_set", "threads", "mlflow", "engine", "workers", "address",
)  # fmt: skip


@options.takes_language_models("prompt_lm")
def evaluate_command(
    context: typer.Context,
    answers: Annotated[
        Path | None,
        typer.Argument(
            help="Answers of another system to score, by question id (.jsonl, .json, .csv, …): nothing is run."
        ),
    ] = None,
    program: options.Program = None,
    questions: options.MaybeAsked = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Size of a random sample of the questions.")
    ] = None,
    index: options.Index = None,
    where: options.Where = None,
    models: options.LanguageModels = options.EMBEDDED,
    passages: options.Passages = None,
    sets: options.Settings = None,
    judge: options.Judge = "embedded",
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the run; by default program and questions. Without it, scores of answer files are not kept."
        ),
    ] = None,
    recheck: Annotated[
        bool,
        typer.Option(
            "--recheck",
            help="Score a compiled program again on the questions of its card, and say whether its figures still hold.",
        ),
    ] = False,
    as_json: options.Json = False,
    runs: Annotated[Path, options.more(metavar="FOLDER", help="Folder of all runs.")] = Path("runs"),
    format: options.Format = None,
    split: options.Split = None,
    seed: Annotated[int, options.more(metavar="N", help="Seed of the sample.")] = 0,
    own_documents: Annotated[
        bool,
        options.more(
            "--own-documents",
            help="Answer each question from the documents that come with it (RAMDocs), without a search.",
        ),
    ] = False,
    reader: options.Reader = "embedded",
    alce: options.Alce = False,
    threads: options.Threads = None,
    mlflow: options.Mlflow = None,
    engine: options.Engine = "local",
    workers: options.Workers = 2,
    address: options.Address = None,
) -> None:
    """Run a program over questions and score it, or score the answers of another system.

    The run is kept in runs/NAME. Run the same command again to resume a stopped run and to repeat failed questions.
    Exit code 3 if some questions failed, 2 if all did.

    A file of answers has a line {"id": …, "answer": …} per question, with interpretations and passages if there are
    any; or it is one JSON object from id to answer. A missing answer counts as an empty one.
    """
    from polyqa.evaluating import evaluate, run_name
    from polyqa.loading import default_program
    from polyqa.question_sets import Questions

    if name is not None and (Path(name).name != name or name == ".."):
        raise PolyqaError(f"--name {name!r} is no name of a folder: --runs says where runs are kept.")
    folder = runs / name if name else None
    if recheck:
        if program is None:
            raise PolyqaError("--recheck scores a compiled program again: name it with --program.")
        if excluded := options.given(context, *_NOT_WITH_RECHECK, *(() if name else ("runs",))):
            raise PolyqaError(f"--recheck runs {program} as its card says: leave out {', '.join(excluded)}.")
        from polyqa.rechecking import recheck as scored_again

        scorer = models.models(reader=reader)
        with at_work(mlflow):
            rechecked = scored_again(program, questions, models=scorer, index=index, folder=folder, threads=threads)
        if as_json:
            show_json(rechecked.to_dict())
        else:
            say(rechecked.verdict)
        _end(rechecked.run)
        return
    source = questions or "homonyms/dev"
    question_set = Questions(source, format=format, split=split, limit=limit, seed=seed, own_documents=own_documents)
    scoring: dict[str, Any] = {"reader": reader, "judge": None if judge == "none" else judge}
    if answers is not None:
        if excluded := options.given(context, *_NOT_WITH_ANSWERS):
            raise PolyqaError(f"A file of answers is scored, and nothing is run: leave out {', '.join(excluded)}.")
        run = _scored(answers, question_set, folder, models.models(**scoring), alce=alce)
        _show(run, as_json)
        say(f"{run.path if name else run.name}: {run}", err=True)
        return
    options.check_questions(context, program, index, "questions")
    program = program or default_program(models.lm)
    settings = options.program_settings(program, passages, sets)
    if folder is None:
        folder = runs / run_name(program, question_set, models.lm, settings.get("demos"), helper_lm=models.helper_lm)
    say(str(question_set.loaded), err=True)
    with at_work(mlflow):
        run = evaluate(
            program,
            question_set,
            models=models.models(**scoring),
            folder=folder,
            threads=threads,
            alce=alce,
            ray=options.cluster(context, engine, workers, address),
            index=index,
            where=where,
            **settings,
        )
    _show(run, as_json)
    _end(run)


def _end(run: "Run") -> None:
    say(f"{run.path}: {run}", err=True)
    end_with_failures(run)


def _scored(answers: Path, questions: "Questions", folder: Path | None, models: "Models", *, alce: bool) -> "Run":
    """Return the scores of a file of answers, kept as a run if a folder is given."""
    from polyqa.base.files import require_no_links, write_atomically
    from polyqa.evaluating import make_scorer
    from polyqa.evaluation.outputs import read_outputs, score_outputs
    from polyqa.evaluation.runs import PREDICTIONS, Run, line_of, write_summary

    if folder is not None and (folder / PREDICTIONS).exists():
        raise PolyqaError(f"{folder} holds a run already; choose another --name.")
    outputs = read_outputs(answers)
    loaded = questions.loaded
    assert loaded is not None  # questions of a name or a file
    say(str(loaded), err=True)
    asked_ids = {question.id for question in questions.asked}
    unasked = loaded.left_out | ({question.id for question in loaded.questions} - asked_ids)
    outputs = {id: output for id, output in outputs.items() if id not in unasked}
    records = score_outputs(outputs, questions.asked, make_scorer(models, alce=alce))
    run = Run(folder or answers.with_suffix(""), None, records)
    if folder is not None:
        require_no_links(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / PREDICTIONS, "".join(map(line_of, records)))
        write_summary(run)
    return run


def compare_command(
    a: Annotated[Path, typer.Argument(help="Folder of a run.")],
    b: Annotated[Path, typer.Argument(help="Folder of the run to compare it with.")],
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Metric to show for each kind of question; by default dr, or f1_answer."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show metrics that are equal, too.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the questions won, drawn and lost to a .png, .svg or .pdf file."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compare two runs question by question: which is better, by how much, and whether that is more than chance.

    Every difference has a 95% interval, a p-value, and the numbers of questions won, tied and lost.
    """
    from polyqa.evaluation.comparison import compare_runs
    from polyqa.evaluation.runs import open_run
    from polyqa.evaluation.tables import comparison_tables

    runs = open_run(a), open_run(b)
    comparison = compare_runs(*runs, headline=metric)
    if plot is not None:
        from polyqa.reports.plots import plot_changes

        plot_changes(*runs, plot, metric=comparison.headline)
    if as_json:
        show_json(comparison.to_dict())
    else:
        show_markdown(comparison_tables(comparison, everything=everything))


def table_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    columns: Annotated[str | None, typer.Option(metavar="NAMES", help="Names of metrics, separated by commas.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw the headline metric, or the first of --columns, to a .png, .svg or .pdf file."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show runs side by side: a table for each set of questions."""
    from polyqa.evaluation.columns import COLUMNS
    from polyqa.evaluation.runs import PREDICTIONS, open_run
    from polyqa.evaluation.tables import DEFAULT, runs_table

    metrics = [name.strip() for name in columns.split(",")] if columns else DEFAULT
    unknown = [name for name in metrics if name not in COLUMNS]
    if unknown:
        raise PolyqaError(f"There is no metric {unknown[0]!r}; there are {', '.join(COLUMNS)}.")
    # A pattern such as runs/* names files and other folders, too.
    folders = [path for path in runs if (path / PREDICTIONS).exists()]
    opened = [open_run(path) for path in folders or runs[:1]]
    if paths_without_run := [str(path) for path in runs if path not in folders]:
        count = counted(len(paths_without_run), "path")
        say(f"{count} left out, as no run is there: {', '.join(paths_without_run):.200}", err=True)
    if plot is not None:
        from polyqa.reports.plots import plot_runs

        plot_runs(opened, plot, metric=metrics[0] if columns else None)
    if as_json:
        show_json([run.to_dict() for run in opened])
    else:
        show_markdown(runs_table(opened, metrics))


def _show(run: "Run", as_json: bool) -> None:
    if as_json:
        show_json([run.to_dict()])
    else:
        show_markdown(run.to_markdown())
