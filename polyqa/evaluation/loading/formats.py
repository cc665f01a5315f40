"""The formats of data sets: how each writes questions, by name, and how one is told from the keys of a record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import AliasChoices

from polyqa.base.rows import Record, Shape, excerpt, folded, problem
from polyqa.metrics.gold import Question

from . import ambiguous, plain
from .fields import QUESTIONS, QuestionRecord, answers


@dataclass(frozen=True)
class Format:
    """A data set's way to write questions.

    Attributes
    ----------
    name
        What ``load_questions`` calls it.
    title
        What people call it.
    record
        The checked record.
    join
        Makes one question of two that share an id and the question; None where an id may stand but once.
    """

    name: str
    title: str
    record: type[QuestionRecord]
    join: Callable[[Question, Question], Question] | None = None

    @property
    def keys(self) -> frozenset[tuple[str, ...]]:
        """The keys that every record has, each with its alternative names.

        The id is not among them: whether a record has one says nothing about its format.
        """
        needed = {name: field for name, field in self.record.model_fields.items() if field.is_required()}
        needed.pop("id", None)
        return frozenset(_names(name, field.validation_alias) for name, field in needed.items())

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row without what is missing is of this format."""
        return all(any(name in row for name in names) for names in self.keys) and self.record.fits(row)


def _names(name: str, alias: object) -> tuple[str, ...]:
    if isinstance(alias, AliasChoices):
        return tuple(str(choice) for choice in alias.choices)
    return (alias if isinstance(alias, str) else name,)


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        format.name: format
        for format in (
            Format("asqa", "ASQA", ambiguous.AsqaRecord),
            Format("natural-questions", "Natural Questions", plain.NaturalQuestionsRecord),
            Format("ambignq", "AmbigNQ", ambiguous.AmbigNQRecord),
            Format("situatedqa", "SituatedQA", ambiguous.SituatedQARecord, ambiguous.join),
            Format("ramdocs", "RAMDocs", ambiguous.RamdocsRecord),
            Format("kilt", "KILT", plain.KiltRecord),
            Format("multispanqa", "MultiSpanQA", ambiguous.MultiSpanQARecord),
            Format("triviaqa", "TriviaQA", plain.TriviaQARecord),
            Format("squad", "SQuAD", plain.SquadRecord),
            Format("popqa", "PopQA", plain.PopQARecord),
            Format("multi-answer", "questions with several answers", ambiguous.MultiAnswerRecord),
            Format("dpr", "DPR", plain.DPRRecord),
            Format("nq-open", "NQ-open", plain.NQOpenRecord),
            Format("plain", "questions with an answer", plain.PlainRecord),
        )
    }
)
"""Every format by the name that ``load_questions`` takes; of those that fit a record the first is taken."""


def _unnamed(cells: Sequence[str]) -> Sequence[str] | None:
    """Return the columns of a table without a header: ColBERT's queries have an id, DPR's questions a list."""
    if len(cells) != 2:
        return None
    return ("id", "question") if answers(cells[1]) == [cells[1]] else ("question", "answers")


SHAPE = Shape("questions", frozenset({*QUESTIONS, "qa_pairs", "paragraphs", "text"}), _unnamed, "queries")


def named_format(name: str) -> Format:
    """Return a format by its name; raise `PolyqaError`, which lists the names, if there is none."""
    if name not in FORMATS:
        raise problem("format", f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def detect_format(records: Sequence[Record]) -> Format:
    """Return the first format that fits a record; lists of answers count as DPR's if no answer has aliases.

    The record is the first that any format fits, as one may lack its answer.

    Raises
    ------
    PolyqaError
        If none does; the message names them all, and what they need.
    """
    rows = map(folded, records)
    if found := next((format for row in rows for format in FORMATS.values() if format.fits(row)), None):
        several = FORMATS["multi-answer"]
        if found.name == "dpr" and any(several.fits(folded(one)) for one in records):
            return several
        return found
    first = records[0]
    if {*QUESTIONS, "text"} & folded(first).keys():
        what = "there is a question, and no answer to score against (`polyqa answer` needs none)"
    else:
        what = f"there is no question ({', '.join(QUESTIONS)})"
    answers = " / ".join(f"{_described(format)} ({format.name})" for format in FORMATS.values())
    raise problem(
        first.where, f"{what}; no format has these keys, beside the question: {answers}", excerpt(first.value)
    )


def _described(format: Format) -> str:
    return ", ".join(sorted(names[0] for names in format.keys if names[0] != "question"))
