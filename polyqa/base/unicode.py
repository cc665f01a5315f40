"""Text that can be written: a lone surrogate, half of a character, cannot be sent, stored or printed."""

import re

SURROGATE = re.compile("[\ud800-\udfff]")
"""Finds what is half of a character. JSON and the names of files bring some in."""


def well_formed(text: str) -> str:
    r"""Return a text of the same length with U+FFFD, the usual sign for it, for every lone surrogate.

    >>> well_formed("caf\udce9") == "caf\ufffd"
    True
    """
    return text if text.isascii() else SURROGATE.sub("\ufffd", text)
