"""The folder of a run: what was run on what, a line per question, a summary.

runs/<name>/run.json            the `RunIdentity`; a run goes on only with the same
runs/<name>/predictions.jsonl   one `records.Record` a line
runs/<name>/summary.json        the corpus values, when all questions are done
runs/<name>/.ledger.sqlite      results while the run goes on, see `polyqa.base.ledger`
"""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_atomically
from polyqa.base.html import shortened
from polyqa.base.ledger import json_line, read_lines
from polyqa.base.text import counted
from polyqa.base.values import json_data
from polyqa.evaluation.statistics import Estimate, estimate

from .columns import COLUMNS
from .identity import RunIdentity
from .records import Record, column_scores

PREDICTIONS, SETTINGS, SUMMARY, LEDGER = "predictions.jsonl", "run.json", "summary.json", ".ledger.sqlite"


@dataclass(frozen=True)
class Run:
    """A run as it was read."""

    path: Path
    settings: RunIdentity | None
    records: Sequence[Record]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.absolute().name

    @property
    def failed(self) -> int:
        """How many questions failed."""
        return sum(record.error is not None for record in self.records)

    @property
    def with_faults(self) -> int:
        """How many questions were answered although some reply could not be had, see `polyqa.lm.attempts`."""
        return sum(bool(record.extra.get("faults")) for record in self.records)

    def summarized(self) -> dict[str, Estimate]:
        """Return every corpus value that the records allow, with its interval; see `summarize`."""
        return summarize(self.records)

    def __repr__(self) -> str:
        origin = ""
        if self.settings:
            origin = f"program={shortened(self.settings.program, 60)!r}, lm={shortened(self.settings.lm, 60)!r}, "
        return f"Run({str(self.path)!r:.200}, {origin}{self})"

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON data: its name, and what ``summary.json`` holds; the records are left out."""
        return {"name": self.name, **_summary(self)}

    def to_markdown(self) -> str:
        """Return every value as a table in Markdown, and what was run on what."""
        from .tables import run_table

        return run_table(self)

    def _repr_markdown_(self) -> str:
        """Return what a notebook shows."""
        return escape(self.to_markdown(), quote=False)

    def __str__(self) -> str:
        counts = f"{counted(len(self.records), 'question')}, {self.failed} failed"
        return f"{counts}, {self.with_faults} with replies that could not be had" if self.with_faults else counts


def same_questions(a: Run, b: Run) -> bool:
    """Return whether two runs are of the same questions, be they finished or not.

    Where the settings of one are not known, as of outputs of another system, the answered questions must be the same.
    """
    if a.settings is not None and b.settings is not None:
        # The same file by another name is the same set: the fingerprint at the end counts.
        return a.settings.questions.rpartition("(")[2] == b.settings.questions.rpartition("(")[2]
    questions_of_a, questions_of_b = ({(record.id, record.question) for record in run.records} for run in (a, b))
    return questions_of_a == questions_of_b


def read_records(path: Path) -> list[Record]:
    """Read predictions.jsonl, see `polyqa.base.ledger.read_lines`; if an id comes twice, its last line counts."""
    return list({record.id: record for record in read_lines(path, Record.model_validate_json)}.values())


def open_run(path: str | Path) -> Run:
    """Read a run's folder.

    Raises
    ------
    PolyqaError
        If there is none, or it has no predictions.
    """
    path = Path(path)
    if not (path / PREDICTIONS).exists():
        raise PolyqaError(f"{path} is not a run: it has no {PREDICTIONS}. Make one with polyqa evaluate.")
    records = read_records(path / PREDICTIONS)
    if not records:
        raise PolyqaError(f"{path} holds no prediction yet.")
    settings = read_identity(path)
    if settings is not None and len(records) < settings.n:
        warnings.warn(
            f"{path} holds {len(records)} of {counted(settings.n, 'question')}; the command that made it goes on "
            "with the rest.",
            stacklevel=2,
        )
    return Run(path, settings, records)


def read_identity(path: Path) -> RunIdentity | None:
    """Return the identity in a run's folder, ``None`` if it has none (scored outputs of others)."""
    file = path / SETTINGS
    if not file.exists():
        return None
    try:
        return RunIdentity.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise PolyqaError(f"{file} is damaged ({error.errors()[0]['msg']}); delete the run's folder.") from error


def summarize(records: Sequence[Record]) -> dict[str, Estimate]:
    """Return every corpus value that the records allow, with its interval."""
    values = {name: estimate(column, column_scores(records, column.scores)) for name, column in COLUMNS.items()}
    return {name: value for name, value in values.items() if value is not None}


def write_summary(run: Run) -> None:
    """Write summary.json into a run's folder."""
    write_atomically(run.path / SUMMARY, json.dumps(_summary(run), indent=2, ensure_ascii=False) + "\n")


def _summary(run: Run) -> dict[str, Any]:
    return {
        "settings": run.settings.model_dump() if run.settings else None,
        "questions": len(run.records),
        "failed": run.failed,
        "with_faults": run.with_faults,
        "intervals": "95% percentile bootstrap over questions",
        "metrics": json_data(run.summarized()),
    }


def line_of(record: Record) -> str:
    """Return a record as a line of predictions.jsonl."""
    return json_line(record.model_dump())
