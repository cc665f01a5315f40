"""Whether two short answers say the same, in other words: for judges and feedback, not for scores."""

from collections.abc import Iterable, Sequence

from .text import normalize_answer
from .token_f1 import token_f1

_AGREE = 0.5


def agree(answer: str, others: Sequence[str]) -> bool:
    """Return whether an answer says the same as one of some others.

    They share half of their tokens (token F1 ≥ 0.5), and the numbers of one are among those of the
    other: ``4 November 2001`` is not ``16 November 2001``, but may be ``November 2001``.

    >>> agree("4 November 2001", ["16 November 2001"]), agree("November 2001", ["16 November 2001"])
    (False, True)
    """
    return any(token_f1(answer, [other]) >= _AGREE and _numbers_fit(answer, other) for other in others)


def _numbers_fit(left: str, right: str) -> bool:
    one, other = set(_numbers(left)), set(_numbers(right))
    return one <= other or other <= one


def _numbers(text: str) -> Iterable[str]:
    return (token for token in normalize_answer(text).split() if any(letter.isdigit() for letter in token))
