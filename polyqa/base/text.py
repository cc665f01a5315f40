"""Text for people, and text that can be written down."""

import re
from math import isnan
from os.path import commonprefix
from typing import Literal

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Finds what steers a terminal or turns the direction of writing: C0 without tab and line feed, DEL, C1, and more."""
SURROGATE = re.compile("[\ud800-\udfff]")
"""Finds half a character (a lone surrogate). JSON and the names of files bring some in."""
INVISIBLE = re.compile(
    r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff\x00-\x08\x0b\x0e-\x1f\x7f]"
)
"""Finds what a copied text has that nobody sees, within words, too; joiners, which shape letters, are none of it."""

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Numbers in words, by the number."""
ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)
"""The same in order, from 1."""


def well_formed(text: str) -> str:
    r"""Return a text of the same length with U+FFFD, the usual sign for it, for every lone surrogate.

    A lone surrogate cannot be sent, stored or printed.

    >>> well_formed("caf\udce9") == "caf\ufffd"
    True
    """
    return text if text.isascii() else SURROGATE.sub("\ufffd", text)


def printable(text: str) -> str:
    r"""Return a text without control characters: an escape sequence is shown as what is left of it.

    Half a character, which no terminal takes, is shown as U+FFFD.

    >>> printable("Titanic\x1b]52;c;cm0=\x07 (film)")
    'Titanic]52;c;cm0= (film)'
    """
    return well_formed(STEERING.sub("", text))


def in_paragraphs(*texts: str) -> str:
    r"""Return texts with an empty line between them; empty ones are left out.

    >>> in_paragraphs("It opened in 1902.", "", "Less certain: In 1885.")
    'It opened in 1902.\n\nLess certain: In 1885.'
    """
    return "\n\n".join(text.strip() for text in texts if text.strip())


def with_interval(value: float, low: float | None, high: float | None, sign: Literal["", "+"] = "") -> str:
    """Return a value with its interval, if it has one: without one, the ends are ``None`` or NaN.

    >>> with_interval(9, 6, 12), with_interval(9, 6, 12, "+"), with_interval(9, None, None)
    ('9.0 [6.0, 12.0]', '+9.0 [+6.0, +12.0]', '9.0')
    """
    interval = "" if low is None or isnan(low) else f" [{low:{sign}.1f}, {high:{sign}.1f}]"
    return f"{value:{sign}.1f}{interval}"


def counted(number: float, thing: str, several: str | None = None) -> str:
    """Return a number and what it counts; ``several`` are more of them, if that is not ``thing`` with an s.

    >>> counted(1, "passage"), counted(2_500, "passage"), counted(0, "reply", "replies"), counted(0.5, "second")
    ('1 passage', '2,500 passages', '0 replies', '0.5 seconds')
    """
    written = f"{number:,}" if isinstance(number, int) else f"{number:,g}"
    return f"{written} {thing}" if number == 1 else f"{written} {several or f'{thing}s'}"


def p_text(p: float) -> str:
    """Return a p as a text.

    >>> p_text(0.0312), p_text(0.00001)
    ('0.031', '<0.001')
    """
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def p_in_words(p: float) -> str:
    """Return a p as it stands in a sentence.

    >>> p_in_words(0.0312), p_in_words(0.00001)
    ('p = 0.031', 'p < 0.001')
    """
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"


def in_common(text: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return len(commonprefix([text, other]))  # noqa: RUF071 - texts
