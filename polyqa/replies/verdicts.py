"""Yes or No."""

import re
from collections.abc import Mapping
from typing import Any

from .nothing import says_unanswered
from .text import json_in, shown, strip_dress, told

_VERDICT = r"(?P<word>yes|no|true|false)"
_ALONE = re.compile(r"[\W_]*(?P<word>yes|no|true|false|y|n)(?:[\W_]|\[\d+\])*", re.I)
_CONCLUDES = re.compile(
    r"\b(?:overall|final(?:ly)?|conclusion|answer|verdict|judge?ment|therefore|thus|hence|result|so)\b"
    rf"[^.!?\n:]{{0,40}}?[*_`\"'\s]*(?:[:,=]|\bis\b|\s[-–—])[*_`\"'\s]*\b{_VERDICT}\b(?![^\S\n]+[a-z])",
    re.I,
)
# A verdict stands by itself: at the beginning of a sentence or after a colon or dash, and before a break.
_BY_ITSELF = re.compile(
    rf"(?:\A|[\n.,!?:;(–—]|\s-\s|[*_`\"'\[])[\s*_`\"'(\[]*{_VERDICT}\b[*_`\"'\])]*"
    r"(?=\s*(?:[.,;:!(\[–—\n]|\s-\s|\Z)|\s+(?:for|in|because|since|as|the|it|this|that|they|but|and|not)\b)",
    re.I,
)
_CHOICE = re.compile(r"\byes\s*(?:or|/|\|)\s*no\b|\btrue\s*(?:or|/|\|)\s*false\b", re.I)
_BOTH = re.compile(r"\byes\W+(?:and|but)\W+(?:also\W+)?no\b|\bno\W+(?:and|but)\W+(?:also\W+)?yes\b", re.I)


def parse_yes_no(value: Any) -> str:
    r"""Return ``"Yes"`` or ``"No"`` from a text's verdict, from a bool, or from 1 and 0.

    What concludes counts: the last line if it is a verdict, or one after "Overall:", "Answer:" and the like. Else all
    verdicts of the text must agree. A text that says that there is no answer means No.

    >>> parse_yes_no("Passage 1: No\nPassage 2: Yes\nOverall: Yes"), parse_yes_no("There is no doubt: Yes")
    ('Yes', 'Yes')

    Raises
    ------
    ValueError
        If there is no verdict, or there are several that differ and none concludes.
    """
    if isinstance(value, bool) or (isinstance(value, (int, float)) and value in (0, 1)):
        return "Yes" if value else "No"
    inner = list(value.values()) if isinstance(value, Mapping) else value
    if isinstance(inner, (list, tuple)) and len(inner) == 1 and isinstance(inner[0], (str, bool)):
        return parse_yes_no(inner[0])  # not a number: DSPy's repairing parser makes [1] of "No [1]"
    if isinstance(value, str):
        text = strip_dress(told(value))
        if (found := json_in(text)) not in (None, []):
            return parse_yes_no(found)
        if len(verdicts := _verdicts(_CHOICE.sub(" ", text))) == 1:
            return verdicts.pop()
    raise ValueError(f"neither Yes nor No: {shown(value)}")


def _verdicts(text: str) -> set[str]:
    lines = [line for line in text.splitlines() if re.search(r"\w", line)]
    if not lines or _BOTH.search(text):
        return set()
    concluded = [_meant(match) for match in _CONCLUDES.finditer(text)][-1:]
    if match := _ALONE.fullmatch(lines[-1]):
        return {_meant(match), *concluded}
    if concluded:
        return set(concluded)
    if match := _ALONE.fullmatch(lines[0]):
        return {_meant(match)}
    found = {_meant(match) for match in _BY_ITSELF.finditer(text)}
    return found or ({"No"} if says_unanswered(text) else set())


def _meant(match: re.Match[str]) -> str:
    return "Yes" if match["word"].lower() in ("yes", "true", "y") else "No"
