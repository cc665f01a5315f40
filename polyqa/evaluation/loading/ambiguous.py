"""The records of data sets whose questions have several readings, or several answers."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from polyqa.base.rows import by_row
from polyqa.metrics.gold import Document, Question, Reading

from .fields import (
    IDS,
    QUESTIONS,
    READING,
    Aliases,
    Answers,
    Id,
    Part,
    QuestionRecord,
    Text,
    answers,
    distinct,
)


class _LongAnswer(Part):
    long_answer: Text


class _AsqaPair(Part):
    question: Text
    short_answers: Answers
    pid: Text | None = None
    other_questions: list[Text] = Field(default_factory=list)

    def reading(self) -> Reading:
        return Reading(self.question, tuple(self.short_answers), self.pid, tuple(self.other_questions))


class _Document(Part):
    id: Id | None = None
    type: Literal["correct", "misinfo", "noise"]
    answer: str = ""
    text: str = ""


def _document_rows(value: Any) -> Any:
    """Turn lists of passage id, type and answer into objects; texts then stand in the corpus."""
    if not isinstance(value, list):
        return by_row(value)
    return [dict(zip(("id", "type", "answer"), row, strict=False)) if isinstance(row, list) else row for row in value]


_Documents = Annotated[list[_Document], BeforeValidator(_document_rows)]


def _documents(documents: Iterable[_Document], id: str) -> tuple[Document, ...]:
    return tuple(
        Document(
            document.id or f"{id}-{number}",
            document.type,
            "" if document.type == "noise" else document.answer,
            document.text,
        )
        for number, document in enumerate(documents, 1)
    )


class AsqaRecord(QuestionRecord):
    """ASQA (Stelmakh et al., 2022): a question with its readings as ``qa_pairs``, and the annotators' long answers.

    Long answers stand in ``annotations``, or alone as ``long_answer``. ``pid``, ``ambiguity``, ``reason`` and
    ``other_questions``, which ask what a pair asks in other words, are the shipped questions' and your own, as are
    ``wrong_answers`` and ``documents`` (``[passage id, type, answer]``, see `RamdocsRecord`). ALCE's file has
    the same keys, but ``question``. A question without pairs has no answer.
    """

    name = "asqa"
    title = "ASQA"
    may_be_null = frozenset({"qa_pairs"})

    qa_pairs: Annotated[list[_AsqaPair], BeforeValidator(by_row)]
    annotations: Annotated[list[_LongAnswer], BeforeValidator(by_row)] | None = None
    long_answer: Text | None = None  # never anything else here
    ambiguity: Text | None = None
    reason: Text | None = None
    wrong_answers: list[Text] | None = None
    documents: _Documents | None = None

    def to_question(self, id: str) -> Question | None:
        """Return the record as a question; pairs are kept as they are, also where two ask the same."""
        if not self.qa_pairs:
            return None
        return Question(
            id=id,
            question=self.question,
            readings=tuple(pair.reading() for pair in self.qa_pairs),
            long_answers=tuple(note.long_answer for note in self.annotations or ()),
            ambiguity=self.ambiguity,
            reason=self.reason,
            wrong_answers=distinct(self.wrong_answers or ()),
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
    pairs: Annotated[list[_AmbigNQPair], Field(min_length=1, validation_alias="qaPairs"), BeforeValidator(by_row)]

    def readings(self, question: str) -> tuple[Reading, ...]:
        return tuple(Reading.from_alternatives(pair.question, tuple(pair.answer)) for pair in self.pairs)


_Annotation = Annotated[_SingleAnswer | _MultipleQAs, Field(discriminator="type")]


class AmbigNQRecord(QuestionRecord):
    """AmbigNQ (Min et al., 2020), light or full or as on the hub: a question with at least one annotation."""

    name = "ambignq"
    title = "AmbigNQ"

    annotations: Annotated[list[_Annotation], Field(min_length=1), BeforeValidator(by_row)]

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


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


class SituatedQARecord(QuestionRecord):
    """SituatedQA (Zhang and Choi, 2021), and tables of one's own: each row has a reading of a question, and its answer.

    Rows with one id, or without ids with one question, are one question. A row whose ``reading`` (``edited_question``)
    is empty answers the question as it was asked.
    """

    name = "situatedqa"
    title = "questions with a reading a row"

    id: Id = Field(validation_alias=AliasChoices(*IDS, *QUESTIONS))
    edited_question: Text | Literal[""] = Field(validation_alias=AliasChoices(*READING, *QUESTIONS))
    answer: Answers = Field(validation_alias=AliasChoices("answer", "answers"))

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether a row has a reading."""
        return not row.keys().isdisjoint(READING)

    def to_question(self, id: str) -> Question:
        """Return the record as a question of one reading; answers that repeat are dropped."""
        reading = Reading(self.edited_question or self.question, distinct(self.answer))
        return Question(id=id, question=self.question, readings=(reading,))

    @staticmethod
    def joined(earlier: Question, later: Question) -> Question:
        """Return a question with the readings of both.

        Readings whose questions differ in nothing but case and white space become one with the answers of both:
        the annotators of a place or a year that was drawn twice did not always agree.
        """
        readings = {_folded(reading.question): reading for reading in earlier.readings}
        for reading in later.readings:
            key = _folded(reading.question)
            first = readings.setdefault(key, reading)
            readings[key] = replace(first, short_answers=distinct((*first.short_answers, *reading.short_answers)))
        long_answers = distinct((*earlier.long_answers, *later.long_answers))
        return replace(earlier, readings=tuple(readings.values()), long_answers=long_answers)


