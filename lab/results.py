"""Summaries of runs and of measurements, kept in `lab/results/` as the source of the figures in the documents."""

import datetime
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

import typer
from pydantic import BaseModel, ConfigDict, model_validator
from rich.console import Console
from rich.progress import track

from polyqa.artifacts.card import Figure
from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.base.values import json_data
from polyqa.evaluation.comparison import difference_in
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.runs import PREDICTIONS, Run, open_run, summarize
from polyqa.evaluation.statistics import Difference, Estimate
from polyqa.evaluation.tables import markdown_table

HOME = Path(__file__).resolve().parent / "results"
BASELINE = "rac"
_DIGITS = 4
_NOT_TOLD = ("--json", "--record", "--plot")  # options of where something is kept
Item = TypeVar("Item")

JsonFile = Annotated[Path | None, typer.Option("--json", help="Also store the measurement, for the documents.")]
Program = Annotated[str, typer.Option(help="Name of the program.")]
Programs = Annotated[list[str] | None, typer.Option("--program", help="A program; repeat for more. Default: all.")]
Questions = Annotated[str, typer.Option(help="Questions, as for polyqa evaluate.")]
Seed = Annotated[int, typer.Option(help="Of everything that is drawn.")]


class Part(BaseModel):
    """A part of a stored result."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Table(Part):
    """A table as a document shows it: heads, and rows of as many cells."""

    heads: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        return markdown_table(self.heads, self.rows)


class Measured(Part):
    """A measurement: one or more tables, and how they came about.

    Attributes
    ----------
    about
        On what it was measured, and when.
    command
        Repeats it; ``None`` if it follows from other measurements.
    tables
        By name; the first one is the measurement's main table.
    notes
        A remark below the main table, in Markdown.
    values
        Numbers that the product uses, by name.
    """

    about: str
    command: str | None
    tables: dict[str, Table]
    notes: str = ""
    values: dict[str, float] = {}

    def markdown(self, table: str | None = None) -> str:
        """Return one table, or the main one with the command and what else there is to say."""
        if table is not None:
            return self.tables[table].markdown()
        command = f"```sh\n{self.command}\n```" if self.command else ""
        main = next(iter(self.tables.values())).markdown()
        return "\n\n".join(filter(None, (self.about, command, main, self.notes)))


def report(
    about: str,
    tables: Table | Mapping[str, Table],
    json_file: Path | None,
    *,
    values: Mapping[str, float] | None = None,
) -> None:
    """Print the tables of a measurement, and store it if a file is given, with today's date and this command line."""
    named_tables = {"": tables} if isinstance(tables, Table) else dict(tables)
    typer.echo("\n\n".join(table.markdown() for table in named_tables.values()))
    if json_file is not None:
        about = f"{about}; {today()}."
        measured = Measured(about=about, command=command_line(), tables=named_tables, values=dict(values or {}))
        write_atomically(json_file, measured.model_dump_json(indent=1) + "\n")


def command_line() -> str:
    """Return this process's command, without the folders of this machine and the places where something is kept."""
    module = sys.argv[0].rpartition("/lab/")[2].removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    words, arguments = ["python", "-m", f"lab.{module}"], iter(sys.argv[1:])
    for word in arguments:
        if word in _NOT_TOLD:
            next(arguments)
        else:
            words.append(without_folders(word))
    return shlex.join(words)


def tracked(items: Iterable[Item], description: str) -> Iterable[Item]:
    """Yield items with a progress bar on stderr."""
    return track(list(items), description, console=Console(stderr=True))


def stored_tables(json_file: Path | None) -> dict[str, Table]:
    """Return the tables of a measurement in a file; none if there is no file yet."""
    if json_file is None or not json_file.exists():
        return {}
    return Measured.model_validate_json(json_file.read_bytes()).tables


def merged(tables: Mapping[str, Table], before: Mapping[str, Table]) -> dict[str, Table]:
    """Return tables with the rows of others, by their first cells, that were there before."""
    merged_tables: dict[str, Table] = dict(before)
    for name, table in tables.items():
        rows = {row[0]: row for row in (*(merged_tables[name].rows if name in merged_tables else ()), *table.rows)}
        merged_tables[name] = Table(heads=table.heads, rows=list(rows.values()))
    return merged_tables


