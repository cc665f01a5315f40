"""Summaries of runs, kept in `lab/results/` as the source of the figures in the documents."""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from polyqa.artifacts.card import Figure
from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.evaluation.comparison import compare_runs
from polyqa.evaluation.identity import RunIdentity
from polyqa.evaluation.runs import PREDICTIONS, Run, open_run, summarize
from polyqa.evaluation.statistics import Difference, Estimate

HOME = Path(__file__).resolve().parent / "results"
BASELINE = "rac"
_DIGITS = 4


class Part(BaseModel):
    """What is stored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def keep(measured: BaseModel, json_file: Path | None) -> None:
    """Write what was measured to a file, if one is given."""
    if json_file is not None:
        write_atomically(json_file, measured.model_dump_json(indent=1) + "\n")


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
    metrics
        By the names of `polyqa.evaluation.columns.COLUMNS`.
    changes
        The same against the run of the baseline, where there is one.
    """

    command: str
    date: str
    settings: RunIdentity
    n: int
    failed: int
    metrics: dict[str, Figure]
    changes: dict[str, Change] = {}


class Results(Part):
    """Runs over the same questions, scored by the same reader and judge."""

    baseline: str | None
    runs: list[Summary]

    @model_validator(mode="after")
    def _comparable(self) -> Self:
        for field in ("questions", "reader", "judge"):
            found = {getattr(run.settings, field) for run in self.runs}
            if len(found) != 1:
                raise ValueError(f"the runs differ in {field}: {', '.join(sorted(map(str, found)))}")
        return self


def store_runs(folders: Sequence[Path], to: Path, *, baseline: str = BASELINE) -> Results:
    """Summarize runs in one file.

    Parameters
    ----------
    folders
        Of finished runs over the same questions, `polyqa.evaluation.runs`.
    to
        The JSON file; an older one is replaced.
    baseline
        The program whose run the others are compared with, if it is among them.

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
    against = next((run for run, settings in runs if settings.program == baseline), None)
    try:
        results = Results(
            baseline=baseline if against else None, runs=[_summary(run, settings, against) for run, settings in runs]
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
    changes: dict[str, Change] = {}
    if against is not None and against is not run:
        found = compare_runs(against, run).metrics
        changes = {name: Change.model_validate(rounded(one)) for name, one in found.items()}
    seconds = (run.path / PREDICTIONS).stat().st_mtime
    return Summary(
        command=_command(settings),
        date=datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat(),
        settings=settings,
        n=len(run.records),
        failed=run.failed,
        metrics={name: Figure.model_validate(rounded(one)) for name, one in summarize(run.records).items()},
        changes=changes,
    )


def rounded(value: Estimate | Difference) -> dict[str, Any]:
    """Return a value as JSON data of few digits."""
    return {name: round(one, _DIGITS) if isinstance(one, float) else one for name, one in value.to_dict().items()}


def _command(settings: RunIdentity) -> str:
    source, index = settings.questions.split(", ")[0], (settings.index or "homonyms").split(" (")[0]
    words = ["polyqa evaluate", f"--program {settings.program}", f"--questions {source}"]
    words += [f"--index {index}"] if index != "homonyms" else []
    words += [f"--lm {settings.lm}"] if settings.lm != "polyqa/extractive" else []
    words += ["--judge none"] if settings.judge is None else []
    return " ".join(words)
