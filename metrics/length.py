"""LEN: how long answers are."""


def length(prediction: str) -> int:
    """Return the number of white-space tokens of an answer (ASQA's LEN); the corpus value is the mean.

    >>> length("Two words.")
    2
    """
    return len(prediction.split())
