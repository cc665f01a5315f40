"""The formats of data sets: how each writes questions, by name, and how one is told from the keys of a record."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import AliasChoices

from polyqa.base.rows import Record, Shape, excerpt, folded, problem

from . import ambiguous, plain
from .fields import QUESTIONS, QuestionRecord, answers

_RECORDS: tuple[type[QuestionRecord], ...] = (
    ambiguous.AsqaRecord,
    ambiguous.AmbigNQRecord,
    ambiguous.SituatedQARecord,
    ambiguous.RamdocsRecord,
    ambiguous.MultiAnswerRecord,
    plain.PlainRecord,
)
_PLAIN = ("dpr", "kilt", "nq-open", "popqa", "squad", "triviaqa")
FORMATS: Mapping[str, type[QuestionRecord]] = MappingProxyType(
    {record.name: record for record in _RECORDS} | dict.fromkeys(_PLAIN, plain.PlainRecord)
)
"""The record of every format by the names that ``load_questions`` takes; of those that fit a row the first is taken."""


@cache
def _needed(record: type[QuestionRecord]) -> list[tuple[str, ...]]:
    """Return the keys that every record of a format has, each with its alternative names.

    The id is not among them: whether a record has one says nothing about its format.
    """
    fields = record.model_fields.items()
    return [_names(name, field.validation_alias) for name, field in fields if field.is_required() and name != "id"]


def _names(name: str, alias: object) -> tuple[str, ...]:
    if isinstance(alias, AliasChoices):
        return tuple(str(choice) for choice in alias.choices)
    return (alias if isinstance(alias, str) else name,)


def _fits(record: type[QuestionRecord], row: Mapping[str, Any]) -> bool:
    """Return whether a row without what is missing is of a format."""
    return all(any(name in row for name in names) for names in _needed(record)) and record.fits(row)


def _unnamed(cells: Sequence[str]) -> Sequence[str] | None:
    """Return the columns of a table without a header: ColBERT's queries have an id, DPR's questions a list."""
    if len(cells) != 2:
        return None
    return ("id", "question") if answers(cells[1]) == [cells[1]] else ("question", "answers")


SHAPE = Shape("questions", frozenset({*QUESTIONS, "qa_pairs", "paragraphs", "text"}), _unnamed, "queries")


def named_format(name: str) -> type[QuestionRecord]:
    """Return a format by its name; raise `PolyqaError`, which lists the names, if there is none."""
    if name not in FORMATS:
        raise problem("format", f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def detect_format(records: Sequence[Record]) -> type[QuestionRecord]:
    """Return the first format that fits a record; the plain one if no record has a reading, or aliases of each answer.

    The record is the first that any format fits, as one may lack its answer.

    Raises
    ------
    PolyqaError
        If none does; the message names them all, and what they need.
    """
    several = ambiguous.MultiAnswerRecord
    for row in map(folded, records):
        if first_fit := next((record for record in _RECORDS if _fits(record, row)), None):
            if first_fit is not plain.PlainRecord:
                return first_fit
            others: list[type[QuestionRecord]] = [ambiguous.SituatedQARecord, *([several] if "answers" in row else [])]
            return next((kind for kind in others if any(_fits(kind, folded(one)) for one in records)), first_fit)
    first = records[0]
    if {*QUESTIONS, "text"} & folded(first).keys():
        problem_text = "there is a question, and no answer to score against (`polyqa answer` needs none)"
    else:
        problem_text = f"there is no question ({', '.join(QUESTIONS)})"
    answers = " / ".join(f"{_described(record)} ({record.name})" for record in _RECORDS)
    raise problem(
        first.where, f"{problem_text}; no format has these keys, beside the question: {answers}", excerpt(first.value)
    )


def _described(record: type[QuestionRecord]) -> str:
    return ", ".join(sorted(names[0] for names in _needed(record) if names[0] != "question"))
