"""What is known of each call, one table by signature: title, whether a helper may make it, fallback values.

A fallback takes the place of a reply that failed twice, so that one failure does not lose the whole question. It is
cautious: it adds nothing that no language model said.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import dspy

from polyqa import signatures as s
from polyqa.base.values import Grade, Interpretation, Support
from polyqa.replies import clean_readings, parse_interpretations, without_thoughts
from polyqa.signatures.lookup import find_by_fields

_COMPLETE = ("]", "}", "\n", "?", ".")  # what an item of a list ends with that has not broken off
Inputs = Mapping[str, Any]
Topic = Literal["typing", "readings", "verdicts", "answer", "other"]
"""What a call is about, for a page that shows the steps of a question."""


@dataclass(frozen=True)
class Fallback:
    """Values of output fields that take the place of a failed reply."""

    fields: Mapping[str, Any]
    became: str  # what that means, in words
    readings: int = 0  # how many readings they keep, so that a reply that broke off need not be asked for again


MakeFallback = Callable[[Inputs, str], Fallback | None]
"""Makes a fallback of a call's inputs and of the reply that could not be read; ``None`` where nothing can."""

NO_READINGS = Fallback({"interpretations": [], "answer": ""}, "no reading is taken from it")
"""For `ClarifyQuestion`, in programs that go on without an answer from the passages."""


class CallKind(NamedTuple):
    """What is known of the calls of one signature: how a page shows the step, who may make it, its fallback.

    A helper language model may make a call (``helps``) if no word of its reply stands in the answer: it only decides on
    the way to it.
    """

    topic: Topic
    title: str
    helps: bool
    fallback: MakeFallback


def _always(became: str, **fields: Any) -> MakeFallback:
    return lambda inputs, reply: Fallback(fields, became)


def _question_as(field: str) -> MakeFallback:
    return lambda inputs, reply: Fallback({field: inputs.get("question", "")}, "the question itself is searched for")


def _all_numbers(field: str, of: str, became: str) -> MakeFallback:
    return lambda inputs, reply: Fallback({field: list(range(1, len(inputs.get(of) or ()) + 1))}, became)


def _complete_readings(field: str) -> MakeFallback:
    def fallback(inputs: Inputs, reply: str) -> Fallback:
        readings = complete_readings(reply)
        return Fallback({field: readings}, _count(readings), len(readings))

    return fallback


def _readings_and_answer(inputs: Inputs, reply: str) -> Fallback | None:
    readings = complete_readings(reply)
    fields = {"interpretations": readings, "answer": _listed(readings)}
    return Fallback(fields, f"{_count(readings)}, the answer lists them", len(readings)) if readings else None


def _answer_of_readings(inputs: Inputs, reply: str) -> Fallback | None:
    readings = list(inputs.get("interpretations") or inputs.get("refinements") or ())
    return Fallback({"answer": _listed(readings)}, "the answer lists the readings") if readings else None


def _in_their_words(inputs: Inputs, reply: str) -> Fallback:
    findings = len(inputs.get("findings") or ())  # none is lost
    fields = {"interpretations": [], "answer": ""}
    return Fallback(fields, "the findings are told in the words of the passages", findings)


_NO_KIND = _always("no kind of ambiguity is named", reason="", ambiguity_types=[])
_ITSELF = _always("the question is its only pseudo-interpretation", pseudo_interpretations=[])
_UNANSWERABLE, _UNFITTING = _always("counted as No", answerable="No"), _always("counted as No", fitting="No")
_UNGRADED = _always("the passage counts as Ambiguous", grade=Grade.AMBIGUOUS)
_RETRIEVED = _always("passages are looked up", needs_passages="Yes")
_BEST_RANKED = _always("the best-ranked passages are taken", selected=[])
_NONE_KEPT = _always("no generated question is taken", kept=[])
_NO_ANSWERS = _always("the passage counts as silent", answers="none")
_NOT_MEANT = _always("the finding counts as not meant", holds="No")
_NOT_LOCATED = _always("no answer was located", short_answer="null", source="null", settled="No")
_ABSTAINS = _always("the passage counts as abstaining", interpretation="null", short_answer="null")
_SILENT = _always("the document counts as giving no answer", short_answer="null", explanation="null")
_IRRELEVANT = _always("the passage counts as not relevant", relevant="No", readings=[], segment="None")
_UNSUPPORTED = _always("the segment counts as not supported", support=Support.NO, usefulness=1)
_ALL_ANSWERED = _all_numbers("answered", "candidates", "nothing was verified, all count as answered")
_ALL_SUPPORTED = _all_numbers("supported", "interpretations", "nothing was verified, all readings are kept")
_ANSWER = "The answer is written"

