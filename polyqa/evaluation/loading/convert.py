"""Turns records into questions: one code for files, the hub and records made in Python."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from polyqa.base.rows import Record, excerpt, folded, problem
from polyqa.base.text import counted
from polyqa.metrics.gold import Question

from .fields import QuestionRecord, answers
from .formats import detect_format, named_format
from .plain import PlainRecord

_WITH_PASSAGES = {"ctxs", "positive_ctxs"}  # of DPR
_SEVERAL = "--format multi-answer takes each alias as an answer of its own"
_ASKS = re.compile(r"[?？؟;՞]|\b(?:who|whom|whose|what|when|where|which|why|how)\b", re.I)


@dataclass(frozen=True)
class Loaded:
    """Questions, and how they were read.

    Attributes
    ----------
    questions
        At least one.
    format
        The format that they were read in.
    left_out
        The ids of those that have no answer in the data set, such as SQuAD's that cannot be answered.
    hint
        What a user may have meant instead.
    """

    questions: list[Question]
    format: type[QuestionRecord]
    left_out: frozenset[str] = frozenset()
    hint: str = ""

    def __str__(self) -> str:
        answers = [len(reading.short_answers) for question in self.questions for reading in question.readings]
        if len(answers) > len(self.questions):
            each = f"{len(answers) / len(self.questions):.1f} readings each"
        else:
            each = f"{sum(answers) / len(answers):.1f} aliases each"
        parts = [f"read as {self.format.title}: {counted(len(self.questions), 'question')}, {each}"]
        if self.left_out:
            parts.append(f"{counted(len(self.left_out), 'question')} without an answer left out")
        return "; ".join([*parts, self.hint] if self.hint else parts)


def convert(records: Iterable[Record], format: str | None, origin: str) -> Loaded:
    """Return the questions of records, in order; ids are the records' own, or their numbers, starting at 1.

    Parameters
    ----------
    records
        Of one format; an object of lists counts as a list of objects, as Hugging Face stores it.
    format
        A name in ``FORMATS``; told from the first record's keys if not given.
    origin
        What messages call the records.

    Raises
    ------
    PolyqaError
        If there is no record, one is of another schema (it is shown), or an id repeats.
    """
    rows = list(unnested(records))
    if not rows:
        raise problem(origin, "there is no question in it")
    chosen = detect_format(rows) if format is None else named_format(format)
    question_places: dict[str, tuple[str, Question]] = {}
    left_out: set[str] = set()
    for number, record in enumerate(rows, 1):
        checked = check(record, chosen, chosen.name)
        question = checked.to_question(checked.id or str(number))
        if question is None:
            left_out.add(checked.id or str(number))
            continue
        if checked.long_answer is not None:
            question = replace(question, long_answers=(*question.long_answers, checked.long_answer))
        if question.id not in question_places:
            question_places[question.id] = (record.where, question)
        else:
            where, earlier = question_places[question.id]
            same = earlier.question == question.question
            joined = chosen.joined(earlier, question) if same else None
            if joined is None:
                also = "" if same else " with another question"
                message = f"the id {question.id!r} already stands at {where}{also}"
                raise problem(record.where, message, excerpt(record.value))
            question_places[question.id] = (where, joined)
    if not question_places:
        raise problem(origin, "there is no question in it that has an answer")
    questions = [question for _, question in question_places.values()]
    several = format is None and chosen is PlainRecord and _may_be_several(rows[0])
    several = several and any(len(question.readings[0].short_answers) > 1 for question in questions)
    return Loaded(questions, chosen, frozenset(left_out), _SEVERAL if several else _of_labels(questions))


def _may_be_several(record: Record) -> bool:
    """Return whether a record has a list of ``answers`` that may be several: with DPR's passages they are aliases."""
    row = folded(record)
    listed = answers(row.get("answers"))
    texts = isinstance(listed, list) and all(isinstance(one, str) for one in listed)
    return texts and not _WITH_PASSAGES & row.keys()


def _of_labels(questions: Iterable[Question]) -> str:
    """Return a warning if most readings are labels, such as "North Wing", which nobody can answer."""
    reading_questions = [
        reading.question for question in questions for reading in question.readings if len(question.readings) > 1
    ]
    labels = [text for text in reading_questions if not _ASKS.search(text)]
    if 2 * len(labels) <= len(reading_questions):
        return ""
    return (
        f"readings such as {labels[0]!r:.80} are no questions: D-F1 and DR, which ask them of the answer, will be low"
    )


def unnested(records: Iterable[Record]) -> Iterator[Record]:
    """Yield the questions of SQuAD's articles, and of MRQA's contexts; any other record as it is."""
    for record in records:
        value = record.value if isinstance(record.value, Mapping) else {}
        paragraphs = [value] if "qas" in value else value.get("paragraphs")
        if not isinstance(paragraphs, list) or "question" in value:  # MuSiQue's questions have paragraphs
            if value.keys() != {"header"}:  # MRQA's first line
                yield record
            continue
        for paragraph in paragraphs:
            questions = paragraph.get("qas") if isinstance(paragraph, Mapping) else None
            if not isinstance(questions, list) or not all(isinstance(question, Mapping) for question in questions):
                raise problem(record.where, "a paragraph without questions (qas)", excerpt(paragraph))
            yield from (
                Record(record.where, {**question, "context": paragraph.get("context")}) for question in questions
            )


R = TypeVar("R", bound=QuestionRecord)


def check(record: Record, kind: type[R], name: str) -> R:
    """Return a record as one of its kind; else raise `PolyqaError`, which says where it stands and what is wrong."""
    row = folded(record)
    nulls = {str(name).strip().lower() for name in record.value} - row.keys()
    if not kind.may_be_null & row.keys():
        row |= {name: [] for name in kind.may_be_null & nulls}
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        raise problem(record.where, f"no {name} record: {_described(error)}", excerpt(record.value)) from error


def _described(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    further_errors = error.error_count() - 1
    return f"{place}: {first['msg']:.200}" + (f" (and {further_errors} more)" if further_errors else "")


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
