"""One line of predictions.jsonl: what a program gave for one question, what it scored and took."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from polyqa.base.values import Interpretation, Passage, Sources
from polyqa.base.work import Failure
from polyqa.metrics.gold import Question

from .scoring import OF_READINGS, Output


@dataclass(frozen=True)
class Took:
    """What answers took: how many they are and failed, calls of language models, tokens, seconds of all together."""

    answers: int = 0
    failed: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Took") -> "Took":
        return Took(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


class Record(BaseModel, frozen=True):
    """What a program gave for one question.

    Attributes
    ----------
    id, question
        Of the data set.
    ambiguity, gold_readings
        Its ambiguity type, if known, and how many readings it has: for breakdowns.
    answer, interpretations, passages
        The output; empty after a failure. The answer is ``None`` for systems of short answers only.
    universe
        All passages that were retrieved, if these are not the ones above.
    sources
        For each interpretation which passages back it.
    extra
        What else the program reported.
    scores
        By name, see `scoring.Scorer.score`. A failed question scores as an empty answer does.
    calls, input_tokens, output_tokens, seconds
        What it took; ``None`` where that is not known, as of another system.
    cached
        How many of the calls a cache answered: their tokens and seconds are not known.
    error
        ``None`` unless the program failed.
    """

    id: str
    question: str
    ambiguity: str | None = None
    gold_readings: int
    answer: str | None = ""
    interpretations: tuple[Interpretation, ...] = ()
    passages: tuple[Passage, ...] = ()
    universe: tuple[Passage, ...] = ()
    sources: tuple[Sources, ...] = ()
    extra: dict[str, Any] = Field(default_factory=dict)
    scores: dict[str, float] = Field(default_factory=dict)
    calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    cached: int = 0
    error: Failure | None = None

    @classmethod
    def of(cls, question: Question, output: Output, **fields: Any) -> "Record":
        """Return the record of what was given for a question."""
        return cls(
            id=question.id,
            question=question.question,
            ambiguity=question.ambiguity,
            gold_readings=len(question.readings),
            answer=output.answer,
            interpretations=tuple(output.interpretations),
            passages=tuple(output.passages),
            universe=tuple(output.universe),
            sources=tuple(output.sources),
            **fields,
        )

    def value(self, name: str) -> float:
        """Return a score, or a cost, by name; NaN if the question has none."""
        if name == "failed":
            return float(self.error is not None)
        if name == "calls" or (name in _TOOK and not self.cached):
            took = getattr(self, name)
            return float("nan") if took is None else float(took)
        return self.scores.get(name, float("nan"))


def column_scores(records: Sequence[Record], names: Sequence[str]) -> list[NDArray[np.float64]]:
    """Return one array per name, shape (records,), NaN where a question does not have the score.

    A failed question is never dropped: it gets 0 in every score that the answered questions have, and
    all its gold readings count as not recalled. An answer without readings where others have some has 0 of them and an
    F1 of answers of 0; its other scores of readings are left out. A program that never gives any has no scores of them.
    """
    arrays = []
    failed = np.array([record.error is not None for record in records], dtype=np.bool_)
    for name in names:
        values = np.array([record.value(name) for record in records], dtype=np.float64)
        answered = values[~failed]
        if np.isnan(answered).all():
            if name in OF_READINGS and answered.size:
                values[:] = np.nan
        elif name not in _NOT_FOR_FAILED:
            for at in np.flatnonzero((failed | (name in OF_READINGS)) & np.isnan(values)).tolist():
                values[at] = records[at].gold_readings if name in _ONE_PER_READING else 0.0
        arrays.append(values)
    return arrays


_ONE_PER_READING = frozenset({"g_recall_whole", "gold_recall_whole"})
# Whether a failed question would have had these depends on the question, and they are scored from the
# empty answer where it does.
_OF_CONFLICTS = {"strict_exact_match", "wrong_told", "noise_cited", "conflicts_shown"}
_TOOK = frozenset({"input_tokens", "output_tokens", "seconds"})
_NOT_FOR_FAILED = _TOOK | frozenset({"rouge_l", "edit_f1", "exact_match", "answer_f1", *_OF_CONFLICTS})
