"""Examples and metrics of a DSPy user's own, as a compilation takes them."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.evaluation.loading.fields import answers as as_answers
from polyqa.metrics.gold import Question, Reading
from polyqa.metrics.optimizing import AnswerMetric
from polyqa.models import SpanReader

Metric = Callable[..., Any]
"""``(gold, pred, trace=None)``, which returns a number or a verdict."""


def as_question(item: Question | dspy.Example, place: str) -> Question:
    """Return an example as a question: its ``gold``, or its ``question`` with its ``answer`` (a text or several).

    Of any other item the `PolyqaError` names its ``place``.
    """
    if isinstance(item, Question):
        return item
    if not isinstance(item, dspy.Example):
        raise PolyqaError(f"{place} is a {type(item).__name__}; give dspy.Examples or Questions.")
    gold = item.get("gold")
    if isinstance(gold, Question):
        return gold
    text, answers = item.get("question"), _listed(item.get("answers")) or _listed(item.get("answer"))
    if not isinstance(text, str) or not text.strip():
        raise PolyqaError(f"{place} has no question; it has {', '.join(item.keys()) or 'nothing'}.")
    if not isinstance(answers, Sequence) or not answers or not all(isinstance(one, str) and one for one in answers):
        raise PolyqaError(f"{place} has no answer to score against; it has {', '.join(item.keys())}.")
    return Question(place, text, (Reading(text, tuple(answers)),), (answers[0],))


def _listed(answers: Any) -> Any:
    """Return answers as a list, if they are texts or figures; pandas has arrays of them, and NaN for none."""
    answers = answers.tolist() if hasattr(answers, "tolist") else answers
    if isinstance(answers, str) or answers != answers:
        return [answers] if isinstance(answers, str) else None
    return as_answers(answers)


@dataclass
class _Heard:
    """What became of the calls of a metric: how many gave a share, the last error, what was said of no share."""

    scored: int = 0
    error: Exception | None = None
    no_share: PolyqaError | None = None


class PlainMetric(AnswerMetric):
    """A metric function of a user's own, given the user's own examples.

    Parameters
    ----------
    function
        Called as ``function(gold, pred, trace)``; a number in [0, 1] or a verdict. For GEPA also with ``pred_name`` and
        ``pred_trace``, if it takes them, and what it returns may have ``feedback``.
    examples
        The user's examples by `example_key`.
    settings
        Of `AnswerMetric`; its reader and measure score the runs before and after.
    """

    def __init__(self, function: Metric, examples: Mapping[Any, Any], reader: SpanReader, **settings: Any) -> None:
        super().__init__(reader, **settings)
        self.function = function
        self.examples = examples
        self.heard = _Heard()  # copies share it

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))

    def __call__(self, example: dspy.Example, prediction: Any, trace: Any = None) -> float | bool:
        """Return what the function says; with a trace whether that reaches the threshold."""
        # With a trace a function may answer with a verdict, and True reaches every threshold.
        _, value = self._value(example, prediction, trace)
        return value if trace is None else value >= self.threshold and not getattr(prediction, "faults", None)

    def with_feedback(
        self, gold: dspy.Example, pred: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> dspy.Prediction:
        """Return what GEPA wants: the score, and the function's feedback, else in words that it is a score."""
        try:
            inspect.signature(self.function).bind(gold, pred, trace, pred_name, pred_trace)
            predictor_arguments = [pred_name, pred_trace]
        except TypeError:
            predictor_arguments = []
        verdict, score = self._value(gold, pred, None, *predictor_arguments)
        words = getattr(verdict, "feedback", None) or f"The metric gives this answer {score:.2f}."
        return dspy.Prediction(score=score, feedback=words)

    def check(self) -> None:
        """Raise `PolyqaError` for what optimizers pass over: a number that is no share, or nothing but errors."""
        if self.heard.no_share is not None:
            raise self.heard.no_share
        if self.heard.error is not None and not self.heard.scored:
            why = f"{type(self.heard.error).__name__}: {self.heard.error}"
            raise PolyqaError(f"The metric {self.name} failed on every answer: {why}") from self.heard.error

    def _value(self, example: dspy.Example, *arguments: Any) -> tuple[Any, float]:
        """Return what the function gives for an example, as it is and as a number."""
        item = self.examples.get(example_key(example.gold), example)
        try:
            verdict = self.function(item if isinstance(item, dspy.Example) else example, *arguments)
            value = float(verdict)
            if not 0 <= value <= 1:
                message = f"A metric gives a number from 0 to 1; {self.name} gave {value:g}."
                self.heard.no_share = PolyqaError(message)
                raise self.heard.no_share
        except Exception as error:
            self.heard.error = error
            raise
        self.heard.scored += 1
        return verdict, value


def example_key(question: Question) -> tuple[str, str]:
    """Return what tells a question from those of other sets, whose ids may be the same numbers of rows."""
    return question.id, question.question


def as_metric(metric: Metric, examples: Mapping[Any, Any], reader: SpanReader) -> PlainMetric:
    """Return a function as a plan takes it; ``examples`` are the user's, by `example_key`.

    `PolyqaError` is raised for what is no function of an example, a prediction and a trace.
    """
    if not callable(metric):
        raise PolyqaError(f"A metric is a function (gold, pred, trace=None), not a {type(metric).__name__}.")
    try:
        inspect.signature(metric).bind(None, None, None)
    except TypeError as error:
        raise PolyqaError(f"The metric cannot be called as metric(gold, pred, trace): {error}.") from error
    return PlainMetric(metric, examples, reader, measure="disambig_f1")
