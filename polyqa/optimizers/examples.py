"""Examples and metrics of a DSPy user's own, as a compilation takes them."""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import dspy

from polyqa.base.errors import PolyqaError
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
    text, answers = item.get("question"), item.get("answers") or item.get("answer")
    answers = (str(answers),) if isinstance(answers, str | int | float) else answers
    if not isinstance(text, str) or not text.strip():
        raise PolyqaError(f"{place} has no question; it has {', '.join(item.keys()) or 'nothing'}.")
    if not isinstance(answers, Sequence) or not answers or not all(isinstance(one, str) and one for one in answers):
        raise PolyqaError(f"{place} has no answer to score against; it has {', '.join(item.keys())}.")
    return Question(place, text, (Reading(text, tuple(answers)),), (answers[0],))


class PlainMetric(AnswerMetric):
    """A metric function of a user's own, given the user's own examples.

    Parameters
    ----------
    function
        Called as ``function(gold, pred, trace)``; a number in [0, 1] or a verdict.
    examples
        The user's examples by the ids of their questions.
    settings
        Of `AnswerMetric`; its reader and measure score the runs before and after.
    """

    def __init__(self, function: Metric, examples: Mapping[str, Any], reader: SpanReader, **settings: Any) -> None:
        super().__init__(reader, **settings)
        self.function = function
        self.examples = examples

    @property
    def name(self) -> str:
        """The function's name and a hash of its code, by which compilations are told apart."""
        code = getattr(self.function, "__code__", None)
        made = hashlib.sha256(repr(_told(code)).encode()).hexdigest()[:16] if code else "object"
        return f"{getattr(self.function, '__qualname__', type(self.function).__qualname__)} ({made})"

    def __call__(self, example: dspy.Example, prediction: Any, trace: Any = None) -> float | bool:
        """Return what the function says; with a trace whether that reaches the threshold."""
        item = self.examples.get(example.gold.id, example)
        # With a trace a function may answer with a verdict, and True reaches every threshold.
        value = float(self.function(item if isinstance(item, dspy.Example) else example, prediction, trace))
        if not 0 <= value <= 1:
            raise PolyqaError(f"A metric gives a number from 0 to 1; {self.name} gave {value:g}.")
        return value if trace is None else value >= self.threshold and not getattr(prediction, "faults", None)

    def with_feedback(
        self, gold: dspy.Example, pred: Any, trace: Any = None, pred_name: str | None = None, pred_trace: Any = None
    ) -> dspy.Prediction:
        """Return what GEPA wants: the score, and in words that it is one."""
        score = float(self(gold, pred))
        return dspy.Prediction(score=score, feedback=f"The metric gives this answer {score:.2f}.")


def _told(code: CodeType) -> tuple[Any, ...]:
    """Return what a function's code does, wherever it stands: its steps, names and constants."""
    constants = [_told(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return code.co_code, code.co_names, constants


def as_metric(metric: Metric, examples: Mapping[str, Any], reader: SpanReader) -> AnswerMetric:
    """Return a metric as a plan takes it; ``examples`` are the user's, by the ids of their questions.

    `PolyqaError` is raised for what is no function of an example, a prediction and a trace.
    """
    if isinstance(metric, AnswerMetric):
        return metric
    if not callable(metric):
        raise PolyqaError(f"A metric is a function (gold, pred, trace=None), not a {type(metric).__name__}.")
    try:
        inspect.signature(metric).bind(None, None, None)
    except TypeError as error:
        raise PolyqaError(f"The metric cannot be called as metric(gold, pred, trace): {error}.") from error
    return PlainMetric(metric, examples, reader, measure="disambig_f1")
