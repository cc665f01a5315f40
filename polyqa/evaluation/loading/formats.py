"""The formats of data sets: how each writes questions, by name, and how one is told from the keys of a record."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from polyqa.metrics.gold import Document, Question, Reading

from .record import Record, excerpt, problem


def _readable(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "Text is blank")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PydanticCustomError("half_character", "Text holds half a character") from error
    return text


def _whole_number_as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _rows(value: Any) -> Any:
    """Turn an object of equally long lists into the list of objects that it stands for.

    Hugging Face's ``datasets`` stores a sequence of objects by column:
    ``{"question": [q1, q2], "answer": [a1, a2]}``. Anything else is returned as it is, for the field's
    type to judge.
    """
    if not isinstance(value, dict) or not value or not all(isinstance(column, list) for column in value.values()):
        return value
    if len({len(column) for column in value.values()}) != 1:
        return value
    return [dict(zip(value, cells, strict=True)) for cells in zip(*value.values(), strict=True)]


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts without repetitions, in order of first appearance."""
    return tuple(dict.fromkeys(texts))


Text = Annotated[str, AfterValidator(_readable)]
"""A text that is not blank, as the data set writes it."""

Aliases = Annotated[list[Text], Field(min_length=1)]
"""The ways to write one answer; at least one."""

Id = Annotated[Text, BeforeValidator(_whole_number_as_text)]
"""A text, or a whole number taken as one."""


