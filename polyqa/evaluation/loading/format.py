"""What a format is: a checked record, its questions, and the types that records share."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from polyqa.metrics.gold import Question


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


def rows(value: Any) -> Any:
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


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
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