class MultiAnswerRecord(QuestionRecord):
    """WebQuestions (Berant et al., 2013), QAMPARI as ALCE has it: all ``answers``, texts or aliases, are asked for.

    A question with an empty list, or an empty text in its place, has no answer.
    """

    name = "multi-answer"
    title = "questions with several answers"
    may_be_null = frozenset({"answers"})

    answers: Annotated[list[Answers], BeforeValidator(lambda value: answers(value or []))]

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether answers have aliases, or the keys are those of WebQuestions."""
        listed = answers(row["answers"])
        nested = isinstance(listed, list) and any(isinstance(one, list) for one in listed)
        return nested or bool(row.keys() & {"utterance", "url"})

    def to_question(self, id: str) -> Question | None:
        """Return the record as a question; every answer is a reading, which asks the question itself.

        An answer that is listed twice would count twice, so repetitions are dropped.
        """
        readings = dict.fromkeys(Reading(self.question, tuple(answer)) for answer in self.answers)
        return Question(id=id, question=self.question, readings=tuple(readings)) if readings else None


class RamdocsRecord(QuestionRecord):
    """RAMDocs (Wang et al., 2025): a question with its documents; right answers by what they are about, and wrong ones.

    ``documents`` have a ``text``, a ``type`` (``correct``, ``misinfo`` or ``noise``) and the ``answer`` that they give.
    """

    name = "ramdocs"
    title = "RAMDocs"

    documents: Annotated[_Documents, Field(min_length=1)]
    gold_answers: Annotated[list[Text], Field(min_length=1)]
    wrong_answers: list[Text]
    disambig_entity: list[Text] = Field(default_factory=list)

    def to_question(self, id: str) -> Question:
        """Return the record as a question with a reading for each right answer, named by what it is about."""
        reading_questions = [self.question] * len(self.gold_answers)
        if len(self.disambig_entity) == len(reading_questions):
            reading_questions = [f"{self.question.rstrip(' ?')} ({entity})?" for entity in self.disambig_entity]
        return Question(
            id=id,
            question=self.question,
            readings=tuple(
                Reading(text, (gold,)) for text, gold in zip(reading_questions, self.gold_answers, strict=True)
            ),
            wrong_answers=distinct(self.wrong_answers),
            documents=_documents(self.documents, id),
        )
