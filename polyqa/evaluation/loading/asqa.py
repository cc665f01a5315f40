"""ASQA's schema (Stelmakh et al., 2022), which the shipped questions use as well."""

from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field

from polyqa.metrics.gold import Question, Reading

from .format import Aliases, Format, Id, Part, QuestionRecord, Text, rows


class _Pair(Part):
    question: Text
    short_answers: Aliases
    pid: Text | None = None
    other_questions: list[Text] = Field(default_factory=list)

    def reading(self) -> Reading:
        return Reading(self.question, tuple(self.short_answers), self.pid, tuple(self.other_questions))


class _Note(Part):
    long_answer: Text


class AsqaRecord(QuestionRecord):
    """A question with its readings as ``qa_pairs``, and the long answers of its annotators.

    Long answers stand in ``annotations``, or alone as ``long_answer``. ``pid``, ``ambiguity``, ``reason`` and
    ``other_questions``, which ask what a pair asks in other words, are the shipped questions' and your own. The
    copy on the hub calls the id ``sample_id``.
    """

    id: Id | None = Field(default=None, validation_alias=AliasChoices("id", "sample_id"))
    ambiguous_question: Text
    qa_pairs: Annotated[list[_Pair], Field(min_length=1), BeforeValidator(rows)]
    annotations: Annotated[list[_Note], BeforeValidator(rows)] | None = None
    long_answer: Text | None = None
    ambiguity: Text | None = None
    reason: Text | None = None

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
        )


ASQA = Format("asqa", AsqaRecord)