CALLS: Mapping[type[dspy.Signature], CallKind] = {
    s.TypeAmbiguity: CallKind("typing", "Kind of ambiguity", True, _NO_KIND),
    s.InferPseudoInterpretations: CallKind("readings", "What could be meant", True, _ITSELF),
    s.VerifyInterpretation: CallKind("verdicts", "Is the reading answered?", True, _UNANSWERABLE),
    s.VerifyInterpretations: CallKind("verdicts", "Which readings are answered", True, _ALL_ANSWERED),
    s.VerifyReadings: CallKind("verdicts", "What the passages support", True, _ALL_SUPPORTED),
    s.ExtractInterpretations: CallKind("readings", "Readings", False, _complete_readings("interpretations")),
    s.ClarifyQuestion: CallKind("readings", "Readings", False, _readings_and_answer),
    s.WriteLongFormAnswer: CallKind("answer", _ANSWER, False, _answer_of_readings),
    s.AnswerClosedBook: CallKind("answer", _ANSWER, False, lambda inputs, reply: None),
    s.LocateAnswer: CallKind("typing", "Is it ambiguous here?", False, _NOT_LOCATED),
    s.InterpretPassage: CallKind("readings", "Reading of a passage", False, _ABSTAINS),
    s.RelaxQuery: CallKind("other", "A wider search", True, _question_as("relaxed_query")),
    s.RewriteQuery: CallKind("other", "Another search", True, _question_as("search_query")),
    s.VerifyAgainstRoot: CallKind("verdicts", "Does the answer fit the question?", True, _UNFITTING),
    s.GradePassage: CallKind("verdicts", "Grade of a passage", True, _UNGRADED),
    s.DecideRetrieval: CallKind("typing", "Are passages needed?", True, _RETRIEVED),
    s.DraftSegment: CallKind("readings", "Readings of a passage", False, _IRRELEVANT),
    s.CritiqueSegment: CallKind("verdicts", "What the passage supports", True, _UNSUPPORTED),
    s.ReadDocument: CallKind("readings", "Answer of a document", False, _SILENT),
    s.ReviseAnswer: CallKind("readings", "Answer after debate", False, lambda inputs, reply: None),
    s.AggregateAnswers: CallKind("answer", "The right answers are collected", False, _readings_and_answer),
    s.SelectPassages: CallKind("verdicts", "Passages chosen", True, _BEST_RANKED),
    s.SelectQuestions: CallKind("verdicts", "What is kept", True, _NONE_KEPT),
    s.ReadPassage: CallKind("readings", "Answers of a passage", True, _NO_ANSWERS),
    s.VerifyFinding: CallKind("verdicts", "Can the question mean it?", True, _NOT_MEANT),
    s.TellFindings: CallKind("answer", _ANSWER, False, _in_their_words),
    s.RefineQuestion: CallKind("readings", "Readings from memory", False, _complete_readings("refinements")),
    s.AnswerRefined: CallKind("answer", _ANSWER, False, _answer_of_readings),
}
"""The calls of the programs. Optimizers and users reword signatures, so a call is known by its fields."""


def kind_of(signature: type[dspy.Signature], *, exact: bool = False) -> CallKind | None:
    """Return what is known of the calls of a signature; ``None`` for a user's own, see `lookup.find_by_fields`."""
    return find_by_fields(CALLS, signature.input_fields, signature.output_fields, exact=exact)


def fallback_for(signature: type[dspy.Signature], inputs: Inputs, reply: str, *, cut: bool = False) -> Fallback | None:
    """Return the fallback of a failed call; ``None`` where nothing can take its place, as for a closed-book answer.

    The readings that stand whole in the unreadable reply are kept; if it broke off its last line may not be whole.
    """
    kind = kind_of(signature, exact=True)
    if kind is None:
        return None
    reply = without_thoughts(reply)
    if cut and not reply.endswith(_COMPLETE):
        reply = reply[: reply.rfind("\n") + 1]
    return kind.fallback(inputs, reply)


def drop_unfinished(signature: type[dspy.Signature], reply: dspy.Prediction, text: str) -> tuple[str, str] | None:
    """Leave out what is not whole of a reply (as it came: ``text``) that broke off but could be read.

    The prediction is changed in place, so that the trace has it so, too. Return the field that broke off and what
    became of it, in words; ``None`` if nothing was lost, as after a label.
    """
    *_, name = signature.output_fields
    value = reply[name]
    if isinstance(value, list) and len(value) > 1 and not text.rstrip(" \t").endswith(_COMPLETE):
        reply[name] = value[:-1]
        item_count = len(value) - 1
        return name, f"without its last item, {item_count} {'is' if item_count == 1 else 'are'} kept"
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
    readings: list[Interpretation] = []
    for piece in pieces:
        try:
            parsed = parse_interpretations(json.loads(piece) if piece.startswith("{") else piece)
        except (ValueError, RecursionError):  # no reading, or brackets within brackets without end
            continue
        readings += [reading for reading in parsed if reading.question and reading.answer]
    return clean_readings(readings)


def _listed(readings: Sequence[Interpretation]) -> str:
    """Return readings as an answer in plain words, one after the other."""
    return " ".join(f"{reading.question} {reading.answer.rstrip('.')}." for reading in readings)


def _count(readings: Sequence[Interpretation]) -> str:
    if not readings:
        return "no reading is taken from it"
    return f"{len(readings)} complete reading{'s are' if len(readings) > 1 else ' is'} kept"
