"""The questions of a batch: from a file, from Python, or from a set of questions by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from polyqa.base.errors import PolyqaError
from polyqa.base.folders import expanded
from polyqa.base.rows import Record, folded, problem, read_lines, rows_in_memory
from polyqa.evaluation.loading.ambiguous import SituatedQARecord
from polyqa.evaluation.loading.convert import check, unnested
from polyqa.evaluation.loading.fields import AskedRecord
from polyqa.evaluation.loading.formats import SHAPE
from polyqa.evaluation.loading.load import drawn, records_of
from polyqa.question_sets import Questions

_TEXT = ".txt"


@dataclass(frozen=True)
class Asked:
    """A question, and the id that its answer is known by."""

    id: str
    question: str


Given: TypeAlias = str | Path | Iterable[str | Mapping[str, Any] | Asked] | Questions
"""What is taken for the questions of a batch."""


def read_asked(given: Given) -> list[Asked]:
    """Return the questions of a batch, in their order.

    Parameters
    ----------
    given
        Whatever `polyqa.evaluation.loading.load_questions` takes, with or without answers, such as the queries of BEIR:
        objects with a ``question`` that may have an ``id`` (or ``_id``, ``sample_id``, ``question_id``); or texts; or
        a ``.txt`` file with a question on each line. Or such objects or texts in Python, or a data frame; or
        `polyqa.Questions`, which has a split and a sample.

    Returns
    -------
    list of Asked
        At least one. Where there is no id it is the number of the question, from 1. Rows of one question, each
        with a reading, are one, and without ids are known by it.

    Raises
    ------
    PolyqaError
        If the file cannot be read, something in it is no question, or two have one id; it names the line.
    """
    if isinstance(given, Questions):
        asked = _read(given.source, given.split)
        return drawn(asked, given.limit, given.seed)
    return _read(given, None)


def _read(given: Any, split: str | None) -> list[Asked]:
    if isinstance(given, str | Path) and Path(given).suffix.lower() == _TEXT:
        path = expanded(given)
        if split is not None:
            raise problem(path, f"a text has no splits, so no {split!r}; leave the split out")
        lines = read_lines(path)
        records: Iterable[Record] = [Record(f"{path}: line {at}", line) for at, line in lines if line.strip()]
    elif isinstance(given, str | Path):
        records = unnested(records_of(given, split))
    else:
        records = rows_in_memory(given, SHAPE, split)
    rows = [*records]
    by_question = any(isinstance(row.value, Mapping) and SituatedQARecord.fits(folded(row)) for row in rows)
    questions: dict[str, Asked] = {}
    for number, record in enumerate(rows, 1):
        question = _asked(record, number, by_question)
        if questions.setdefault(question.id, question) != question:
            raise problem(record.where, f"two questions have the id {question.id!r:.100}: give each one of its own")
    if not questions:
        raise PolyqaError(f"There is no question in {given}." if isinstance(given, str | Path) else "Nothing is asked.")
    return list(questions.values())


def _asked(record: Record, number: int, by_question: bool) -> Asked:
    if isinstance(record.value, Asked):
        return record.value
    if isinstance(record.value, str):
        return Asked(record.key or str(number), record.value.strip())
    checked = check(record, AskedRecord, "question")
    return Asked(checked.id or (checked.question if by_question else str(number)), checked.question)
