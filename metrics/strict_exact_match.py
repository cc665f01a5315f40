"""Strict exact match of RAMDocs: all right answers are told, and no wrong one."""

from collections.abc import Sequence

from .text import check_lists, holds, normalize_answer


def strict_exact_match(told: Sequence[str], answers: Sequence[Sequence[str]], wrong: Sequence[str]) -> float:
    """Return 1.0 if every right answer is told and no wrong one.

        EM = [every right answer has an alias a with tells(a)] · [no wrong answer w has tells(w)]
        tells(x) = some told answer holds norm(x), word for word

    Parameters
    ----------
    told
        What the system stands behind: the short answers of its readings, or its whole answer if it gives none.
    answers
        One list of aliases per right answer, n ≥ 1.
    wrong
        Wrong answers, planted in documents; may be empty.

    Returns
    -------
    float
        0.0 or 1.0; the corpus value is the mean over questions.

    Raises
    ------
    ValueError
        If there is no right answer.

    Notes
    -----
    norm lower-cases and drops ASCII punctuation, articles and extra white space: `normalize_answer` of the authors'
    code, which is SQuAD's. That code has no scorer; the rule is the paper's, "all correct answers and no incorrect
    one". Words are matched as wholes, so that 12 does not stand in 1912. A wrong answer that is a right one as well (2%
    of the questions), or only stands in a longer right one, is not told by telling that. An answer told as that of
    sources which disagree is told only where it is a reading's. An alias that normalises to nothing is never told.

    References
    ----------
    Wang et al. 2025, Retrieval-Augmented Generation with Conflicting Evidence, https://arxiv.org/abs/2504.13079.

    >>> strict_exact_match(["In 1902", "Elia Kazan"], [["1902"], ["Elia Kazan"]], ["1885"])
    1.0
    """
    check_lists(told)
    check_lists(answers, 2)
    check_lists(wrong)
    if not answers:
        raise ValueError("strict exact match of a question without right answers is undefined")
    complete = all(any(holds(one, alias, normalize_answer) for one in told for alias in aliases) for aliases in answers)
    return float(complete and not wrong_answers_told(told, answers, wrong))


def wrong_answers_told(told: Sequence[str], answers: Sequence[Sequence[str]], wrong: Sequence[str]) -> list[str]:
    """Return the wrong answers that are told; parameters and edge cases as of `strict_exact_match`.

    The corpus value is the share of a question's wrong answers, as a mean over the questions that have some.

    >>> wrong_answers_told(["10,000 people"], [["3,559 people"]], ["10,000 people"])
    ['10,000 people']
    """
    right = [alias for aliases in answers for alias in aliases]

    def tells(text: str, answer: str) -> bool:
        longer = (alias for alias in right if holds(alias, answer, normalize_answer))
        return holds(text, answer, normalize_answer) and not any(holds(text, one, normalize_answer) for one in longer)

    return [answer for answer in wrong if any(tells(text, answer) for text in told)]
