"""What stands in for a reply that cannot be had: of many calls for a question one may fail without losing the others.

Whatever stands in is cautious: it adds nothing that no language model said.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from polyqa.base.values import Grade, Interpretation, Support
from polyqa.replies import parse_interpretations, without_thoughts
from polyqa.signatures import (
    AnswerRefined,
    ClarifyQuestion,
    CritiqueSegment,
    DecideRetrieval,
    DraftSegment,
    ExtractInterpretations,
    GradePassage,
    InferPseudoInterpretations,
    InterpretPassage,
    LocateAnswer,
    RefineQuestion,
    RelaxQuery,
    RewriteQuery,
    SelectPassages,
    SelectQuestions,
    TypeAmbiguity,
    VerifyAgainstRoot,
    VerifyInterpretation,
    VerifyInterpretations,
    VerifyReadings,
    WriteLongFormAnswer,
)
from polyqa.signatures.lookup import find_by_fields

_COMPLETE = ("]", "}", "\n", "?", ".")  # what an item of a list ends with that has not broken off
Inputs = Mapping[str, Any]
Fields = dict[str, Any]


@dataclass(frozen=True)
class StandIn:
    """What is taken instead of a reply.

    Attributes
    ----------
    fields
        The output fields.
    became
        What that means, in words.
    kept
        How many readings of the reply are kept.
    """

    fields: Fields
    became: str
    kept: int = 0


NOTHING_FOUND = StandIn({"interpretations": [], "answer": ""}, "no reading is taken from it")
"""For `ClarifyQuestion`, where a program goes on without an answer from the passages."""


def _typing(inputs: Inputs, reply: str) -> StandIn:
    return StandIn({"reason": "", "ambiguity_types": []}, "no kind of ambiguity is named")


def _inference(inputs: Inputs, reply: str) -> StandIn:
    return StandIn({"pseudo_interpretations": []}, "the question is its only pseudo-interpretation")


def _extraction(inputs: Inputs, reply: str) -> StandIn:
    readings = complete_readings(reply)
    return StandIn({"interpretations": readings}, _kept(readings), len(readings))


def _clarification(inputs: Inputs, reply: str) -> StandIn | None:
    readings = complete_readings(reply)
    if not readings:
        return None
    fields = {"interpretations": readings, "answer": told(readings)}
    return StandIn(fields, f"{_kept(readings)}, the answer lists them", len(readings))


def _writing(inputs: Inputs, reply: str) -> StandIn | None:
    readings = list(inputs.get("interpretations") or inputs.get("refinements") or ())
    return StandIn({"answer": told(readings)}, "the answer lists the readings") if readings else None


def _verification_of_all(inputs: Inputs, reply: str) -> StandIn:
    every = list(range(1, len(inputs.get("candidates") or ()) + 1))
    return StandIn({"answered": every}, "nothing was verified, all count as answered")


def _check_of_readings(inputs: Inputs, reply: str) -> StandIn:
    every = list(range(1, len(inputs.get("interpretations") or ()) + 1))
    return StandIn({"supported": every}, "nothing was verified, all readings are kept")


def _refinement(inputs: Inputs, reply: str) -> StandIn:
    readings = complete_readings(reply)
    return StandIn({"refinements": readings}, _kept(readings), len(readings))


def _same(fields: Fields, became: str) -> Callable[[Inputs, str], StandIn]:
    return lambda inputs, reply: StandIn(dict(fields), became)


def _question_as(name: str, became: str) -> Callable[[Inputs, str], StandIn]:
    return lambda inputs, reply: StandIn({name: inputs.get("question", "")}, became)


_STAND_INS: Mapping[type[dspy.Signature], Callable[[Inputs, str], StandIn | None]] = {
    TypeAmbiguity: _typing,
    InferPseudoInterpretations: _inference,
    VerifyInterpretation: _same({"answerable": "No"}, "counted as No"),
    VerifyInterpretations: _verification_of_all,
    VerifyReadings: _check_of_readings,
    ExtractInterpretations: _extraction,
    ClarifyQuestion: _clarification,
    WriteLongFormAnswer: _writing,
    LocateAnswer: _same({"short_answer": "null", "source": "null", "settled": "No"}, "no answer was located"),
    InterpretPassage: _same({"interpretation": "null", "short_answer": "null"}, "the passage counts as abstaining"),
    RelaxQuery: _question_as("relaxed_query", "the question itself is searched for"),
    RewriteQuery: _question_as("search_query", "the question itself is searched for"),
    VerifyAgainstRoot: _same({"fitting": "No"}, "counted as No"),
    GradePassage: _same({"grade": Grade.AMBIGUOUS}, "the passage counts as Ambiguous"),
    DecideRetrieval: _same({"needs_passages": "Yes"}, "passages are looked up"),
    DraftSegment: _same({"relevant": "No", "readings": [], "segment": "None"}, "the passage counts as not relevant"),
    CritiqueSegment: _same({"support": Support.NO, "usefulness": 1}, "the segment counts as not supported"),
    SelectPassages: _same({"selected": []}, "the best-ranked passages are taken"),
    SelectQuestions: _same({"kept": []}, "no generated question is taken"),
    RefineQuestion: _refinement,
    AnswerRefined: _writing,
}


def stand_in(signature: type[dspy.Signature], inputs: Inputs, reply: str, *, cut: bool = False) -> StandIn | None:
    """Return what stands in for a reply; ``None`` if nothing can, as for a long answer without a reading.

    Parameters
    ----------
    signature
        Of the call; known by its fields (`signatures.lookup.find_by_fields`).
    inputs
        Of the call.
    reply
        The reply that could not be read: what is complete in it is kept. Empty if none came.
    cut
        Whether the reply broke off, so that its last line may not be whole.
    """
    reply = without_thoughts(reply)
    if cut and not reply.endswith(_COMPLETE):
        reply = reply[: reply.rfind("\n") + 1]
    found = find_by_fields(_STAND_INS, signature.input_fields, signature.output_fields, exact=True)
    return found(inputs, reply) if found else None


def cut_short(signature: type[dspy.Signature], reply: dspy.Prediction, text: str) -> tuple[str, str] | None:
    """Leave out of a reply what is not whole, where the reply broke off but could be read.

    Parameters
    ----------
    signature
        Of the call.
    reply
        The prediction; it is changed in place, so that the trace has it so, too.
    text
        The reply as it came.

    Returns
    -------
    tuple of str, or None
        The field that broke off and what became of it, in words; ``None`` if nothing was lost, as after a label.
    """
    name = list(signature.output_fields)[-1]
    value = reply[name]
    if isinstance(value, list) and len(value) > 1 and not text.rstrip(" \t").endswith(_COMPLETE):
        reply[name] = value[:-1]
        left = len(value) - 1
        return name, f"without its last item, {left} {'is' if left == 1 else 'are'} kept"
    if signature.output_fields[name].annotation is str and value:
        return name, "kept as far as it goes"
    return None


def complete_readings(reply: str) -> list[Interpretation]:
    r"""Return the readings that stand whole in a reply which breaks off or has something unreadable behind them.

    >>> [one.answer for one in complete_readings('[{"question": "In 1998?", "answer": "France"}, {"question": "In 20')]
    ['France']
    >>> [one.answer for one in complete_readings("1. Who won in 1998? | France\n2. Who won in 20")]
    ['France']
    """
    start, end = reply.find("{"), reply.rfind("}")
    pieces = re.findall(r"\{[^{}]*\}", reply[start : end + 1]) if 0 <= start < end else reply.splitlines()
    found: list[Interpretation] = []
    for piece in pieces:
        try:
            read = parse_interpretations(json.loads(piece) if piece.startswith("{") else piece)
        except (ValueError, RecursionError):
            continue
        found += [one for one in read if one.question and one.answer and one not in found]
    return found


def told(readings: Sequence[Interpretation]) -> str:
    """Return readings as an answer in plain words, one after the other."""
    return " ".join(f"{one.question} {one.answer.rstrip('.')}." for one in readings)


def _kept(readings: Sequence[Interpretation]) -> str:
    if not readings:
        return "no reading is taken from it"
    return f"{len(readings)} complete reading{'s are' if len(readings) > 1 else ' is'} kept"
