"""Metrics that DSPy's optimizers call: one number per example, a verdict while demos are gathered."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import dspy

from polyqa.base.errors import PolyqaError
from polyqa.base.values import as_answer, as_readings
from polyqa.models import SpanReader

from .f1_answer import f1_answer
from .gold import Question
from .long_form import LongFormScore, score_long_answers
from .text import several

Measure = Literal["dr", "disambig_f1", "f1_answer"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


def short_answers(interpretations: Sequence[Any]) -> list[str]:
    """Return the short answers of interpretations; one that lists several is several."""
    return [answer for one in interpretations for answer in several(one.answer) or [one.answer]]


def f1_of_readings(interpretations: Sequence[Any], question: Question) -> float:
    """Return `f1_answer.f1_answer` of the `short_answers` of interpretations."""
    return f1_answer(
        short_answers(interpretations),
        [[reading.short_answers for reading in readings] for readings in question.annotations],
    )


class AnswerMetric:
    """Scores a prediction: its ``answer`` by Disambig-F1 or DR, or the answers of its ``interpretations``.

    Call it as DSPy does, ``metric(example, prediction, trace=None)``: without a trace it returns the
    score in [0, 1]; with one, which is how bootstrapping asks whether a run may become a demo, it
    returns whether the score reaches the threshold and no reply was lacking. (DSPy takes any score above 0 for a yes.)

    Parameters
    ----------
    reader
        The reader of Disambig-F1.
    measure
        ``"dr"`` (per example, see `long_form.LongFormScore.dr`), ``"disambig_f1"``, or ``"f1_answer"``, AmbigQA's set
        F1 of the short answers of the interpretations.
    threshold
        From which score on a run is good enough to become a demo, in [0, 1].
    """

    def __init__(
        self,
        reader: SpanReader,
        *,
        measure: Measure = "dr",
        threshold: float = 0.5,
    ) -> None:
        if not 0.0 <= threshold <= 1.0:
            raise ValueError(f"threshold must lie in [0, 1], got {threshold}")
        if measure not in MEASURES:
            raise ValueError(f"measure is one of {', '.join(MEASURES)}, got {measure!r}")
        self.reader = reader
        self.measure: Measure = measure
        self.threshold = threshold

    def __call__(self, example: dspy.Example, prediction: Any, trace: Any = None) -> float | bool:
        """Return the score, or with a trace whether it reaches the threshold."""
        value = self.of(example, prediction)
        # After a reply that something stands in for, the later calls of a run were given what nobody said.
        return value if trace is None else value >= self.threshold and not getattr(prediction, "faults", None)

    def of(self, example: dspy.Example, prediction: Any) -> float:
        """Return the measure's number; errors as of `value`."""
        if self.measure == "f1_answer":
            return f1_of_readings(as_readings(prediction.interpretations), gold_of(example))
        return self.value(self.score(example, prediction), gold_of(example))

    def score(self, example: dspy.Example, prediction: Any) -> LongFormScore:
        """Return every score of a prediction's answer."""
        return score_long_answers([as_answer(prediction.answer)], [gold_of(example)], self.reader)[0]

    def value(self, score: LongFormScore, question: Question) -> float:
        """Return the measure's number for a long answer.

        Raises
        ------
        PolyqaError
            If DR is asked for a question without a reference answer.
        """
        if self.measure == "disambig_f1":
            return score.disambig.f1
        if score.dr is None:
            raise PolyqaError(
                f"Question {question.id!r} has no reference long answer, which DR needs; use the measure disambig_f1."
            )
        return score.dr


def gold_of(example: dspy.Example) -> Question:
    """Return the gold question of an example made by `gold.Question.to_example`.

    Raises
    ------
    PolyqaError
        If the example has none.
    """
    gold = example.get("gold")
    if not isinstance(gold, Question):
        raise PolyqaError("An example has no gold question to score against; make examples with Question.to_example().")
    return gold
