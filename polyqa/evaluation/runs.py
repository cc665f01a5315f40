"""The folder of a run: settings, one line per question as it ends, a summary.

runs/<name>/run.json            what was run on what; a run goes on only with the same
runs/<name>/predictions.jsonl   one `records.Record` a line, with a checksum (`polyqa.base.lines`)
runs/<name>/summary.json        the corpus values, when all questions are done
"""

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import to_jsonable_python

from polyqa.base.counts import counted
from polyqa.base.errors import PolyqaError
from polyqa.base.files import write_whole
from polyqa.base.html import shortened
from polyqa.base.lines import Fault, read_lines, with_checksum
from polyqa.evaluation.statistics import Estimate, estimate

from .columns import COLUMNS
from .records import Record, column_scores

PREDICTIONS, SETTINGS, SUMMARY = "predictions.jsonl", "run.json", "summary.json"


_Jsonable = Annotated[dict[str, Any], BeforeValidator(partial(to_jsonable_python, fallback=str))]


class RunSettings(BaseModel):
    """What identifies a run: two runs of equal settings must give equal predictions.

    Attributes
    ----------
    program, program_state
        The program's name, and a hash of its instructions, demos, constructor settings and, where a program was
        given that was made already, what it searches with.
    lm, lm_settings, adapter
        The language model, its temperature and the like, and DSPy's adapter.
    own_lms
        Predictors that ask a language model of their own: their names, and for each the model with its settings.
    reader, judge
        What Disambig-F1 and the grounded metrics were made with.
    index
        Name and fingerprint of the index; ``None`` for closed-book programs.
    questions, n
        Where the questions came from with their fingerprint, and how many there are.
    versions
        Of polyqa and DSPy.
    """

    model_config = ConfigDict(frozen=True)

    program: str
    program_state: str = ""
    lm: str
    lm_settings: _Jsonable = {}
    own_lms: _Jsonable = {}
    adapter: str = "ChatAdapter"
    reader: str
    judge: str | None = None
    index: str | None = None
    questions: str
    n: int
    versions: dict[str, str] = {}


class UnfinishedWarning(UserWarning):
    """A run was read that has not answered all of its questions."""


@dataclass(frozen=True)
class Run:
    """A run as it was read."""

    path: Path
    settings: RunSettings | None
    records: Sequence[Record]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def failed(self) -> int:
        """How many questions failed."""
        return sum(record.error is not None for record in self.records)

    @property
    def with_faults(self) -> int:
        """How many questions were answered although some reply could not be had."""
        return with_faults(self.records)

    def summarized(self) -> dict[str, Estimate]:
        """Return every corpus value that the records allow, with its interval; see `summarize`."""
        return summarize(self.records)

    def __repr__(self) -> str:
        made = f"program={shortened(self.settings.program, 60)!r}, " if self.settings else ""
        lm = f"lm={shortened(self.settings.lm, 60)!r}, " if self.settings else ""
        return f"Run({str(self.path)!r:.200}, {made}{lm}{self})"

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON data: its name, and what ``summary.json`` holds; the records are left out."""
        return {"name": self.name, **_summary_data(self.settings, self.records, self.summarized())}

    def to_markdown(self) -> str:
        """Return the run as a table of one row, in Markdown."""
        from .tables import runs_table

        return runs_table([self], tuple(COLUMNS))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what was run on what, every value, the first failures."""
        from .tables import run_html

        return run_html(self)

    def __str__(self) -> str:
        told = f"{counted(len(self.records), 'question')}, {self.failed} failed"
        return f"{told}, {self.with_faults} with replies that could not be had" if self.with_faults else told


def same_questions(a: Run, b: Run) -> bool:
    """Return whether two runs are of the same questions, be they finished or not.

    Where the settings of one are not known, as of outputs of another system, the answered questions must be the same.
    """
    if a.settings is not None and b.settings is not None:
        # The same file by another name is the same set: the fingerprint at the end counts.
        return a.settings.questions.rpartition("(")[2] == b.settings.questions.rpartition("(")[2]
    left, right = ({(one.id, one.question) for one in run.records} for run in (a, b))
    return left == right


def with_faults(records: Sequence[Record]) -> int:
    """Return how many records have faults, see `polyqa.programs.faults`."""
    return sum(bool(record.extra.get("faults")) for record in records)


def write_atomically(path: Path, text: str, *, lasting: bool = True) -> None:
    """Write a text file so that it is either the old or the whole new one; see `polyqa.questions.durable`."""
    write_whole(path, text.encode(), lasting=lasting)


