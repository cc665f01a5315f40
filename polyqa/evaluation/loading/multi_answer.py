"""Questions with several answers, all of them asked for (WebQuestions; Berant et al., 2013)."""

from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field

from polyqa.metrics.gold import Question, Reading

from .format import Aliases, Format, QuestionRecord, Text


def _aliases(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class MultiAnswerRecord(QuestionRecord):
    """A question whose ``answers`` are texts or lists of aliases."""

    question: Text = Field(validation_alias=AliasChoices("question", "utterance"))
    answers: Annotated[list[Annotated[Aliases, BeforeValidator(_aliases)]], Field(min_length=1)]

    def to_question(self, id: str) -> Question:
        """Return the record as a question; every answer is a reading, which asks the question itself.

        An answer that is listed twice would count twice, so repetitions are dropped.
        """
        readings = dict.fromkeys(Reading(self.question, tuple(answer)) for answer in self.answers)
        return Question(id=id, question=self.question, readings=tuple(readings))


MULTI_ANSWER = Format("multi-answer", MultiAnswerRecord)
