"""The folder of a run: settings, one line per question as it ends, a summary.

runs/<name>/run.json            what was run on what; a run goes on only with the same
runs/<name>/predictions.jsonl   one `records.Record` a line
runs/<name>/summary.json        the corpus values, when all questions are done
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import to_jsonable_python

from polyqa.evaluation.statistics import Estimate, estimate
from polyqa.question_db.journal import whole_lines
from polyqa.signatures import PolyqaError

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

    def __str__(self) -> str:
        told = f"{len(self.records)} questions, {self.failed} failed"
        return f"{told}, {self.with_faults} with replies that could not be had" if self.with_faults else told


def with_faults(records: Sequence[Record]) -> int:
    """Return how many records have faults, see `polyqa.programs.faults`."""
    return sum(bool(record.extra.get("faults")) for record in records)


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that it is either the old or the whole new one."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def read_records(path: Path, *, repair: bool = False) -> list[Record]:
    """Read predictions.jsonl; if an id comes twice, its last line counts.

    Parameters
    ----------
    path
        The file; a missing one holds no record.
    repair
        Whether to cut off a last line that was not written to its end (a killed run leaves one); such
        a line is passed over in any case.

    Raises
    ------
    PolyqaError
        With the number of the line that is no record.
    """
    records: dict[str, Record] = {}
    for number, line in enumerate(whole_lines(path, repair=repair), 1):
        try:
            record = Record.model_validate_json(line)
            records[record.id] = record
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, problem["loc"]))
            raise PolyqaError(
                f"{path}, line {number} is not a prediction of polyqa evaluate ({where or 'line'}: {problem['msg']}): "
                f"{line[:120].decode(errors='replace')}"
            ) from error
    return list(records.values())


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
    return Run(path, read_settings(path), records)


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
    data: dict[str, Any] = {
        "settings": settings.model_dump() if settings else None,
        "questions": len(records),
        "failed": sum(record.error is not None for record in records),
        "with_faults": with_faults(records),
        "intervals": "95% percentile bootstrap over questions",
        "metrics": {name: value.to_dict() for name, value in values.items()},
    }
    write_atomically(path / SUMMARY, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    return values


def rewrite_in_order(path: Path, ids: Iterable[str], records: Mapping[str, Record]) -> list[Record]:
    """Write predictions.jsonl again in the order of the questions; return the records so ordered."""
    ordered = [records[one] for one in ids]
    write_atomically(path, "".join(map(line_of, ordered)))
    return ordered


def line_of(record: Record) -> str:
    """Return a record as a line; half a character (a reply may be cut inside an emoji) becomes a ``?``."""
    line = json.dumps(record.model_dump(), ensure_ascii=False)
    return line.encode("utf-8", errors="replace").decode() + "\n"
