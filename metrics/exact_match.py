"""Exact match of a short answer."""

from collections.abc import Sequence

from .text import check_lists, normalize_answer


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """Return 1.0 if a short answer equals any alias, both normalised (`text.normalize_answer`).

        EM = max over aliases a of [norm(p) = norm(a)]

    Edge cases: no alias is never matched; an empty prediction matches an alias that normalises to
    nothing. Source: SQuAD's script, as in ASQA's official scorer.

    >>> exact_match("The Beatles", ["Beatles", "the Fab Four"])
    1.0
    """
    check_lists(answers)
    normalized = normalize_answer(prediction)
    return float(any(normalize_answer(answer) == normalized for answer in answers))