class Part(BaseModel):
    """Something in a record: no conversion of types, keys that are not needed are passed over."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class QuestionRecord(Part):
    """A record of some format."""

    id: Id | None = None

    @abstractmethod
    def to_question(self, id: str) -> Question:
        """Return the record as a question with this id."""


@dataclass(frozen=True)
class Format:
    """A data set's way to write questions.

    Attributes
    ----------
    name
        What ``load_questions`` calls it.
    record
        The checked record.
    join
        Makes one question of two that share an id and the question; None where an id may stand but once.
    """

    name: str
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


def _names(name: str, alias: object) -> tuple[str, ...]:
    if isinstance(alias, AliasChoices):
        return tuple(str(choice) for choice in alias.choices)
    return (alias if isinstance(alias, str) else name,)


class _AsqaPair(Part):
    question: Text
    short_answers: Aliases
    pid: Text | None = None
    other_questions: list[Text] = Field(default_factory=list)

    def reading(self) -> Reading:
        return Reading(self.question, tuple(self.short_answers), self.pid, tuple(self.other_questions))


class _LongAnswer(Part):
    long_answer: Text


class _Document(Part):
    id: Id | None = None
    type: Literal["correct", "misinfo", "noise"]
    answer: str = ""
    text: str = ""


def _document_rows(value: Any) -> Any:
    """Turn lists of passage id, type and answer into objects; texts then stand in the corpus."""
    if not isinstance(value, list):
        return _rows(value)
    return [dict(zip(("id", "type", "answer"), one, strict=False)) if isinstance(one, list) else one for one in value]


_Documents = Annotated[list[_Document], BeforeValidator(_document_rows)]


def _documents(documents: Iterable[_Document], id: str) -> tuple[Document, ...]:
    return tuple(
        Document(one.id or f"{id}-{number}", one.type, "" if one.type == "noise" else one.answer, one.text)
        for number, one in enumerate(documents, 1)
    )


class AsqaRecord(QuestionRecord):
    """ASQA (Stelmakh et al., 2022): a question with its readings as ``qa_pairs``, and the annotators' long answers.

    Long answers stand in ``annotations``, or alone as ``long_answer``. ``pid``, ``ambiguity``, ``reason`` and
    ``other_questions``, which ask what a pair asks in other words, are the shipped questions' and your own, as are
    ``wrong_answers`` and ``documents`` (``[passage id, type, answer]``, see `RamdocsRecord`). The copy on the hub calls
    the id ``sample_id``.
    """

    id: Id | None = Field(default=None, validation_alias=AliasChoices("id", "sample_id"))
    ambiguous_question: Text
    qa_pairs: Annotated[list[_AsqaPair], Field(min_length=1), BeforeValidator(_rows)]
    annotations: Annotated[list[_LongAnswer], BeforeValidator(_rows)] | None = None
    long_answer: Text | None = None
    ambiguity: Text | None = None
    reason: Text | None = None
    wrong_answers: list[Text] | None = None
    documents: _Documents | None = None

    def to_question(self, id: str) -> Question:
        """Return the record as a question; pairs are kept as they are, also where two ask the same."""
        answers = [note.long_answer for note in self.annotations or ()]
        if self.long_answer is not None:
            answers.append(self.long_answer)
        return Question(
            id=id,
            question=self.ambiguous_question,
            readings=tuple(pair.reading() for pair in self.qa_pairs),
            long_answers=tuple(answers),
            ambiguity=self.ambiguity,
            reason=self.reason,
            wrong_answers=_distinct(self.wrong_answers or ()),
            documents=_documents(self.documents or (), id),
        )


def _asks(text: str) -> str:
    if not text.replace("|", "").strip():
        raise PydanticCustomError("blank", "Text is blank")
    return text


class _AmbigNQPair(Part):
    question: Annotated[Text, AfterValidator(_asks)]  # in one way or in several, with `|` between them
    answer: Aliases


class _SingleAnswer(Part):
    type: Literal["singleAnswer"]
    answer: Aliases

    def readings(self, question: str) -> tuple[Reading, ...]:
        return (Reading(question, tuple(self.answer)),)


class _MultipleQAs(Part):
    type: Literal["multipleQAs"]
    pairs: Annotated[list[_AmbigNQPair], Field(min_length=1, validation_alias="qaPairs"), BeforeValidator(_rows)]

    def readings(self, question: str) -> tuple[Reading, ...]:
        return tuple(Reading.from_alternatives(pair.question, tuple(pair.answer)) for pair in self.pairs)


_Annotation = Annotated[_SingleAnswer | _MultipleQAs, Field(discriminator="type")]


class AmbigNQRecord(QuestionRecord):
    """AmbigNQ (Min et al., 2020), light or full or as on the hub: a question with at least one annotation."""

    question: Text
    annotations: Annotated[list[_Annotation], Field(min_length=1), BeforeValidator(_rows)]

    def to_question(self, id: str) -> Question:
        """Return the record as a question.

        The first annotation with several readings gives the question's readings; if none has, the first
        annotation gives its one. A single answer answers the question as it was asked.
        """
        several = (at for at, note in enumerate(self.annotations) if isinstance(note, _MultipleQAs))
        chosen = next(several, 0)
        annotated = [note.readings(self.question) for note in self.annotations]
        readings = annotated.pop(chosen)
        return Question(id=id, question=self.question, readings=readings, other_annotations=tuple(annotated))


class SituatedQARecord(QuestionRecord):
    """SituatedQA (Zhang and Choi, 2021): ``edited_question`` names one place or date, ``answer`` holds there."""

    id: Id  # records of one question are told by it, so a running number will not do
    question: Text
    edited_question: Text
    answer: Aliases

    def to_question(self, id: str) -> Question:
        """Return the record as a question of one reading; answers that repeat are dropped."""
        return Question(
            id=id, question=self.question, readings=(Reading(self.edited_question, _distinct(self.answer)),)
        )


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _join(one: Question, other: Question) -> Question:
    """Return a question with the readings of both.

    Readings whose questions differ in nothing but case and white space become one with the answers of both:
    the annotators of a place or a year that was drawn twice did not always agree.
    """
    readings = {_folded(reading.question): reading for reading in one.readings}
    for reading in other.readings:
        key = _folded(reading.question)
        first = readings.setdefault(key, reading)
        readings[key] = replace(first, short_answers=_distinct((*first.short_answers, *reading.short_answers)))
    return replace(one, readings=tuple(readings.values()))


class NQOpenRecord(QuestionRecord):
    """NQ-open (Lee et al., 2019): a plain question with the aliases of one answer."""

    question: Text
    answer: Aliases

    def to_question(self, id: str) -> Question:
        """Return the record as a question of one reading, which is the question itself."""
        return Question(id=id, question=self.question, readings=(Reading(self.question, tuple(self.answer)),))


def _aliases(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class MultiAnswerRecord(QuestionRecord):
    """WebQuestions (Berant et al., 2013): all ``answers``, texts or lists of aliases, are asked for."""

    question: Text = Field(validation_alias=AliasChoices("question", "utterance"))
    answers: Annotated[list[Annotated[Aliases, BeforeValidator(_aliases)]], Field(min_length=1)]

    def to_question(self, id: str) -> Question:
        """Return the record as a question; every answer is a reading, which asks the question itself.

        An answer that is listed twice would count twice, so repetitions are dropped.
        """
        readings = dict.fromkeys(Reading(self.question, tuple(answer)) for answer in self.answers)
        return Question(id=id, question=self.question, readings=tuple(readings))


class RamdocsRecord(QuestionRecord):
    """RAMDocs (Wang et al., 2025): a question with its documents; right answers by what they are about, and wrong ones.

    ``documents`` have a ``text``, a ``type`` (``correct``, ``misinfo`` or ``noise``) and the ``answer`` that they give.
    """

    question: Text
    documents: Annotated[_Documents, Field(min_length=1)]
    gold_answers: Annotated[list[Text], Field(min_length=1)]
    wrong_answers: list[Text]
    disambig_entity: list[Text] = Field(default_factory=list)

    def to_question(self, id: str) -> Question:
        """Return the record as a question with a reading for each right answer, named by what it is about."""
        named = self.disambig_entity if len(self.disambig_entity) == len(self.gold_answers) else []
        asked = [f"{self.question.rstrip(' ?')} ({entity})?" for entity in named] or [self.question] * len(
            self.gold_answers
        )
        return Question(
            id=id,
            question=self.question,
            readings=tuple(Reading(text, (gold,)) for text, gold in zip(asked, self.gold_answers, strict=True)),
            wrong_answers=_distinct(self.wrong_answers),
            documents=_documents(self.documents, id),
        )


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        format.name: format
        for format in (
            Format("asqa", AsqaRecord),
            Format("ambignq", AmbigNQRecord),
            Format("situatedqa", SituatedQARecord, _join),
            Format("nq-open", NQOpenRecord),
            Format("multi-answer", MultiAnswerRecord),
            Format("ramdocs", RamdocsRecord),
        )
    }
)
"""Every format by the name that ``load_questions`` takes."""


def named_format(name: str) -> Format:
    """Return a format by its name.

    Raises
    ------
    PolyqaError
        If there is none of this name; the names are listed.
    """
    if name not in FORMATS:
        raise problem("format", f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def detect_format(record: Record) -> Format:
    """Return the format whose keys a record has; of two where one asks for more keys, that one.

    Raises
    ------
    PolyqaError
        If no format fits, or several do; the message names the candidates and what they need.
    """
    value = record.value
    if not isinstance(value, Mapping):
        raise problem(record.where, f"expected an object, got {type(value).__name__}", excerpt(value))
    fitting = [format for format in FORMATS.values() if _fits(format, value)]
    best = [format for format in fitting if not any(format.keys < other.keys for other in fitting)]
    if len(best) == 1:
        return best[0]
    if best:
        what = f"the keys fit {' and '.join(format.name for format in best)} alike; name one as the format"
    else:
        needs = "; ".join(f"{format.name} needs {_described(format)}" for format in FORMATS.values())
        what = f"no format has these keys ({needs})"
    raise problem(record.where, what, excerpt(value))


def _fits(format: Format, value: Mapping[Any, Any]) -> bool:
    # A row of a table has every column; what its record lacked is None there.
    return all(any(value.get(name) is not None for name in names) for names in format.keys)


def _described(format: Format) -> str:
    return ", ".join(sorted(" or ".join(names) for names in format.keys))
