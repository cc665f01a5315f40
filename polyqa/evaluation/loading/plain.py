"""The records of data sets whose questions have one answer, with its aliases."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field

from polyqa.base.rows import by_row
from polyqa.metrics.gold import Question, Reading

from .fields import Part, QuestionRecord, answers, distinct, joined


def _aliases(value: Any) -> Any:
    """Return the aliases of an answer that may stand in an object, or each in one of its own."""
    if isinstance(value, Mapping):
        row = {str(name).lower(): one for name, one in value.items()}
        told = [answers(row.get(name) or []) for name in ("value", "text", "answer", "aliases")]
        return [alias for own in told for alias in (own if isinstance(own, list) else [own]) if alias is not None]
    if isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        return [alias for one in value for alias in (_aliases(one) if isinstance(one, Mapping) else [one])]
    return answers(value)


_Aliases = Annotated[list[str], BeforeValidator(_aliases)]


def _of_one_answer(id: str, question: str, aliases: Iterable[str]) -> Question | None:
    """Return a question of one reading, which is the question itself; ``None`` if no alias has words."""
    told = distinct(alias for alias in aliases if alias.strip())
    return Question(id, question, (Reading(question, told),)) if told else None


_GOLD = ("answers", "golden_answers", "possible_answers", "answer")


class PlainRecord(QuestionRecord):
    """A question with the aliases of one answer: most data sets, and tables of one's own.

    The answer is a text, a figure, yes or no, or a list of its aliases, also in a text (NQ-open, DPR, FiD, FlashRAG,
    PopQA, HotpotQA, MuSiQue); an object with its value and aliases (TriviaQA), or with a text for each alias (SQuAD),
    or a list of objects (SQuAD, KILT). If it is empty, there is none.
    """

    name = "plain"
    title = "questions with an answer"
    may_be_null = frozenset({*_GOLD, "output"})

    answers: _Aliases = Field(validation_alias=AliasChoices(*_GOLD, "output"))
    answer_aliases: _Aliases = Field(default_factory=list)

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether a row has an answer: an ``output`` that is a text is one that a system gave."""
        return any(name in row for name in _GOLD) or not isinstance(row["output"], str)

    def to_question(self, id: str) -> Question | None:
        """Return the record as a question of one reading."""
        return _of_one_answer(id, self.question, (*self.answers, *self.answer_aliases))


class _ShortAnswer(Part):
    start_token: int
    end_token: int
    text: str = ""


class _NQAnnotation(Part):
    short_answers: Annotated[list[_ShortAnswer], BeforeValidator(by_row)] = Field(default_factory=list)
    yes_no_answer: str | int = "NONE"


def _tokens(document: Any) -> Any:
    """Return the tokens of a document; on the hub the answers have texts, and its tokens are not needed."""
    if isinstance(document, str):
        return document.split(" ")
    if isinstance(document, list):
        return [one.get("token") if isinstance(one, Mapping) else one for one in document]
    return []


class NaturalQuestionsRecord(QuestionRecord):
    """Natural Questions (Kwiatkowski et al., 2019): simplified, full, or as on the hub.

    The short answers of all annotators are aliases. Those of the official files are tokens of ``document_text`` or
    ``document_tokens``.
    """

    name = "natural-questions"
    title = "Natural Questions"

    annotations: Annotated[list[_NQAnnotation], BeforeValidator(by_row)]
    tokens: Annotated[list[str], BeforeValidator(_tokens)] = Field(
        validation_alias=AliasChoices("document_text", "document_tokens", "document")
    )

    def to_question(self, id: str) -> Question | None:
        """Return the record as a question of one reading."""
        return _of_one_answer(id, self.question, self._aliases())

    def _aliases(self) -> Iterable[str]:
        for note in self.annotations:
            for answer in note.short_answers:
                yield answer.text or joined(self.tokens[answer.start_token : answer.end_token])
            if note.yes_no_answer in ("YES", "NO", 1, 0):
                yield "yes" if note.yes_no_answer in ("YES", 1) else "no"
