"""AmbigNQ (Min et al., 2020): one answer, or several readings, by annotator."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from polyqa.metrics.gold import Question, Reading

from .format import Aliases, Format, Part, QuestionRecord, Text, rows

Readings = tuple[Reading, ...]


def _asks(text: str) -> str:
    if not text.replace("|", "").strip():
        raise PydanticCustomError("blank", "Text is blank")
    return text


class _Pair(Part):
    question: Annotated[Text, AfterValidator(_asks)]  # in one way or in several, with `|` between them
    answer: Aliases


class _SingleAnswer(Part):
    type: Literal["singleAnswer"]
    answer: Aliases

    def readings(self, question: str) -> Readings:
        return (Reading(question, tuple(self.answer)),)


class _MultipleQAs(Part):
    type: Literal["multipleQAs"]
    pairs: Annotated[list[_Pair], Field(min_length=1, validation_alias="qaPairs"), BeforeValidator(rows)]

    def readings(self, question: str) -> Readings:
        return tuple(Reading.from_alternatives(pair.question, tuple(pair.answer)) for pair in self.pairs)


_Annotation = Annotated[_SingleAnswer | _MultipleQAs, Field(discriminator="type")]


class AmbigNQRecord(QuestionRecord):
    """A question with at least one annotation, in the light or the full version or as the hub has it."""

    question: Text
    annotations: Annotated[list[_Annotation], Field(min_length=1), BeforeValidator(rows)]

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


AMBIGNQ = Format("ambignq", AmbigNQRecord)
