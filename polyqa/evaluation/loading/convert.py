"""Turns records into questions: one code for files, the hub and records made in Python."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from polyqa.base.errors import PolyqaError
from polyqa.metrics.gold import Question

from .formats import Format, QuestionRecord, detect_format, named_format
from .record import Record, excerpt, problem


def questions_from_records(
    records: Iterable[Mapping[str, Any]], *, format: str | None = None, origin: str = "the records"
) -> list[Question]:
    """Return the questions of records that are in memory already, such as the rows of a ``datasets.Dataset``.

    Parameters
    ----------
    records
        Mappings of one format; an object of lists counts as a list of objects, as Hugging Face stores it.
    format
        A name in ``FORMATS``; told from the first record's keys if not given.
    origin
        What messages call the records.

    Returns
    -------
    list of Question
        In order; ids are the records' own, or their numbers, starting at 1.

    Raises
    ------
    PolyqaError
        If there is no record, one is of another schema (it is numbered from 1 and shown), or an id repeats.
    """
    return convert([Record(f"{origin}: record {n}", record) for n, record in enumerate(records, 1)], format, origin)


def convert(records: Sequence[Record], format: str | None, origin: str) -> list[Question]:
    """Return the questions of records; parameters and errors as of `questions_from_records`."""
    if not records:
        raise problem(origin, "there is no question in it")
    chosen = detect_format(records[0]) if format is None else named_format(format)
    found: dict[str, tuple[str, Question]] = {}
    for number, record in enumerate(records, 1):
        checked = _checked(record, chosen)
        question = checked.to_question(checked.id or str(number))
        if question.id not in found:
            found[question.id] = (record.where, question)
            continue
        where, earlier = found[question.id]
        if chosen.join is None or earlier.question != question.question:
            raise _repeated(record, question.id, where, chosen)
        found[question.id] = (where, chosen.join(earlier, question))
    return [question for _, question in found.values()]


def _checked(record: Record, format: Format) -> QuestionRecord:
    value = record.value
    if not isinstance(value, Mapping):
        raise problem(record.where, f"expected an object, got {type(value).__name__}", excerpt(value))
    try:
        return format.record.model_validate(dict(value) if record.key is None else {**value, "id": record.key})
    except ValidationError as error:
        raise problem(record.where, f"no {format.name} record: {_described(error)}", excerpt(value)) from error


def _described(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    others = error.error_count() - 1
    return f"{place}: {first['msg']:.200}" + (f" (and {others} more)" if others else "")


def _repeated(record: Record, id: str, where: str, format: Format) -> PolyqaError:
    also = "" if format.join is None else " with another question"
    return problem(record.where, f"the id {id!r} already stands at {where}{also}", excerpt(record.value))


def questions_fingerprint(questions: Iterable[Question]) -> str:
    """Return 16 hexadecimal characters that stand for the questions.

    They are the beginning of the SHA-256 of the questions as JSON with sorted keys, no spaces and ASCII
    only. Everything that a question holds counts, and so does the order: it is what was loaded that is
    told apart, not the file that it came from. What few data sets have stands in the JSON only where there is some.
    """
    data = [asdict(question, dict_factory=_shown) for question in questions]
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:16]


_RARE = ("other_questions", "wrong_answers", "documents")


def _shown(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in fields if value or name not in _RARE}
