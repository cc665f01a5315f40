"""Marks in an answer that name passages, and where a short answer stands in a passage."""

import re
from collections.abc import Iterator, Sequence

from polyqa.metrics.text import SIGNS, UNSPACED, sentence_at, several, without_marks

_MARK = re.compile(r"\[\d{1,4}(?:, ?\d{1,4})*\]")
_NUMBER = re.compile(r"\d+")
# A word of `without_marks`, which puts spaces around characters of scripts that have none between words.
_WORD = re.compile(rf"{UNSPACED}|(?:(?!{UNSPACED})(?:[\w{SIGNS}]|(?<=\d)[.,](?=\d)))+")


def pieces(answer: str, passages: int) -> Iterator[str | tuple[int, ...]]:
    """Yield the texts of an answer and, between them, the numbers that a mark names.

    A mark with a number that no passage has is text.

    >>> list(pieces("In 1997 [1]. In 1953 [2, 3]. In [1066].", passages=3))
    ['In 1997 ', (1,), '. In 1953 ', (2, 3), '. In [1066].']
    """
    start = 0
    for mark in _MARK.finditer(answer):
        numbers = tuple(int(number) for number in _NUMBER.findall(mark[0]))
        if all(1 <= number <= passages for number in numbers):
            yield answer[start : mark.start()]
            yield numbers
            start = mark.end()
    yield answer[start:]


def cited(answer: str, passages: int) -> set[int]:
    """Return the numbers of the passages that an answer names."""
    return {number for piece in pieces(answer, passages) if isinstance(piece, tuple) for number in piece}


def places(text: str, *answers: str) -> list[tuple[int, int]]:
    """Return where short answers, or the several answers in one, stand in a text, word for word without case and marks.

    The rule is that of `polyqa.programs.citation`, which picks the passage: what it holds to stand there has a place.

    Returns
    -------
    list of tuple of int
        Start and end in characters, in order; those that overlap are one.

    >>> text = "Titanic premiered on 1 November, 1997; the film of 1953 did not."
    >>> [text[start:end] for start, end in places(text, "1953; 1 November 1997")]
    ['1 November, 1997', '1953']
    """
    words = [(word, *match.span()) for match in _WORD.finditer(text) for word in without_marks(match[0]).split()]
    read = [word for word, _, _ in words]
    spans: list[tuple[int, int]] = []
    for part in (part for answer in answers for part in several(answer)):
        answer_words = without_marks(part).split()
        spans += [
            (words[at][1], words[at + len(answer_words) - 1][2])
            for at in range(len(words) - len(answer_words) + 1)
            if read[at : at + len(answer_words)] == answer_words
        ]
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def sentence_of(text: str, answer: str) -> str:
    """Return the first sentence of a text in which a short answer stands, on one line; nothing if it stands in none."""
    spans = places(text, answer)
    return " ".join(sentence_at(text, spans[0][0]).text.split()) if spans else ""


def parts(text: str, answers: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Yield a text in parts, each with which of the answers stand there, by their places in the list.

    >>> [*parts("It opened in 1953.", ["1997", "1953"])]
    [('It opened in ', []), ('1953', [1]), ('.', [])]
    """
    spans = [places(text, answer) for answer in answers]
    at = 0
    for start, end in places(text, *answers):
        yield text[at:start], []
        yield text[start:end], [of for of, own in enumerate(spans) if any(s < end and start < e for s, e in own)]
        at = end
    yield text[at:], []
