"""Disambiguation-ROUGE, DR: faithful to every reading, and fluent."""

from collections.abc import Sequence
from math import sqrt


def dr(disambig_f1: float, rouge_l: float) -> float:
    """Return the geometric mean of Disambig-F1 and ROUGE-L, both in [0, 1] (or both in per cent).

        DR = √(D-F1 · ROUGE-L)

    >>> dr(0.25, 0.36)
    0.3
    """
    return sqrt(disambig_f1 * rouge_l)


def corpus_dr(disambig_f1s: Sequence[float], rouge_ls: Sequence[float]) -> float:
    """Return the DR of a corpus: of the two corpus means, not the mean of the questions' DR.

    Source: ASQA's official scorer. The mean of per-question values is lower (a question with one
    factor 0 counts nothing), so the two must not be mixed.

    Raises
    ------
    ValueError
        If there is no question, or the lengths differ.
    """
    if len(disambig_f1s) != len(rouge_ls) or not disambig_f1s:
        raise ValueError(
            f"need as many D-F1 as ROUGE-L values and at least one, got {len(disambig_f1s)}, {len(rouge_ls)}"
        )
    return dr(sum(disambig_f1s) / len(disambig_f1s), sum(rouge_ls) / len(rouge_ls))
