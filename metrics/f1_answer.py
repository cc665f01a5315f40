"""AmbigQA's F1 answer: a set of short answers against the annotators' sets."""

from collections.abc import Sequence

from .text import check_lists, normalize_answer


def f1_answer(predictions: Sequence[str], annotations: Sequence[Sequence[Sequence[str]]]) -> float:
    """Return the set F1 of short answers, maximum over annotators.

        P = m / |predictions|,  R = m / |answers|,  F1 = 2PR / (P + R)

    where m counts greedy first matches: each predicted answer takes the first free gold answer one of
    whose aliases it equals after normalisation.

    Parameters
    ----------
    predictions
        Short answers.
    annotations
        Per annotator, one list of aliases per answer; at least one annotator.

    Returns
    -------
    float
        In [0, 1]; the corpus value is the mean over questions.

    Raises
    ------
    ValueError
        If there is no annotation.

    Notes
    -----
    Edge case: no prediction, or an annotator without answers, gives 0. Equal predictions count one
    by one. Source: AmbigQA's official script (Min et al., 2020).
    """
    check_lists(predictions)
    check_lists(annotations, 3)
    if not annotations:
        raise ValueError("F1 answer without an annotation is undefined")
    return max(_set_f1(predictions, answers) for answers in annotations)


def matches(predictions: Sequence[str], answers: Sequence[Sequence[str]]) -> list[int | None]:
    """Return for each predicted answer the place of the gold answer that it takes, or ``None``.

    Each takes the first that is free and one of whose aliases it equals after normalisation.

    Parameters
    ----------
    predictions
        Short answers.
    answers
        One list of aliases per gold answer.
    """
    free = {place: {normalize_answer(alias) for alias in aliases} for place, aliases in enumerate(answers)}
    places: list[int | None] = []
    for prediction in predictions:
        normalized = normalize_answer(prediction)
        taken = next((place for place, aliases in free.items() if normalized in aliases), None)
        places.append(taken)
        if taken is not None:
            del free[taken]
    return places


def _set_f1(predictions: Sequence[str], answers: Sequence[Sequence[str]]) -> float:
    matched = sum(place is not None for place in matches(predictions, answers))
    if not matched:
        return 0.0
    precision, recall = matched / len(predictions), matched / len(answers)
    return 2 * precision * recall / (precision + recall)
