"""Answer-F1 of Tree of Clarifications: are the short answers of the generated readings right?"""

from collections.abc import Sequence

from .text import check_lists
from .token_f1 import token_f1


def answer_f1(predictions: Sequence[str], answers: Sequence[Sequence[str]]) -> list[float]:
    """Return for each generated reading the best token F1 of its answer against all gold answers.

        Answer-F1(ŷ) = max over gold readings i and their aliases a of F1(ŷ, a)

    Parameters
    ----------
    predictions
        The short answers of the generated disambiguated questions.
    answers
        One list of aliases per gold reading.

    Returns
    -------
    list of float
        One value in [0, 1] per prediction, none for no prediction. The corpus value is the mean over
        all generated readings of all questions, so it measures precision: pruning raises it
        (Kim et al., 2023, table 3 and appendix A.2).

    Raises
    ------
    ValueError
        If there is no gold answer.
    """
    check_lists(predictions)
    check_lists(answers, 2)
    if not answers:
        raise ValueError("Answer-F1 of a question without answers is undefined")
    return [max(token_f1(prediction, aliases) for aliases in answers) for prediction in predictions]
