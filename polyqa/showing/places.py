"""Where an answer stands in a text."""

import re
from collections.abc import Iterable
from functools import partial

from polyqa.metrics.text import several, without_marks

_WORD = re.compile(r"\w+")
_MOST = 1_500
_BEFORE = 300


def places(text: str, answer: str) -> list[tuple[int, int]]:
    """Return where the answers of a short answer stand in a text, word for word without case and marks.

    The rule is that of `polyqa.programs.citation`, which picks the passage: what it holds to stand there has a place.

    Returns
    -------
    list of tuple of int
        Start and end in characters, in order, without overlaps.

    >>> text = "Titanic premiered on 1 November, 1997; the film of 1953 did not."
    >>> [text[start:end] for start, end in places(text, "1953; 1 November 1997")]
    ['1 November, 1997', '1953']
    """
    own = [(word, *found.span()) for found in _WORD.finditer(text) for word in without_marks(found[0]).split()]
    said = [word for word, _, _ in own]
    found = []
    for part in several(answer):
        wanted = without_marks(part).split()
        found += [
            (own[at][1], own[at + len(wanted) - 1][2])
            for at in range(len(own) - len(wanted) + 1)
            if said[at : at + len(wanted)] == wanted
        ]
    return _apart(found)


def _apart(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order; those that overlap become one."""
    kept: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if kept and start < kept[-1][1]:
            kept[-1] = (kept[-1][0], max(kept[-1][1], end))
        else:
            kept.append((start, end))
    return kept


def all_places(text: str, answers: Iterable[str]) -> list[tuple[int, int]]:
    """Return where any of some short answers stand, see `places`."""
    return _apart(span for spans in map(partial(places, text), answers) for span in spans)


def excerpt(text: str, spans: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return start and end of the part of a long text that is shown: 1,500 characters around the first place."""
    if len(text) <= _MOST:
        return 0, len(text)
    first = min(spans, default=(0, 0))
    start = min(max(0, first[0] - _BEFORE), len(text) - _MOST)
    return start, start + _MOST
