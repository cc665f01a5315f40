"""Replies are cleaned: readings of repetitions, long answers of what is put around them; refusals are refused."""

from collections.abc import Mapping
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from polyqa.base.values import Interpretation
from polyqa.replies import clean_answer, clean_readings, tells_nothing
from polyqa.signatures import AnswerClosedBook

REFUSED = "a refusal instead of an answer"
_FIELD = "answer"
_READINGS = {"interpretations", "refinements"}


def clean_reply(signature: type[dspy.Signature], inputs: Mapping[str, Any], reply: Any, text: str) -> None:
    """Clean the readings and the long answer of a reply (as it came: ``text``), in place: traces hold the same one.

    A refusal ("I'm sorry, but I cannot …") is an honest answer where nothing was found. Where there are readings to
    tell, in the reply or in what was asked, and it tells none of them, it is no answer. The field ``answer`` of a
    user's own signature is left as it is, unless there are readings to tell: "none" may be one of its answers.

    Raises
    ------
    AdapterParseError
        If nothing is left of the answer, or it is a refusal although there is something to tell.
    """
    for name in signature.output_fields:
        value = reply.get(name)
        if isinstance(value, list) and all(isinstance(item, Interpretation) for item in value):
            reply[name] = clean_readings(value)
    field = signature.output_fields.get(_FIELD)
    if field is None or field.annotation is not str or not isinstance(reply.get(_FIELD), str):
        return
    if not _READINGS & signature.fields.keys() and signature.fields.keys() != AnswerClosedBook.fields.keys():
        return
    try:
        answer = clean_answer(reply[_FIELD])
    except ValueError as error:
        raise _unreadable(signature, text, str(error)) from error
    readings = reply.get("interpretations") or inputs.get("interpretations") or inputs.get("refinements") or ()
    short_answers = [reading.answer for reading in readings if getattr(reading, "answer", "")]
    topics = " ".join([str(inputs.get("question", "")), *(reading.question for reading in readings)])
    tells_reading = any(short.lower() in answer.lower() for short in short_answers)
    if short_answers and tells_nothing(answer, topics) and not tells_reading:
        raise _unreadable(signature, text, REFUSED)
    reply[_FIELD] = answer


def _unreadable(signature: type[dspy.Signature], text: str, why: str) -> AdapterParseError:
    return AdapterParseError("polyqa", signature, text, f"Failed to parse field {_FIELD}: {why}")
