"""Output types that accept what language models really write.

DSPy parses a typed field with ``json_repair`` and hands the outcome to pydantic. The types below
put a validator in front, so that a numbered list, ``DQ 1: … / DA 1: …`` lines, one object where a
list is due, ``Yes.`` or ``[ambsub]`` count as the value they plainly mean. Text that means nothing
still fails, with the text in the message.

They are classes with a schema of their own, as pydantic strips ``Annotated`` from a signature's fields
and with it the validator, and DSPy takes nothing but classes when it copies or loads a signature.
Each is named after the type it stands for, because DSPy shows that name to the language model.
"""

from .answers import parse_answers
from .interpretations import parse_interpretations
from .labels import parse_ambiguity_types, parse_grade, parse_support, parse_usefulness
from .long_answers import clean_answer, tells_nothing
from .nothing import is_null, looks_like_refusal
from .numbers import parse_numbers
from .questions import parse_questions
from .tagged import parse_interpretation_lines
from .text import parse_lines, without_thoughts
from .types import (
    PASSAGE_NUMBER,
    AmbiguityTypes,
    Answers,
    AtMost,
    FewWords,
    Grades,
    Interpretations,
    Numbers,
    OneLine,
    PassageNumber,
    Questions,
    Readings,
    Sentences,
    Supports,
    Usefulness,
    YesNo,
)
from .verdicts import parse_yes_no

__all__ = [
    "PASSAGE_NUMBER",
    "AmbiguityTypes",
    "Answers",
    "AtMost",
    "FewWords",
    "Grades",
    "Interpretations",
    "Numbers",
    "OneLine",
    "PassageNumber",
    "Questions",
    "Readings",
    "Sentences",
    "Supports",
    "Usefulness",
    "YesNo",
    "clean_answer",
    "is_null",
    "looks_like_refusal",
    "parse_ambiguity_types",
    "parse_answers",
    "parse_grade",
    "parse_interpretation_lines",
    "parse_interpretations",
    "parse_lines",
    "parse_numbers",
    "parse_questions",
    "parse_support",
    "parse_usefulness",
    "parse_yes_no",
    "tells_nothing",
    "without_thoughts",
]
