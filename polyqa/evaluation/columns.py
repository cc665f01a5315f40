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
    has_value = ~np.isnan(values)  # a ratio of nothing is left out
    return np.where(has_value, values, 0.0).sum(-1) / has_value.sum(-1)


def _dr(disambig_f1: Array, rouge_l: Array) -> Array:
    return np.sqrt(_mean(disambig_f1) * _mean(rouge_l))


def _ratio(part: Array, whole: Array) -> Array:
    return _mean(part / np.where(whole > 0, whole, np.nan))


def _micro(part: Array, whole: Array) -> Array:
    return part.sum(-1) / whole.sum(-1)


def _g_f1(p_part: Array, p_whole: Array, r_part: Array, r_whole: Array) -> Array:
    # Without any interpretation there is no precision, and without any grounded reading no recall.
    precision, recall = np.nan_to_num(_ratio(p_part, p_whole)), np.nan_to_num(_ratio(r_part, r_whole))
    total = precision + recall
    return np.where(total > 0, 2 * precision * recall / np.where(total > 0, total, 1.0), 0.0)


def _weighted(values: Array, weights: Array) -> Array:
    return (values * weights).sum(-1) / weights.sum(-1)


_P = ("g_precision_part", "g_precision_whole")
_R = ("g_recall_part", "g_recall_whole")


def _share(name: str, label: str, meaning: str, better: bool = True) -> Column:
    """Return the mean of the score of this name, in per cent."""
    return Column(name, label, (name,), _mean, meaning, higher_is_better=better)


def _amount(name: str, label: str, meaning: str, better: bool | None = False) -> Column:
    """Return the mean of the score of this name, as it is."""
    return Column(name, label, (name,), _mean, meaning, percent=False, higher_is_better=better)


_COLUMNS = (
    _share("disambig_f1", "D-F1", "how well the text answers each reading"),
    _share("rouge_l", "R-L", "overlap with the reference text"),
    Column("dr", "DR", ("disambig_f1", "rouge_l"), _dr, "geometric mean of D-F1 and R-L"),
    _share("str_em", "STR-EM", "share of the gold answers in the text"),
    _amount("length", "LEN", "words of the long answer", better=None),
    _share("exact_match", "EM", "the short answer is a gold one"),
    _share("f1_answer", "F1 ans", "short answers against the gold ones"),
    _share("edit_f1", "EDIT-F1", "wording of the readings, against the gold"),
    Column("answer_f1", "Answer-F1", ("answer_f1", "readings"), _weighted, "words shared with the nearest gold answer"),
    _share("strict_exact_match", "strict EM", "all right answers and no wrong one"),
    _share("wrong_told", "wrong told", "share of the wrong answers that are told", better=False),
    _share("noise_cited", "noise cited", "cited passages that are irrelevant", better=False),
    _share("conflicts_shown", "conflicts shown", "conflicts between documents that are shown"),
    _share("mrecall@5", "MRecall@5", "questions with all answers in 5 passages"),
    _share("answer_coverage@5", "AC@5", "gold answers in 5 passages"),
    Column("g_precision", "G-P", _P, _ratio, "given readings that a passage supports"),
    Column("g_recall", "G-R", _R, _ratio, "readings with evidence that a cited passage answers"),
    Column("g_f1", "G-F1", (*_P, *_R), _g_f1, "harmonic mean of G-P and G-R"),
    Column("g_precision_micro", "G-P micro", _P, _micro, "G-P over all readings at once"),
    Column("g_recall_micro", "G-R micro", _R, _micro, "G-R over all readings at once"),
    Column("recall", "Recall", ("gold_recall_part", "gold_recall_whole"), _ratio, "gold readings that were given"),
    _share("sufficient", "Sufficient%", "questions with five readings or more"),
    _amount("readings", "readings", "readings per question", better=None),
    _amount("calls", "calls", "calls of language models per question"),
    _amount("input_tokens", "tokens in", "tokens of prompts per question"),
    _amount("output_tokens", "tokens out", "tokens of replies per question"),
    _amount("seconds", "s", "seconds per question"),
    _share("metric", "own metric", "your own metric, by which you compiled"),
    _share("failed", "failed", "questions without an answer", better=False),
)
COLUMNS: Mapping[str, Column] = MappingProxyType({column.name: column for column in _COLUMNS})