def read_measured(name: str) -> Measured:
    """Read the measurement of that name."""
    return Measured.model_validate_json((HOME / f"{name}.json").read_bytes())


class Change(Part):
    """A paired difference to the baseline, see `polyqa.evaluation.statistics.Difference`."""

    difference: float
    low: float | None
    high: float | None
    p: float
    n: int


class Summary(Part):
    """One run: what was run on what, when, and what came out.

    Attributes
    ----------
    command
        Repeats it.
    date
        ISO date of its last answer.
    settings
        Of the run.
    n, failed
        Questions, and how many of them failed.
    dr, change
        DR, and what it differs by from the run of the baseline, where there is one.
    metrics
        The other values, by the names of `polyqa.evaluation.columns.COLUMNS`.
    """

    command: str
    date: str
    settings: RunIdentity
    n: int
    failed: int
    dr: Figure
    change: Change | None
    metrics: dict[str, float]


class Results(Part):
    """Runs over the same questions, scored by the same reader and judge."""

    baseline: str | None
    runs: list[Summary]

    @model_validator(mode="after")
    def _comparable(self) -> Self:
        for field in ("questions", "reader", "judge"):
            values = {getattr(run.settings, field) for run in self.runs}
            if len(values) != 1:
                raise ValueError(f"the runs differ in {field}: {', '.join(sorted(map(str, values)))}")
        return self


def store_runs(folders: Sequence[Path], to: Path) -> Results:
    """Summarize runs in one file, each compared with that of `BASELINE` if it is among them.

    Parameters
    ----------
    folders
        Of finished runs over the same questions, `polyqa.evaluation.runs`.
    to
        The JSON file; an older one is replaced.

    Raises
    ------
    PolyqaError
        If a folder is no finished run of ``polyqa evaluate``, or the runs do not compare.
    """
    runs: list[tuple[Run, RunIdentity]] = []
    for run in map(open_run, folders):
        if run.settings is None or len(run.records) < run.settings.n:
            raise PolyqaError(f"{run.path} is not a finished run of polyqa evaluate.")
        questions = without_folders(run.settings.questions)
        runs.append((run, run.settings.model_copy(update={"questions": questions})))
    against = next((run for run, settings in runs if settings.program == BASELINE), None)
    try:
        results = Results(
            baseline=BASELINE if against else None, runs=[_summary(run, settings, against) for run, settings in runs]
        )
    except ValueError as error:
        raise PolyqaError(f"{to} cannot hold these runs: {error}.") from error
    write_atomically(to, results.model_dump_json(indent=1) + "\n")
    return results


def read_results(name: str) -> Results:
    """Read the results of that name."""
    return Results.model_validate_json((HOME / f"{name}.json").read_bytes())


def today() -> str:
    """Return the ISO date of today, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def without_folders(source: str) -> str:
    """Return where questions came from without the folders of this machine."""
    return Path(source).name if Path(source).is_absolute() else source


def _summary(run: Run, settings: RunIdentity, against: Run | None) -> Summary:
    change = None if against in (None, run) else Change.model_validate(rounded(difference_in(against, run, "dr")))
    figures = summarize(run.records)
    seconds = (run.path / PREDICTIONS).stat().st_mtime
    return Summary(
        command=_command(settings),
        date=datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat(),
        settings=settings,
        n=len(run.records),
        failed=run.failed,
        dr=Figure.model_validate(rounded(figures.pop("dr"))),
        change=change,
        metrics={name: round(figure.value, _DIGITS) for name, figure in figures.items()},
    )


def rounded(value: Estimate | Difference) -> dict[str, Any]:
    """Return a value as JSON data of few digits."""
    return {name: round(item, _DIGITS) if isinstance(item, float) else item for name, item in json_data(value).items()}


def _command(settings: RunIdentity) -> str:
    source, index = settings.questions.split(", ")[0], (settings.index or "homonyms").split(" (")[0]
    source, own_documents, _ = source.partition(" over their own documents")
    words = ["polyqa evaluate", f"--program {settings.program}", f"--questions {source}"]
    words += ["--own-documents"] if own_documents else []
    words += [f"--index {index}"] if index != "homonyms" else []
    words += [f"--lm {settings.lm}"] if settings.lm != "polyqa/extractive" else []
    words += ["--judge none"] if settings.judge is None else []
    return " ".join(words)
