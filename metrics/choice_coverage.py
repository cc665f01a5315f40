"""Choice coverage: whether the choices of a question back are the gold readings, one choice each."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .text import check_lists, content_words

_FITS = 0.5


def choice_coverage(question: str, choices: Sequence[str], readings: Sequence[str]) -> float:
    """Return how well choices cover the gold readings, in [0, 1].

        C = 2 · |M| / (|choices| + |readings|)
        fit(c, r) = |words(c) ∩ words(r)| / |words(c)|
        words(x) = content words of x that the question does not have

    Parameters
    ----------
    question
        The ambiguous question.
    choices
        What the user can choose from, such as ``the 1997 film``.
    readings
        The gold disambiguated questions, n ≥ 1.

    Returns
    -------
    float
        M is the largest set of pairs (c, r) in which each choice and each reading stands once, fit(c, r) ≥ 0.5, and c
        fits no other reading as well. So C is the F1 of choices against readings: a reading without a choice and a
        choice too many cost alike, and a choice that fits two readings covers neither.

    Raises
    ------
    ValueError
        If there is no reading.

    Notes
    -----
    A choice or a reading that adds no word to the question matches nothing. The measure is polyqa's own.

    >>> gold = ["When did the 1997 film Titanic come out?", "When did the musical Titanic come out?"]
    >>> choice_coverage("When did Titanic come out?", ["the 1997 film", "the musical"], gold)
    1.0
    >>> choice_coverage("When did Titanic come out?", ["the film of 1997", "the ship"], gold)
    0.5
    """
    check_lists(choices)
    check_lists(readings)
    if not readings:
        raise ValueError("choice coverage of a question without readings is undefined")
    question_words = set(content_words(question))
    choice_words, reading_words = (
        [set(content_words(text)) - question_words for text in texts] for texts in (choices, readings)
    )
    fit = np.array([[len(c & r) / len(c) if c else 0.0 for r in reading_words] for c in choice_words])
    covered = {int(row.argmax()) for row in fit if row.max() >= _FITS and (row == row.max()).sum() == 1}
    return 2 * len(covered) / (len(choices) + len(readings))


def choice_metric(gold: Any, prediction: Any, trace: Any = None) -> float | bool:
    """Return `choice_coverage` of a prediction of `AskBack`, as DSPy's optimizers call it.

    Parameters
    ----------
    gold
        An example with ``question`` and ``readings``, the gold disambiguated questions.
    prediction
        It has ``choices``.
    trace
        Given while demos are collected: only choices that cover all readings, one each, become a demo.
    """
    value = choice_coverage(gold.question, prediction.choices, gold.readings)
    return value == 1 if trace is not None else value
