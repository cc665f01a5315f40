"""The records of data sets whose questions have one answer, with its aliases."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field

from polyqa.metrics.gold import Question, Reading

from .fields import QuestionRecord, answers, distinct


def _aliases(value: Any) -> Any:
    """Return the aliases of an answer that may stand in an object, or each in one of its own."""
    if isinstance(value, Mapping):
        row = {str(name).lower(): part for name, part in value.items()}
        parts = [answers(row.get(name) or []) for name in ("value", "text", "answer", "aliases")]
        return [alias for part in parts for alias in (part if isinstance(part, list) else [part]) if alias is not None]
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return [alias for item in value for alias in (_aliases(item) if isinstance(item, Mapping) else [item])]
    return answers(value)


_Aliases = Annotated[list[str], BeforeValidator(_aliases)]


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
        """Return the record as a question of one reading, which is the question itself; ``None`` without a word."""
        aliases = distinct(alias for alias in (*self.answers, *self.answer_aliases) if alias.strip())
        return Question(id, self.question, (Reading(self.question, aliases),)) if aliases else None
