"""Answer coverage, AC@k."""

from collections.abc import Sequence

from .answer_match import Match, covered_answers, has_answer


def answer_coverage(
    answers: Sequence[Sequence[str]], texts: Sequence[str], k: int, *, match: Match = has_answer
) -> float:
    """Return the share of a question's answers that the first k passages hold.

        AC@k = |{a : some passage among the first k holds an alias of a}| / n

    Parameters
    ----------
    answers
        One list of aliases per disambiguated question, n ≥ 1.
    texts
        The retrieved passages' texts, best first; fewer than k are allowed.
    k
        At least 1.
    match
        Decides whether a passage holds an answer, see `answer_match.covered_answers`.

    Returns
    -------
    float
        In [0, 1]. The corpus value is the mean over questions (Tree of Clarifications, appendix B.1).

    Raises
    ------
    ValueError
        If there is no answer, or k is below 1.
    """
    if not answers:
        raise ValueError("answer coverage of a question without answers is undefined")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    return covered_answers(answers, texts[:k], match=match) / len(answers)
