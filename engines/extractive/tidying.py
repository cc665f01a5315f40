"""Leaves out of a passage what extraction from the web left in it, so that its sentences can be quoted."""

import re

from .prompt import PromptPassage
from .text import content_words

_HEADING = re.compile(r"(?<!=)(={2,6})(?!=)[^=]{1,80}\1(?!=)")
# What is left of "(; born 1950)" or "(, lit. old town)" when a pronunciation or a foreign script was dropped.
_EMPTY_BRACKETS = re.compile(r"\([\s;,:'’]*\)")
_OPENED_BY_MARKS = re.compile(r"\((?:\s*[;,:])+\s*")
_REPEATS = 10  # words


def tidy(passage: PromptPassage) -> PromptPassage:
    """Return a passage without headings of a wiki and empty brackets; a title before its first sentence gets a colon.

    ``Titanic Titanic () is a film. == Cast == It stars`` becomes ``Titanic: Titanic is a film. It stars``.
    """
    text = _HEADING.sub(" ", passage.text)
    text = _OPENED_BY_MARKS.sub("(", _EMPTY_BRACKETS.sub("", text))
    text = re.sub(r"\s+([,.;:])", r"\1", " ".join(text.split()))
    return PromptPassage(passage.number, passage.title, _with_colon(text, passage.title))


def _with_colon(text: str, title: str) -> str:
    if not title or not text.startswith(f"{title} "):
        return text
    rest = text[len(title) + 1 :]
    sentence = rest.lstrip("\"“'(")[:1].isupper()
    again = set(content_words(" ".join(rest.split()[:_REPEATS]))) & set(content_words(title))
    return f"{title}: {rest}" if sentence and again else text
