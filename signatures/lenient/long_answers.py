"""The long answer: plain text, without what language models put around it."""

import re

from .nothing import is_bare_null, looks_like_refusal
from .text import shown, strip_dress, strip_quotes, told, without_fence

_HEADER = re.compile(
    r"\A\s*(?:#{1,6}\s*)?[*_]{0,2}(?:long[- ]form |long |final )?answer[*_]{0,2}\s*(?::[*_]{0,2}|\n)\s*", re.I
)
_TITLE = re.compile(r"\A\s*#{1,6}\s*(?:long[- ]form |long |final )?answer\s*\n", re.I)
_AFTERWORD = re.compile(
    r"\n\s*\n\s*[(\[*_]*(?:note(?: that)?\s*:|please note\b|i hope (?:this|that)|let me know|feel free)"
    r"[^\n]*(?:\n[^\n]+)*\s*\Z",
    re.I,
)


def clean_answer(text: str) -> str:
    """Return a long answer without thoughts, a fence or quotes around it, ``Answer:`` before it and a note after it.

    >>> clean_answer('<think>Which film?</think>**Answer**: "It came out in 1997."')
    'It came out in 1997.'

    Raises
    ------
    ValueError
        If nothing is left, or a refusal.
    """
    before, left = "", told(text)
    while left != before:
        before = left
        left = without_fence(left)
        left = strip_quotes(_HEADER.sub("", left) if _HEADER.match(left) else _TITLE.sub("", left))
        left = _AFTERWORD.sub("", left).strip()
    if is_bare_null(left):
        raise ValueError(f"no answer: {shown(text)}")
    if looks_like_refusal(strip_dress(left)):
        raise ValueError(f"a refusal instead of an answer: {shown(left)}")
    return left
