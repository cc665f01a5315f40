"""An answer in pieces: its text, and the marks in it that name passages."""

import re
from collections.abc import Iterator

_MARK = re.compile(r"\[\d{1,4}(?:, ?\d{1,4})*\]")
_NUMBER = re.compile(r"\d+")


def pieces(answer: str, passages: int) -> Iterator[str | tuple[int, ...]]:
    """Yield the texts of an answer and, between them, the numbers that a mark names.

    A mark with a number that no passage has is text.

    >>> list(pieces("In 1997 [1]. In 1953 [2, 3]. In [1066].", passages=3))
    ['In 1997 ', (1,), '. In 1953 ', (2, 3), '. In [1066].']
    """
    start = 0
    for mark in _MARK.finditer(answer):
        named = tuple(int(number) for number in _NUMBER.findall(mark[0]))
        if all(1 <= number <= passages for number in named):
            yield answer[start : mark.start()]
            yield named
            start = mark.end()
    yield answer[start:]


def cited(answer: str, passages: int) -> set[int]:
    """Return the numbers of the passages that an answer names."""
    return {number for piece in pieces(answer, passages) if isinstance(piece, tuple) for number in piece}
