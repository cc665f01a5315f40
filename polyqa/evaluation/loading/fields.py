"""What the records of all formats are made of: texts, ids, answers, and the question itself."""

import ast
import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from polyqa.base.rows import as_id
from polyqa.metrics.gold import Question

IDS = ("id", "_id", "sample_id", "question_id", "questionid", "qid", "query_id", "query-id", "example_id")
QUESTIONS = ("question", "ambiguous_question", "utterance", "query", "question_text", "input")
READING = ("edited_question", "reading")
"""Of tables with a reading a row: without ids, the rows of a question are known by it."""


def _readable(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "Text is blank")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PydanticCustomError("half_character", "Text holds half a character") from error
    return text


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts without repetitions, in order of first appearance."""
    return tuple(dict.fromkeys(texts))


def unpacked(value: Any) -> Any:
    """Return the list that a table or PopQA holds as text; anything else as it is."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, TypeError, RecursionError):
                if isinstance(listed := read(value), list):
                    return listed
    return value


def answers(value: Any) -> Any:
    """Return the aliases of an answer as a list: a text may be one, or a list that a table or PopQA holds as text."""
    value = unpacked(value)
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if isinstance(value, list):
        return [as_id(answer) if _is_figure(answer) else answer for answer in value]
    return [as_id(value)] if isinstance(value, str) or _is_figure(value) else value


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


Text = Annotated[str, AfterValidator(_readable)]
"""A text that is not blank, as the data set writes it."""

Aliases = Annotated[list[Text], Field(min_length=1)]
"""The ways to write one answer; at least one."""

Answers = Annotated[Aliases, BeforeValidator(answers)]
"""The same, or a single text, or a list in a text."""

LongAnswer = Annotated[
    Text | None, BeforeValidator(lambda value: value if isinstance(value, str) and value.strip() else None)
]
"""A text beside the answer; in some data sets the key holds the place of a paragraph, which is none."""

Id = Annotated[Text, BeforeValidator(as_id)]
"""A text, or a whole number taken as one."""


class Part(BaseModel):
    """Something in a record: no conversion of types, keys that are not needed are passed over."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class QuestionRecord(Part):
    """A record of some format; its keys are in small letters.

    Attributes
    ----------
    name, title
        What ``load_questions`` and what people call the format.
    may_be_null
        Keys that hold the answer: where they are null, the question has none.
    """

    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    may_be_null: ClassVar[frozenset[str]] = frozenset()

    id: Id | None = Field(None, validation_alias=AliasChoices(*IDS))
    question: Text = Field(validation_alias=AliasChoices(*QUESTIONS))
    long_answer: LongAnswer = None

    @classmethod
    def fits(cls, row: Mapping[str, Any]) -> bool:
        """Return whether a row that has the needed keys is of this format."""
        return True

    @staticmethod
    def joined(earlier: Question, later: Question) -> Question | None:
        """Return one question of two that share an id and the question; ``None`` where an id may stand but once."""
        return None

    @abstractmethod
    def to_question(self, id: str) -> Question | None:
        """Return the record as a question with this id; ``None`` if the data set has no answer to it.

        A `long_answer` is not its to give: `convert` adds that of any format.
        """


class AskedRecord(QuestionRecord):
    """A question of any format, or one of BEIR, without its answers; it may be blank, and gets no answer then."""

    question: str = Field(validation_alias=AliasChoices(*QUESTIONS, "text"))

    @model_validator(mode="before")
    @classmethod
    def _no_passage(cls, row: dict[str, Any]) -> dict[str, Any]:
        """Leave out the text of a passage, which has a title, too."""
        return {name: value for name, value in row.items() if name != "text"} if row.get("title") else row

    def to_question(self, id: str) -> Question | None:
        """Return nothing: there is no answer."""
        return None
