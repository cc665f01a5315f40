"""The types that signatures use: each validates what its parser makes of a value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import dspy
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from polyqa.base.values import AmbiguityType, Grade, Interpretation, Support

from .interpretations import is_reading, parse_interpretations
from .labels import parse_ambiguity_types, parse_grade, parse_support, parse_usefulness, parse_yes_no
from .lists import asks, parse_answers, parse_questions
from .numbers import parse_numbers
from .text import shown


def _interpretations(value: Any) -> Any:
    # Of objects on lines of their own DSPy's repairing parser leaves the last. A mapping that may be it is refused:
    # then DSPy shows the text.
    readings = parse_interpretations(value)
    if isinstance(value, Mapping) and is_reading(value):
        raise ValueError(f"one reading where a list is due: {shown(value)}")
    return readings


def _questions(value: Any) -> Any:
    # Of "In which film [the one of 1990] …?" that parser leaves what is in brackets.
    questions = parse_questions(value)
    if not isinstance(value, str) and not all(map(asks, questions)):
        raise ValueError(f"not a list of questions: {shown(value)}")
    return questions


def _numbers(value: Any) -> Any:
    # Of "- 15" it makes a negative number.
    numbers = parse_numbers(value)
    if not isinstance(value, str) and any(number < 0 for number in numbers):
        raise ValueError(f"no list of numbers: {shown(value)}")
    return numbers


def _lenient(name: str, strict: Any, parse: Callable[[Any], Any], schema: dict[str, Any] | None = None) -> Any:
    """Return a type that validates as ``strict`` after ``parse``, and bears the name of ``strict``.

    It is a `dspy.Type` because DSPy's own adapters show such a type the raw text when what their repairing JSON
    parser made of the text is refused. That parser may leave a part of a text that is a list by itself: of
    ``[AmbPred] [AmbTime]`` the last label. polyqa's lean adapter shows the text at once. ``schema`` replaces the JSON
    schema that DSPy prints into the prompt.
    """

    class Lenient(dspy.Type):
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
            return core_schema.no_info_before_validator_function(parse, handler.generate_schema(strict))

        @classmethod
        def __get_pydantic_json_schema__(cls, inner: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
            return schema if schema is not None else handler(inner)

    Lenient.__name__ = Lenient.__qualname__ = name
    return Lenient


def _any_of(labels: type[StrEnum]) -> dict[str, Any]:
    return {"type": "string", "enum": [str(label) for label in labels]}


if TYPE_CHECKING:
    Interpretations = list[Interpretation]
    EvidenceFirst = list[Interpretation]
    Questions = list[str]
    Answers = list[str]
    YesNo = Literal["Yes", "No"]
    AmbiguityTypes = list[AmbiguityType]
    Numbers = list[int]
    Verdicts = list[int]
    VerdictLines = list[int]
    Readings = list[Interpretation]
    Grades = Grade
    Supports = Support
    Usefulness = int
else:
    Interpretations = _lenient("list[Interpretation]", list[Interpretation], _interpretations)
    EvidenceFirst = _lenient("list[Interpretation]", list[Interpretation], _interpretations)
    Questions = _lenient("list[str]", list[str], _questions)
    Answers = _lenient("list[str]", list[str], parse_answers)
    YesNo = _lenient("Literal['Yes', 'No']", Literal["Yes", "No"], parse_yes_no)
    kinds = {"type": "array", "items": _any_of(AmbiguityType)}
    AmbiguityTypes = _lenient("list[AmbiguityType]", list[AmbiguityType], parse_ambiguity_types, kinds)
    Numbers = _lenient("list[int]", list[int], _numbers)
    Verdicts = _lenient("list[int]", list[int], _numbers)
    VerdictLines = _lenient("list[int]", list[int], _numbers)
    # Where no numbered passages are shown, the schema must not ask for the number of one.
    pair = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("question", "answer")},
        "required": ["question", "answer"],
    }
    Readings = _lenient(
        "list[Interpretation]", list[Interpretation], _interpretations, {"type": "array", "items": pair}
    )
    Grades = _lenient("Literal['Correct', 'Ambiguous', 'Incorrect']", Grade, parse_grade, _any_of(Grade))
    Supports = _lenient("Literal['Fully', 'Partially', 'No']", Support, parse_support, _any_of(Support))
    Usefulness = _lenient("Literal[1, 2, 3, 4, 5]", Literal[1, 2, 3, 4, 5], parse_usefulness)


@dataclass(frozen=True)
class AtMost:
    """How many words a text on one line has at most: a grammar of replies says it, no prompt does.

    The marks of a text stand in the metadata of its field. Its annotation, and so all else, is that of ``str``.
    """

    words: int


PASSAGE_NUMBER = "number of a passage"
LINE_FOR_EACH = "a line for each item of the last numbered input"
FewWords = Annotated[str, AtMost(15)]
OneLine = Annotated[str, AtMost(30)]
Sentences = Annotated[str, AtMost(60)]
LineForEach = Annotated[str, LINE_FOR_EACH]
PassageNumber = Annotated[str, PASSAGE_NUMBER]
"""Or null."""
