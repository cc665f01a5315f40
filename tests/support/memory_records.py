"""Questions from records that are in memory already, for tests."""

from dataclasses import replace
from typing import Any

from polyqa.base.rows import rows_in_memory
from polyqa.evaluation.loading.convert import convert
from polyqa.evaluation.loading.formats import SHAPE
from polyqa.metrics.gold import Question


def questions_from_records(records: Any, *, format: str | None = None, origin: str = "the records") -> list[Question]:
    """Return the questions of records, which messages number from 1."""
    rows = [replace(row, where=f"{origin}: record {n}") for n, row in enumerate(rows_in_memory(records, SHAPE), 1)]
    return convert(rows, format, origin).questions
