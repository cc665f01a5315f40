"""Whether two short answers say the same, in other words: for judges and feedback, not for scores."""

from collections.abc import Iterable, Sequence

from .text import normalize_answer, several
from .token_f1 import token_f1

_AGREE = 0.5


def agree(answer: str, others: Sequence[str]) -> bool:
    """Return whether an answer says the same as one of some others.

    They share half of their tokens (token F1 ≥ 0.5), and the numbers of one are among those of the
    other: ``4 November 2001`` is not ``16 November 2001``, but may be ``November 2001``. Of several answers
    in one, separated by semicolons (`text.several`), all of one side must be among those of the other.

    >>> agree("4 November 2001", ["16 November 2001"]), agree("November 2001", ["16 November 2001"])
    (False, True)
    >>> agree("gold; silver", ["silver"]), agree("gold; silver", ["silver; bronze"])
    (True, False)
    """
    own = several(answer)
    return answer in others or any(_among(own, theirs) or _among(theirs, own) for theirs in map(several, others))


def _among(some: Sequence[str], all_: Sequence[str]) -> bool:
    return bool(some) and all(any(_same(one, other) for other in all_) for one in some)


def _same(one: str, other: str) -> bool:
    return token_f1(one, [other]) >= _AGREE and _numbers_fit(one, other)


def _numbers_fit(left: str, right: str) -> bool:
    one, other = set(_numbers(left)), set(_numbers(right))
    return one <= other or other <= one


def _numbers(text: str) -> Iterable[str]:
    return (token for token in normalize_answer(text).split() if any(letter.isdigit() for letter in token))
