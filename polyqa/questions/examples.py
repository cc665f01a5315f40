"""Worked examples for the calls that make questions of passages.

Without them a small model copies the prompt in place of an answer: of 16 passages a 1.5B model named no span, with them
66. The passages and all words are our own; what they say is common knowledge that does not change.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import dspy

from polyqa.extractive import ExtractiveEngine
from polyqa.signatures import AnswerFromPassage, AskOfNamesakes, DetectAnswers, GenerateQuestion, ReviseQuestion

_SIGNATURES = (DetectAnswers, GenerateQuestion, ReviseQuestion, AskOfNamesakes, AnswerFromPassage)


@cache
def _examples() -> dict[str, list[dict[str, Any]]]:
    """Return the examples of ``examples.json`` by the names of their signatures."""
    examples: dict[str, list[dict[str, Any]]]
    examples = json.loads(files(__package__).joinpath("examples.json").read_text(encoding="utf-8"))
    return examples


def with_examples(signature: type[dspy.Signature]) -> dspy.Predict:
    """Return a predictor of one of these calls, whatever its instructions, with its examples as demos.

    The embedded engine gets none: it does the same without.
    """
    predictor = dspy.Predict(signature)
    if not isinstance(getattr(dspy.settings.lm, "engine", None), ExtractiveEngine):
        known = next(known for known in _SIGNATURES if _fields(known) == _fields(signature))
        shown = _examples()[known.__name__]
        predictor.demos = [dspy.Example(**one).with_inputs(*signature.input_fields) for one in shown]
    return predictor


def _fields(signature: type[dspy.Signature]) -> tuple[list[str], list[str]]:
    return list(signature.input_fields), list(signature.output_fields)
