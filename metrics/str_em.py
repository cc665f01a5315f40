"""String exact match, STR-EM: how many short answers a long answer holds."""

from collections.abc import Sequence

from .exact_presence import exact_presence
from .text import check_lists


def str_em(prediction: str, answers: Sequence[Sequence[str]]) -> float:
    """Return the share of a question's short answers that stand in a long answer.

        STR-EM = |{a : some alias of a stands in p}| / n

    Parameters
    ----------
    prediction
        The long answer.
    answers
        One list of aliases per disambiguated question, n ≥ 1.

    Returns
    -------
    float
        In [0, 1]. The corpus value is the mean over questions (Stelmakh et al., 2022).

    Raises
    ------
    ValueError
        If there is no answer.

    Notes
    -----
    An answer stands in a text by `exact_presence.exact_presence`: a normalised substring.
    """
    check_lists(answers, 2)
    if not answers:
        raise ValueError("STR-EM of a question without answers is undefined")
    return sum(exact_presence(aliases, prediction) for aliases in answers) / len(answers)
