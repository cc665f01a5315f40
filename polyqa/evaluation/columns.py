"""The columns of every table: how a corpus value comes from the questions' scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """A corpus metric.

    Attributes
    ----------
    name, label
        In files, and in tables.
    scores
        The per-question scores that it combines.
    combine
        Takes arrays of these scores, shape (…, n), of questions that have all of them; returns shape (…).
    meaning
        What it is, in about six words.
    percent
        Whether tables show it times 100.
    higher_is_better
        ``None`` for what is neither (a length, a number of readings).
    """

    name: str
    label: str
    scores: tuple[str, ...]
    combine: Callable[..., Array]
    meaning: str
    percent: bool = True
    higher_is_better: bool | None = True

    def value(self, *scores: Array) -> Array:
        """Return the corpus value, in per cent where tables show it so; NaN if no question has the scores."""
        with np.errstate(invalid="ignore", divide="ignore"):
            value = self.combine(*scores)
        return 100 * value if self.percent else value


def _mean(values: Array) -> Array:
    known = ~np.isnan(values)  # a ratio of nothing is left out
    return np.where(known, values, 0.0).sum(-1) / known.sum(-1)


def _dr(disambig_f1: Array, rouge_l: Array) -> Array:
    return np.sqrt(_mean(disambig_f1) * _mean(rouge_l))


def _ratio(part: Array, whole: Array) -> Array:
    return _mean(part / np.where(whole > 0, whole, np.nan))


def _micro(part: Array, whole: Array) -> Array:
    return part.sum(-1) / whole.sum(-1)


def _harmonic(precision: Array, recall: Array) -> Array:
    total = precision + recall
    return np.where(total > 0, 2 * precision * recall / np.where(total > 0, total, 1.0), 0.0)


def _g_f1(p_part: Array, p_whole: Array, r_part: Array, r_whole: Array) -> Array:
    # Without any interpretation there is no precision, and without any grounded reading no recall.
    return _harmonic(np.nan_to_num(_ratio(p_part, p_whole)), np.nan_to_num(_ratio(r_part, r_whole)))


def _weighted(values: Array, weights: Array) -> Array:
    return (values * weights).sum(-1) / weights.sum(-1)


_P = ("g_precision_part", "g_precision_whole")
_R = ("g_recall_part", "g_recall_whole")


def _columns(*columns: Column) -> Mapping[str, Column]:
    return MappingProxyType({column.name: column for column in columns})


MEAN = Column("mean", "mean", ("value",), _mean, "the mean")
"""The plain mean of values in [0, 1], in per cent."""

COLUMNS = _columns(
    Column("disambig_f1", "D-F1", ("disambig_f1",), _mean, "how well the text answers each reading"),
    Column("rouge_l", "R-L", ("rouge_l",), _mean, "overlap with the reference text"),
    Column("dr", "DR", ("disambig_f1", "rouge_l"), _dr, "geometric mean of D-F1 and R-L"),
    Column("str_em", "STR-EM", ("str_em",), _mean, "share of the gold answers in the text"),
    Column("length", "LEN", ("length",), _mean, "words of the long answer", percent=False, higher_is_better=None),
    Column("exact_match", "EM", ("exact_match",), _mean, "the short answer is a gold one"),
    Column("f1_answer", "F1 ans", ("f1_answer",), _mean, "short answers against the gold ones"),
    Column("edit_f1", "EDIT-F1", ("edit_f1",), _mean, "wording of the readings, against the gold"),
    Column("answer_f1", "Answer-F1", ("answer_f1", "readings"), _weighted, "words shared with the nearest gold answer"),
    Column("strict_exact_match", "strict EM", ("strict_exact_match",), _mean, "all right answers and no wrong one"),
    Column(
        "wrong_told",
        "wrong told",
        ("wrong_told",),
        _mean,
        "share of the wrong answers in the text",
        higher_is_better=False,
    ),
    Column(
        "noise_cited",
        "noise cited",
        ("noise_cited",),
        _mean,
        "readings that cite an irrelevant document",
        higher_is_better=False,
    ),
    Column(
        "conflicts_shown", "conflicts shown", ("conflicts_shown",), _mean, "conflicts between documents that are shown"
    ),
    Column("mrecall@5", "MRecall@5", ("mrecall@5",), _mean, "questions with all answers in 5 passages"),
    Column("answer_coverage@5", "AC@5", ("answer_coverage@5",), _mean, "gold answers in 5 passages"),
    Column("g_precision", "G-P", _P, _ratio, "given readings that a passage supports"),
    Column("g_recall", "G-R", _R, _ratio, "gold readings with evidence that were given"),
    Column("g_f1", "G-F1", (*_P, *_R), _g_f1, "harmonic mean of G-P and G-R"),
    Column("g_precision_micro", "G-P micro", _P, _micro, "G-P over all readings at once"),
    Column("g_recall_micro", "G-R micro", _R, _micro, "G-R over all readings at once"),
    Column("recall", "Recall", ("gold_recall_part", "gold_recall_whole"), _ratio, "gold readings that were given"),
    Column("sufficient", "Sufficient%", ("sufficient",), _mean, "questions with five readings or more"),
    Column(
        "readings",
        "readings",
        ("readings",),
        _mean,
        "readings per question",
        percent=False,
        higher_is_better=None,
    ),
    Column(
        "calls",
        "calls",
        ("calls",),
        _mean,
        "calls of language models per question",
        percent=False,
        higher_is_better=False,
    ),
    Column(
        "input_tokens",
        "tokens in",
        ("input_tokens",),
        _mean,
        "tokens of prompts per question",
        percent=False,
        higher_is_better=False,
    ),
    Column(
        "output_tokens",
        "tokens out",
        ("output_tokens",),
        _mean,
        "tokens of replies per question",
        percent=False,
        higher_is_better=False,
    ),
    Column("seconds", "s", ("seconds",), _mean, "seconds per question", percent=False, higher_is_better=False),
    Column("failed", "failed", ("failed",), _mean, "questions without an answer", higher_is_better=False),
)
