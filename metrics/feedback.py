"""Feedback in words for optimizers that read it (GEPA): what an answer covers, and what each step missed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import dspy

from polyqa.base.values import AmbiguityType, Interpretation, as_readings
from polyqa.models import SpanReader
from polyqa.replies import parse_ambiguity_types, parse_numbers, parse_yes_no
from polyqa.signatures import (
    ClarifyQuestion,
    ExtractInterpretations,
    InferPseudoInterpretations,
    TypeAmbiguity,
    VerifyInterpretation,
    VerifyInterpretations,
    VerifyReadings,
    WriteLongFormAnswer,
)

from .agreement import agree
from .edit_f1 import edits, question_edit_f1, question_tokens
from .exact_match import exact_match
from .exact_presence import exact_presence
from .gold import Question, Reading
from .long_form import LongFormScore
from .optimizing import AnswerMetric, Measure, gold_of, short_answers
from .text import several


class FeedbackMetric:
    """GEPA's metric: the score of the whole answer, with feedback in words.

    Call it as GEPA does, ``metric(gold, pred, trace, pred_name, pred_trace)``. The score is always that
    of the whole program, as GEPA wants; when ``pred_trace`` names a step, the feedback says what this
    step did and missed (`step_feedback`).

    Parameters
    ----------
    reader, measure
        See `optimizing.AnswerMetric`.
    """

    def __init__(self, reader: SpanReader, *, measure: Measure = "dr") -> None:
        self.metric = AnswerMetric(reader, measure=measure)

    def __call__(
        self,
        gold: dspy.Example,
        pred: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Sequence[tuple[Any, Mapping[str, Any], Mapping[str, Any]]] | None = None,
    ) -> dspy.Prediction:
        """Return ``dspy.Prediction(score, feedback)``."""
        question = gold_of(gold)
        score = self.metric.score(gold, pred)
        parts = [answer_feedback(question, score)]
        if self.metric.measure == "f1_answer":
            parts += form_feedback(question, as_readings(pred.interpretations))
        for predictor, inputs, outputs in pred_trace or ():
            parts += step_feedback(question, predictor.signature, inputs, outputs)
        return dspy.Prediction(score=self.metric.of(gold, pred), feedback="\n".join(parts))


def answer_feedback(question: Question, score: LongFormScore) -> str:
    """Return which readings a long answer covers, misses and gets wrong, and how its length compares."""
    covered, missed, wrong = [], [], []
    for reading, answer in zip(question.readings, score.disambig.answers, strict=True):
        if agree(answer, reading.short_answers):
            covered.append(_wanted(reading))
        elif not answer:
            missed.append(_wanted(reading))
        else:
            wrong.append(f"{_wanted(reading)}, but the answer reads as “{answer}”")
    lines = [
        f"The long answer covers {len(covered)} of {len(question.readings)} readings "
        f"(Disambig-F1 {score.disambig.f1:.2f}"
        + (f", ROUGE-L {score.rouge_l:.2f})." if score.rouge_l is not None else ").")
    ]
    lines += _listed("Covered", covered) + _listed("Missed", missed) + _listed("Wrong", wrong)
    if question.long_answers:
        usual = sum(len(text.split()) for text in question.long_answers) / len(question.long_answers)
        if not 0.67 <= score.length / max(1.0, usual) <= 1.5:
            lines.append(f"It has {score.length} words; good answers to this question have about {usual:.0f}.")
    return "\n".join(lines)


def form_feedback(question: Question, interpretations: Sequence[Interpretation]) -> list[str]:
    """Return which short answers mean what is wanted and have another form, which `f1_answer` takes for wrong."""
    answers = short_answers(interpretations)
    other = []
    for reading in question.readings:
        alike = [answer for answer in answers if agree(answer, reading.short_answers)]
        if alike and not any(exact_match(answer, reading.short_answers) for answer in alike):
            other.append(f"{_wanted(reading)}, but the short answer is “{alike[0]}”")
    return _listed("Counted as wrong, because the short answer has another form than the wanted one", other)


def _extraction(question: Question, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    extracted = as_readings(outputs["interpretations"])
    passages = _text(inputs.get("passages"))
    overlooked: list[str] = []
    absent: list[str] = []
    for reading in question.readings:
        if any(agree(one.answer, reading.short_answers) for one in extracted):
            continue
        (overlooked if exact_presence(reading.short_answers, passages) else absent).append(_wanted(reading))
    strange = [
        f"{one.question} → “{one.answer}”"
        for one in extracted
        if all(not agree(one.answer, reading.short_answers) for reading in question.readings)
    ]
    return (
        _listed("This step overlooked readings whose answers stand in its passages", overlooked)
        + _listed("It extracted readings that are not wanted, or have a wrong answer", strange)
        + _listed("Not its fault, the passages lack them", absent)
    ) or ["This step found every reading, and nothing else."]


def _pseudo_interpretations(question: Question, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    pseudo_questions: list[str] = list(outputs["pseudo_interpretations"])
    prompt = question_tokens(question.question)
    pseudo_tokens = {token for one in pseudo_questions for token in question_tokens(one)}
    added = [
        [token for kind, token in edits(prompt, question_tokens(reading.question)) if kind == "added"]
        for reading in question.readings
    ]
    lacking = []
    for reading, tokens in zip(question.readings, added, strict=True):
        elsewhere = {token for other in added if other is not tokens for token in other}
        settles = [token for token in tokens if token not in elsewhere] or tokens  # not the "in" of "in 1997"
        if settles and not pseudo_tokens & set(settles):
            lacking.append(f"{reading.question} (no question says: {', '.join(settles)})")
    if len(question.readings) == 1 and len(pseudo_questions) > 1:
        return [f"The question has one meaning, yet this step wrote {len(pseudo_questions)} readings."]
    return _listed("No pseudo-interpretation points to", lacking) or ["The pseudo-interpretations reach every reading."]


def _verification(question: Question, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    reading, verdict = str(inputs.get("question", "")), parse_yes_no(outputs["answerable"])
    return _judged(question, reading, _text(inputs.get("passages")), verdict)


def _verifications(question: Question, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    passages, answered = _text(inputs.get("passages")), parse_numbers(outputs["answered"])
    candidates = inputs.get("candidates") or ()
    verdicts = {str(reading): "Yes" if number in answered else "No" for number, reading in enumerate(candidates, 1)}
    return [line for reading, verdict in verdicts.items() for line in _judged(question, reading, passages, verdict)]


def _checked_readings(question: Question, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    supported, lines = parse_numbers(outputs["supported"]), list[str]()
    for number, candidate in enumerate(as_readings(inputs.get("interpretations")), 1):
        right = any(agree(candidate.answer, reading.short_answers) for reading in question.readings)
        if right != (number in supported):
            verdict = "holds, for its answer is wanted" if right else "does not hold, for its answer is not wanted"
            lines.append(f"{candidate.question} → “{candidate.answer}” {verdict}; this step said otherwise.")
    return lines


def _judged(question: Question, reading: str, passages: str, verdict: str) -> list[str]:
    prompt, tokens = question_tokens(question.question), question_tokens(reading)
    likeness = [question_edit_f1(prompt, tokens, question_tokens(one.question)) for one in question.readings]
    if len(likeness) > 1 and not any(likeness):
        return []  # it was asked about something else
    nearest = question.readings[likeness.index(max(likeness))]
    present = exact_presence(nearest.short_answers, passages)
    if present == (verdict == "Yes"):
        return []
    truth = "do hold" if present else "do not hold"
    return [f"Asked “{reading}” this step said {verdict}, but the passages {truth} the answer to: {_wanted(nearest)}."]


def _typing(question: Question, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    types = parse_ambiguity_types(outputs["ambiguity_types"])
    plain = all(kind is AmbiguityType.NONE for kind in types)
    if plain and len(question.readings) > 1:
        return [f"This step called the question plain; it has {len(question.readings)} readings."]
    if not plain and len(question.readings) == 1:
        return ["This step called the question ambiguous; it has one meaning."]
    gold_types = question.ambiguity_types
    if gold_types and not set(gold_types) & set(types):
        reason = f" ({question.reason})" if question.reason else ""
        return [f"The ambiguity is {', '.join(gold_types)}{reason}, this step said {', '.join(map(str, types))}."]
    return []


def _writing(question: Question, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    readings = as_readings(inputs.get("interpretations"))
    text = str(outputs["answer"])
    dropped = [
        f"{one.question} → “{one.answer}”"
        for one in readings
        if not all(exact_presence([answer], text) for answer in several(one.answer))
    ]
    return _listed("This step was given these readings and left their answers out", dropped)


def _clarification(question: Question, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[str]:
    lines = _extraction(question, inputs, outputs) if "interpretations" in outputs else []
    return lines + _writing(question, outputs, outputs)


def _wanted(reading: Reading) -> str:
    return f"{reading.question} → “{reading.short_answers[0]}”"


def _text(passages: Any) -> str:
    return passages if isinstance(passages, str) else "\n".join(map(str, passages or ()))


def _listed(head: str, items: Sequence[str]) -> list[str]:
    return [f"{head}:", *(f"- {item}" for item in items)] if items else []


_STEPS: Mapping[type[dspy.Signature], Callable[[Question, Mapping[str, Any], Mapping[str, Any]], list[str]]] = {
    ExtractInterpretations: _extraction,
    InferPseudoInterpretations: _pseudo_interpretations,
    VerifyInterpretation: _verification,
    VerifyInterpretations: _verifications,
    VerifyReadings: _checked_readings,
    TypeAmbiguity: _typing,
    ClarifyQuestion: _clarification,
    WriteLongFormAnswer: _writing,
}


def step_feedback(
    question: Question, signature: type[dspy.Signature], inputs: Mapping[str, Any], outputs: Mapping[str, Any]
) -> list[str]:
    """Return what one call of a predictor missed; nothing for a call of another kind, or if its reply cannot be read.

    What a call should have done is known by what it says: the last output field of one of polyqa's signatures. So a
    program with signatures of its own gets feedback, too, if it names what it says alike; what a call is given
    it does not say.
    """
    replied = [name for name in signature.output_fields if name in outputs]  # a reply may lack some
    fields = {*signature.input_fields, *replied}
    alike = [
        one
        for one in _STEPS
        if list(one.output_fields)[-1] in replied and not one.output_fields.keys() & signature.input_fields.keys()
    ]
    nearest = max(alike, key=lambda one: len(fields & one.fields.keys()), default=None)
    with suppress(ValueError):  # of another type, and not to be read as ours
        return _STEPS[nearest](question, inputs, outputs) if nearest else []
    return []
