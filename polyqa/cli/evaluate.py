"""`polyqa evaluate`, `polyqa score`, `polyqa compare`, `polyqa table`: figures with their uncertainty."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyqa.evaluation.runs import Run

_Questions = Annotated[
    str,
    typer.Option(help="homonyms/dev, a .json or .jsonl file, or the hub name of a data set."),
]
_Format = Annotated[
    str | None, typer.Option(help="asqa, ambignq, situatedqa, nq-open or multi-answer; found out if not given.")
]
_Split = Annotated[str | None, typer.Option(help="Split of the data set.")]
_Limit = Annotated[int | None, typer.Option(min=1, help="A random sample of so many questions.")]
_Seed = Annotated[int, typer.Option(help="Seed of the sample.")]
_Reader = Annotated[
    str, typer.Option(help="Reader of Disambig-F1: embedded, a path, or a hub name (deepset/roberta-large-squad2).")
]
_Judge = Annotated[str, typer.Option(help="Judge of the grounded metrics: embedded, none, or a language model.")]
_JudgeApiBase = Annotated[str | None, typer.Option(help="Address of the judge's server.")]
_Alce = Annotated[bool, typer.Option("--alce", help="Score as ALCE does: first line only, citations stripped.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def evaluate_command(
    program: Annotated[
        str, typer.Option(help="A program (`polyqa programs` lists them), or a compiled one's name or folder.")
    ] = "auto",
    questions: _Questions = "homonyms/dev",
    index: Annotated[
        str | None, typer.Option(help="Name or path of the index; by default homonyms, or a compiled program's own.")
    ] = None,
    lm: Annotated[str, typer.Option(help="Language model, as for polyqa ask.")] = "polyqa/extractive",
    api_base: Annotated[str | None, typer.Option(help="Address of the language model's server.")] = None,
    demos: Annotated[Path | None, typer.Option(help="JSON file of a saved program.")] = None,
    reranker: Annotated[
        str | None, typer.Option(help="reader, or a cross-encoder, in place of the bi-encoder alone.")
    ] = None,
    passages: Annotated[
        int | None, typer.Option("-k", min=1, max=50, help="Passages shown (5), where a program has that setting.")
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the program: NAME=VALUE, such as depth=2.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run; by default made of program and questions.")] = None,
    runs: Annotated[Path, typer.Option(help="Folder of all runs.")] = Path("runs"),
    format: _Format = None,
    split: _Split = None,
    limit: _Limit = None,
    seed: _Seed = 0,
    reader: _Reader = "embedded",
    judge: _Judge = "embedded",
    judge_api_base: _JudgeApiBase = None,
    alce: _Alce = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Questions at once: 8, embedded engine 2.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask failed questions again.")] = False,
    as_json: _Json = False,
) -> None:
    """Run a program over questions and score it.

    Every question is written to runs/NAME/predictions.jsonl as it ends; the same command goes on where
    a run was stopped.
    """
    from polyqa.evaluation.progress import Bar

    from ..evaluating import evaluate, make_scorer
    from .settings import program_settings

    settings = program_settings(program, passages, sets or [])
    run = evaluate(
        program,
        questions,
        index=index,
        lm=lm,
        api_base=api_base,
        demos=demos,
        name=name,
        runs=runs,
        format=format,
        split=split,
        limit=limit,
        seed=seed,
        scorer=make_scorer(reader, _judge(judge), alce=alce, api_base=judge_api_base),
        threads=threads,
        retry_failed=retry_failed,
        progress=Bar,
        reranker=reranker,
        **settings,
    )
    _show([run], as_json)
    typer.echo(f"{run.path}: {len(run.records)} questions, {run.failed} failed", err=True)


def score_command(
    outputs: Annotated[Path, typer.Argument(help="JSON or JSON lines of answers by question id.")],
    questions: _Questions = "homonyms/dev",
    format: _Format = None,
    split: _Split = None,
    reader: _Reader = "embedded",
    judge: _Judge = "embedded",
    judge_api_base: _JudgeApiBase = None,
    alce: _Alce = False,
    out: Annotated[
        Path | None, typer.Option(help="Keep the scores as a run in this folder, for compare and table.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Score the answers of any system.

    Takes {"id": …, "answer": …} a line (with interpretations and passages if there are any), or a JSON
    object from id to answer. A question without an answer counts as an empty one.
    """
    from polyqa.evaluation.loading import load_questions
    from polyqa.evaluation.outputs import read_outputs, score_outputs
    from polyqa.evaluation.runs import PREDICTIONS, Run, line_of, write_atomically, write_summary
    from polyqa.signatures import PolyqaError

    from ..evaluating import make_scorer

    if out is not None and (out / PREDICTIONS).exists():
        raise PolyqaError(f"{out} holds a run already; choose another folder.")
    found = read_outputs(outputs)
    asked = load_questions(questions, format=format, split=split)
    scorer = make_scorer(reader, _judge(judge), alce=alce, api_base=judge_api_base)
    records = score_outputs(found, asked, scorer)
    path = out or outputs.with_suffix("")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(out / PREDICTIONS, "".join(map(line_of, records)))
        write_summary(out, None, records)
    run = Run(path, None, records)
    _show([run], as_json)
    typer.echo(f"{run.name}: {len(run.records)} questions, {run.failed} failed", err=True)


