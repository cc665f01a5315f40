"""Whether two short answers say the same, in other words: for judges and feedback, not for scores."""

import re
from collections.abc import Sequence

from polyqa.base.text import COUNTS, ORDINALS

from .text import normalize_answer, several
from .token_f1 import token_f1

_AGREE = 0.5
_FIGURES = {word: str(n) for words in (COUNTS[1:], ORDINALS) for n, word in enumerate(words, 1)}


def agree(answer: str, others: Sequence[str]) -> bool:
    """Return whether an answer says the same as one of some others.

    They share half of their tokens (token F1 ≥ 0.5), and the numbers of one are among those of the
    other: ``4 November 2001`` is not ``16 November 2001``, but may be ``November 2001``. Of several answers
    in one, separated by semicolons (`text.several`), all of one side must be among those of the other. Numbers up to
    twelve may be words: ``eighth`` is ``season 8``, and ``first season`` is not ``second season``.

    >>> agree("4 November 2001", ["16 November 2001"]), agree("November 2001", ["16 November 2001"])
    (False, True)
    >>> agree("gold; silver", ["silver"]), agree("gold; silver", ["silver; bronze"])
    (True, False)
    >>> agree("the eighth", ["season 8"]), agree("the first season", ["the second season"])
    (True, False)
    """
    own = several(answer)
    return answer in others or any(_among(own, theirs) or _among(theirs, own) for theirs in map(several, others))


def _among(some: Sequence[str], all_: Sequence[str]) -> bool:
    return bool(some) and all(any(_same(one, other) for other in all_) for one in some)


def _same(one: str, other: str) -> bool:
    one, other = _in_figures(one), _in_figures(other)
    left, right = _numbers(one), _numbers(other)
    return token_f1(one, [other]) >= _AGREE and (left <= right or right <= left)


def _in_figures(text: str) -> str:
    """Return a text in lower case, with its numbers in figures: "the 8th", "the eighth" and "eight" as "8"."""
    tokens = (re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", token) for token in normalize_answer(text).split())
    return " ".join(_FIGURES.get(token, token) for token in tokens)


def _numbers(text: str) -> set[str]:
    return {token for token in text.split() if any(letter.isdigit() for letter in token)}
