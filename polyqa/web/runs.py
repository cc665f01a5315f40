"""`/runs`, `/compare`, `/questions`, `/reports`: stored evaluations and reports of compilations, to look at."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from polyqa.artifacts.store import CARD, REPORT, artifact_names, find_artifact, read_artifact
from polyqa.base.errors import PolyqaError
from polyqa.compilation_report import read_report
from polyqa.evaluation.columns import COLUMNS
from polyqa.evaluation.comparison import HEADLINE
from polyqa.evaluation.records import Record, column_scores

from .errors import Kind, WebError
from .run_folder import Kept, RunFolder

_SHOWN = (*HEADLINE, "rouge_l", "length")
_REPORT_CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
Name = Annotated[str, Query(max_length=300)]


def runs_router(folder: Path) -> APIRouter:
    """Return the routes over the runs below a folder, and over compiled programs there and the shipped ones.

    Raises
    ------
    PolyqaError
        If there is no such folder.
    """
    router = APIRouter(tags=["runs"])
    runs = RunFolder(folder)

    @router.get("/runs")
    def listed() -> dict[str, Any]:
        """List the runs, with their main scores; one that cannot be read says why."""
        return {"runs": [_listed(runs, name) for name in runs], "measures": _measures()}

    @router.get("/run")
    def one(
        name: Name,
        offset: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        find: Annotated[str, Query(max_length=300)] = "",
        sort: Annotated[str, Query(max_length=50, description="A measure; the lowest first.")] = "",
    ) -> dict[str, Any]:
        """Show a run: its settings, its scores, and its questions, some at a time."""
        kept = runs.run(name)
        records = [record for record in kept.run.records if find.lower() in record.question.lower()]
        values = _values(records, sort) if sort else None
        if values is not None:
            records = [records[at] for at in np.argsort(values, kind="stable")]
        shown = [_question(record, sort or _headline(kept)) for record in records[offset : offset + limit]]
        return {**kept.run.to_dict(), "total": len(records), "questions": shown, "headline": sort or _headline(kept)}

    @router.get("/compare")
    def compared(a: Name, b: Name, measure: Annotated[str | None, Query(max_length=50)] = None) -> dict[str, Any]:
        """Compare run `b` with run `a`, question by question; those that differ most come first."""
        made = runs.compared(a, b, measure)
        return {
            **made.to_dict(),
            "labels": {name: COLUMNS[name].label for name in made.metrics},
            "higher_is_better": COLUMNS[made.headline].higher_is_better,
            "questions": _differences(runs.run(a), runs.run(b), made.headline),
        }

    @router.get("/questions")
    def question(id: Name, run: Annotated[list[str], Query(max_length=300)]) -> dict[str, Any]:
        """Show one question in several runs."""
        found = [(name, _record(runs.run(name), name, id)) for name in run[:8]]
        shown = [
            {"run": name, **record.model_dump(mode="json", exclude={"universe", "extra"})} for name, record in found
        ]
        return {"id": id, "question": found[0][1].question, "runs": shown}

    @router.get("/reports")
    def reports() -> dict[str, Any]:
        """List the compiled programs that have a report."""
        return {"reports": sorted(_reports(folder))}

    @router.get("/report", response_class=HTMLResponse)
    def report(name: Name) -> HTMLResponse:
        """Show the report of a compilation: a page of its own, which runs nothing."""
        path = _reports(folder).get(name)
        if path is None:
            raise WebError(Kind.UNKNOWN, f"There is no report of {name!r:.80}.")
        try:
            text = read_report(read_artifact(path))
        except PolyqaError as error:
            raise WebError(Kind.BAD_REQUEST, str(error).replace(str(path), name)) from None
        return HTMLResponse(text, headers={"content-security-policy": _REPORT_CSP})

    return router


def _measures() -> dict[str, str]:
    return {name: COLUMNS[name].label for name in _SHOWN}


def _listed(runs: RunFolder, name: str) -> dict[str, Any]:
    try:
        kept = runs.run(name)
    except WebError as error:
        return {"name": name, "fault": error.message}
    settings = kept.run.settings
    return {
        "name": name,
        "program": settings.program if settings else None,
        "lm": settings.lm if settings else None,
        "index": settings.index if settings else None,
        "source": settings.questions if settings else None,
        "answered": len(kept.run.records),
        "of": settings.n if settings else len(kept.run.records),
        "failed": kept.run.failed,
        "scores": {key: kept.values[key].to_dict() for key in _SHOWN if key in kept.values},
    }


def _headline(kept: Kept) -> str:
    return next((name for name in HEADLINE if name in kept.values), next(iter(kept.values)))


def _values(records: Iterable[Record], measure: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a measure of each question alone.

    Raises
    ------
    WebError
        If there is no such measure.
    """
    if measure not in COLUMNS:
        raise WebError(Kind.UNKNOWN, f"There is no measure {measure!r:.50}; there are {', '.join(COLUMNS)}.")
    column = COLUMNS[measure]
    scores = column_scores(list(records), column.scores)
    return np.array([float(column.value(*(one[at : at + 1] for one in scores))) for at in range(len(scores[0]))])


def _question(record: Record, measure: str) -> dict[str, Any]:
    return {
        "id": record.id,
        "question": record.question,
        "readings": [len(record.interpretations), record.gold_readings],
        "value": _number(_values([record], measure)[0]),
        "error": record.error.message if record.error else None,
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 2)


def _differences(a: Kept, b: Kept, measure: str) -> list[Mapping[str, Any]]:
    other = {record.id: record for record in b.run.records}
    pairs = [(record, other[record.id]) for record in a.run.records if record.id in other]
    left, right = (_values([pair[side] for pair in pairs], measure) for side in (0, 1))
    rows = [
        {"id": one.id, "question": one.question, "a": _number(x), "b": _number(y)}
        for (one, _), x, y in zip(pairs, left, right, strict=True)
    ]
    apart = np.nan_to_num(right - left)
    return [rows[at] for at in np.argsort(-np.abs(apart), kind="stable") if apart[at] != 0]


def _record(kept: Kept, name: str, id: str) -> Record:
    for record in kept.run.records:
        if record.id == id:
            return record
    raise WebError(Kind.UNKNOWN, f"The run {name!r:.80} has no question {id!r:.80}.")


def _reports(folder: Path) -> dict[str, Path]:
    """Return the compiled programs with a report by name: those in the folder, and the shipped ones."""
    shipped = [(name, find_artifact(name)) for name in artifact_names()]
    own = [(path.parent.name, path.parent) for path in folder.glob(f"*/{CARD}") if not path.parent.is_symlink()]
    return {name: path for name, path in (*shipped, *own) if path is not None and (path / REPORT).is_file()}