def read_records(path: Path, *, repair: bool = False) -> list[Record]:
    """Read predictions.jsonl; if an id comes twice, its last line counts.

    A last line that was not written to its end (a killed run leaves one, and one that goes on may be writing it) is
    left out, with a `polyqa.base.lines.DamageWarning`.

    Parameters
    ----------
    path
        The file; a missing one holds no record.
    repair
        Whether the questions of lines that cannot be read will be asked again: such lines are left out, too, with a
        warning, and the file is rid of them. Not if polyqa did not write the file, or polyqa 0.1 or older did.

    Raises
    ------
    PolyqaError
        With the number of the line that is no record.
    """
    lines = read_lines(path, Record.model_validate_json)
    if lines.faults and not (repair and lines.own):
        raise _not_a_record(path, lines.faults[0], own=lines.own)
    lines.warn()
    if repair:
        lines.repair()
    return list({line.value.id: line.value for line in lines.whole}.values())


def _not_a_record(path: Path, fault: Fault, *, own: bool) -> PolyqaError:
    why = str(fault.error)
    if isinstance(fault.error, ValidationError):
        problem = fault.error.errors()[0]
        why = f"{'.'.join(map(str, problem['loc'])) or 'line'}: {problem['msg']}"
    told = "is damaged; the same polyqa evaluate makes it anew" if own else "is not a prediction of polyqa evaluate"
    return PolyqaError(f"{path}, line {fault.number} {told} ({why}): {fault.data[:120].decode(errors='replace')}")


def open_run(path: str | Path) -> Run:
    """Read a run's folder.

    Raises
    ------
    PolyqaError
        If there is none, or it has no predictions, or does not say any more what was run.
    """
    path = Path(path)
    if not (path / PREDICTIONS).exists():
        raise PolyqaError(f"{path} is not a run: it has no {PREDICTIONS}. Make one with polyqa evaluate.")
    records = read_records(path / PREDICTIONS)
    if not records:
        raise PolyqaError(f"{path} holds no prediction yet.")
    settings = read_settings(path)
    told = _settings_of_summary(path / SUMMARY)
    if told is not None and told != settings:
        what = "has lost its" if settings is None else "was summarized with another"
        raise PolyqaError(f"{path} {what} {SETTINGS}, which says what was run on what; run it again.")
    if settings is not None and len(records) < settings.n:
        warnings.warn(
            f"{path} holds {len(records)} of {counted(settings.n, 'question')}; the command that made it goes on "
            "with the rest.",
            UnfinishedWarning,
            stacklevel=2,
        )
    return Run(path, settings, records)


def _settings_of_summary(summary: Path) -> RunSettings | None:
    """Return what a run's summary was made with; ``None`` if there is none, or it is of another system's outputs."""
    if not summary.exists():
        return None
    try:
        told = json.loads(summary.read_bytes())["settings"]
        return None if told is None else RunSettings.model_validate(told)
    except (ValueError, LookupError, TypeError) as error:
        raise PolyqaError(f"{summary} is damaged ({error}); remove it.") from error


def read_settings(path: Path) -> RunSettings | None:
    """Return the settings of a run's folder, ``None`` if it has none (scored outputs of others)."""
    file = path / SETTINGS
    if not file.exists():
        return None
    try:
        return RunSettings.model_validate_json(file.read_bytes())
    except ValidationError as error:
        raise PolyqaError(f"{file} is damaged ({error.errors()[0]['msg']}); delete the run's folder.") from error


def summarize(records: Sequence[Record], *, seed: int = 0) -> dict[str, Estimate]:
    """Return every corpus value that the records allow, with its interval."""
    values = {
        name: estimate(column, column_scores(records, column.scores), seed=seed) for name, column in COLUMNS.items()
    }
    return {name: value for name, value in values.items() if value is not None}


def write_summary(path: Path, settings: RunSettings | None, records: Sequence[Record]) -> dict[str, Estimate]:
    """Write summary.json of a run and return the values."""
    values = summarize(records)
    data = _summary_data(settings, records, values)
    write_atomically(path / SUMMARY, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    return values


def _summary_data(
    settings: RunSettings | None, records: Sequence[Record], values: Mapping[str, Estimate]
) -> dict[str, Any]:
    return {
        "settings": settings.model_dump() if settings else None,
        "questions": len(records),
        "failed": sum(record.error is not None for record in records),
        "with_faults": with_faults(records),
        "intervals": "95% percentile bootstrap over questions",
        "metrics": {name: value.to_dict() for name, value in values.items()},
    }


def rewrite_in_order(path: Path, ids: Iterable[str], records: Mapping[str, Record]) -> list[Record]:
    """Write predictions.jsonl again in the order of the questions; return the records so ordered."""
    ordered = [records[one] for one in ids]
    write_atomically(path, "".join(map(line_of, ordered)))
    return ordered


def line_of(record: Record) -> str:
    """Return a record as a line; half a character (a reply may be cut inside an emoji) becomes a ``?``."""
    line = json.dumps(record.model_dump(), ensure_ascii=False)
    return with_checksum(line.encode("utf-8", errors="replace").decode())
