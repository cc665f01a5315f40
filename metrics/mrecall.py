"""Multi-answer recall, MRecall@k."""

from collections.abc import Sequence

from .answer_match import Match, covered_answers, has_answer


def mrecall(answers: Sequence[Sequence[str]], texts: Sequence[str], k: int, *, match: Match = has_answer) -> float:
    """Return 1.0 if the first k passages hold all answers, or at least k of them.

        MRecall@k = 1  iff  (n ≤ k and c = n) or (n > k and c ≥ k)

    with n answers of which the first k passages hold c (Min et al., 2021, JPR).

    Parameters
    ----------
    answers
        One list of aliases per answer, n ≥ 1.
    texts
        The retrieved passages' texts, best first; fewer than k are allowed.
    k
        At least 1.
    match
        Decides whether a passage holds an answer, see `answer_match.covered_answers`.

    Returns
    -------
    float
        0.0 or 1.0. The corpus value is the mean over questions.

    Raises
    ------
    ValueError
        If there is no answer, or k is below 1.
    """
    if not answers:
        raise ValueError("MRecall of a question without answers is undefined")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    return float(covered_answers(answers, texts[:k], match=match) >= min(k, len(answers)))
