"""Long answers as they came: cleaned of what language models put around them, and asked again where they refuse."""

from collections.abc import Mapping
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from polyqa.metrics.exact_presence import exact_presence
from polyqa.replies import clean_answer, tells_nothing

from .faults import REFUSED

_FIELD = "answer"


def settle_answer(signature: type[dspy.Signature], inputs: Mapping[str, Any], reply: Any, text: str) -> None:
    """Clean the long answer of a reply, in place: traces hold the same prediction.

    A refusal ("I'm sorry, but I cannot …") is an honest answer where nothing was found. Where there are readings to
    tell, in the reply or in what was asked, and it tells none of them, it is no answer.

    Parameters
    ----------
    signature
        Of the call; one without a long answer is left alone.
    inputs
        Of the call.
    reply
        The prediction.
    text
        The reply as it came.

    Raises
    ------
    AdapterParseError
        If nothing is left of the answer, or it is a refusal although there is something to tell.
    """
    field = signature.output_fields.get(_FIELD)
    if field is None or field.annotation is not str or not isinstance(reply.get(_FIELD), str):
        return
    try:
        answer = clean_answer(reply[_FIELD])
    except ValueError as error:
        raise _unread(signature, text, str(error)) from error
    readings = reply.get("interpretations") or inputs.get("interpretations") or inputs.get("refinements") or ()
    answers = [one.answer for one in readings if getattr(one, "answer", "")]
    asked = " ".join([str(inputs.get("question", "")), *(one.question for one in readings)])
    if answers and tells_nothing(answer, asked) and not exact_presence(answers, answer):
        raise _unread(signature, text, REFUSED)
    reply[_FIELD] = answer


def _unread(signature: type[dspy.Signature], text: str, why: str) -> AdapterParseError:
    return AdapterParseError("polyqa", signature, text, f"Failed to parse field {_FIELD}: {why}")