def compare_command(
    a: Annotated[Path, typer.Argument(help="Folder of a run.")],
    b: Annotated[Path, typer.Argument(help="Folder of the run to hold against it.")],
    metric: Annotated[str | None, typer.Option(help="Metric to break down; by default DR, or F1 answer.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of resampling and permutation.")] = 0,
    as_json: _Json = False,
) -> None:
    """Compare two runs question by question: differences with intervals, p-values, wins and losses."""
    import json

    from polyqa.evaluation.comparison import compare_runs
    from polyqa.evaluation.runs import open_run
    from polyqa.evaluation.tables import comparison_tables

    comparison = compare_runs(open_run(a), open_run(b), headline=metric, seed=seed)
    data = comparison.to_dict()
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False) if as_json else comparison_tables(comparison))


def table_command(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    columns: Annotated[str | None, typer.Option(help="Names of metrics, with commas between.")] = None,
    published: Annotated[bool, typer.Option("--published", help="Add the figures of the papers on ASQA.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the table to a Markdown file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a metric to a .png, .svg or .pdf file.")] = None,
    metric: Annotated[str, typer.Option(help="The metric to draw.")] = "dr",
    as_json: _Json = False,
) -> None:
    """Put runs side by side, with the published figures if wanted."""
    from polyqa.evaluation.columns import COLUMNS
    from polyqa.evaluation.published import ASQA
    from polyqa.evaluation.runs import open_run, write_atomically
    from polyqa.evaluation.tables import DEFAULT, SHORT_FORM, runs_table
    from polyqa.signatures import PolyqaError

    wanted = [one.strip() for one in columns.split(",")] if columns else (*DEFAULT, *SHORT_FORM)
    unknown = [one for one in wanted if one not in COLUMNS]
    if unknown:
        raise PolyqaError(f"There is no metric {unknown[0]!r}; there are {', '.join(COLUMNS)}.")
    opened = [open_run(path) for path in runs]
    beside = ASQA if published else ()
    if plot is not None:
        from polyqa.evaluation.plots import plot_runs

        plot_runs(opened, plot, metric=metric, published=beside)
    if as_json:
        _show(opened, True)
        return
    text = runs_table(opened, wanted, beside)
    if out is None:
        typer.echo(text)
    else:
        write_atomically(out, text)


def _judge(name: str) -> str | None:
    return None if name == "none" else name


def _show(runs: "Sequence[Run]", as_json: bool) -> None:
    import json

    from polyqa.evaluation.runs import summarize

    if as_json:
        data = [
            {
                "name": run.name,
                "questions": len(run.records),
                "failed": run.failed,
                "settings": run.settings.model_dump() if run.settings else None,
                "metrics": {name: value.to_dict() for name, value in summarize(run.records).items()},
            }
            for run in runs
        ]
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    from math import isnan

    from rich.console import Console
    from rich.table import Table

    from polyqa.evaluation.columns import COLUMNS

    for run in runs:
        table = Table(box=None, padding=(0, 2, 0, 0), title=run.name, title_justify="left")
        for head, justify in (("metric", "left"), ("value", "right"), ("95% interval", "right"), ("n", "right")):
            table.add_column(head, justify=justify)  # type: ignore[arg-type]
        for name, value in summarize(run.records).items():
            table.add_row(
                COLUMNS[name].label,
                f"{value.value:,.2f}",
                "–" if isnan(value.low) else f"[dim]{value.low:,.2f} – {value.high:,.2f}[/]",
                str(value.n),
            )
        Console().print(table)
