"""Labels: kinds of ambiguity, grades, support, marks, Yes and No."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from polyqa.base.values import AmbiguityType, Grade, Support

from .nothing import says_unanswered
from .text import json_in, shown, strip_dress, told

_KINDS = [kind for kind in AmbiguityType if kind is not AmbiguityType.NONE]
_LABELS: dict[str, AmbiguityType] = {kind.lower(): kind for kind in _KINDS}
_NAMES = {kind.name.lower(): kind for kind in _KINDS}  # so data sets write them
_NONE = re.compile(r"\b(?:n/a|none|unambiguous|not ambiguous)(?![a-z])")
_DENIED = re.compile(
    r"\b(?:no|not|nor|neither|without|except|than)\W+(?:\w+\W+){0,2}?amb(?!ig)"
    r"|\bamb[a-z]{3,4}\W+(?:(?:is|are|do|does)\s?(?:not|n['’]t)\b|(?:no|not|false)\W*?(?:[,;\n]|\Z))"
)


def parse_ambiguity_types(value: Any) -> list[AmbiguityType]:
    """Read the labels of the prompt in any case, with or without brackets, one or several; ``N/A`` beside another goes.

    The names of the kinds, as data sets write them, are labels where nothing else stands. An empty list means ``N/A``.

    >>> parse_ambiguity_types("[ambsub], [AmbTime]"), parse_ambiguity_types(["location"])
    ([<AmbiguityType.SUBJECT: 'AmbSub'>, <AmbiguityType.TIME: 'AmbTime'>], [<AmbiguityType.LOCATION: 'AmbLoc'>])

    Raises
    ------
    ValueError
        If there is no label, or one is denied ("AmbSub, not AmbTime").
    """
    text = told(value) if isinstance(value, str) else json.dumps(value, default=str)
    if _DENIED.search(text.lower()):
        raise ValueError(f"no ambiguity type is clear in: {shown(text)}")
    labels = re.findall("|".join(rf"\b{label}\b" for label in _LABELS), text.lower())
    if labels:
        return list(dict.fromkeys(_LABELS[label] for label in labels))
    names = [re.sub(r"[\W_]+", "", word) for word in text.lower().split(",")]
    if all(name in _NAMES for name in names):
        return list(dict.fromkeys(_NAMES[name] for name in names))
    if value is None or text.strip() == "[]" or _NONE.search(text.lower()):
        return [AmbiguityType.NONE]
    raise ValueError(f"no ambiguity type among {', '.join(AmbiguityType)} in: {shown(text)}")


_GRADES: dict[str, Grade] = {grade.lower(): grade for grade in Grade}
_SUPPORTS: dict[str, Support] = {
    **dict.fromkeys(("fully", "full"), Support.FULLY),
    **dict.fromkeys(("partially", "partly", "partial"), Support.PARTIALLY),
    **dict.fromkeys(("no", "none", "not supported", "unsupported"), Support.NO),
}
_Label = TypeVar("_Label", Grade, Support)


def _one_label(value: Any, labels: Mapping[str, _Label]) -> _Label:
    """Return the one label that a text names; one that is named first, or alone, counts."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        (value,) = value
    words = "|".join(sorted(map(re.escape, labels), key=len, reverse=True))
    text = told(value) if isinstance(value, str) else ""
    matches = list(re.finditer(rf"(?<!not )\b(?:{words})\b", text.lower()))
    leads = bool(matches) and not re.search(r"\w", text[: matches[0].start()])
    distinct = {labels[match[0]] for match in matches}
    if not (leads or len(distinct) == 1):
        raise ValueError(f"not one of {', '.join(dict.fromkeys(labels.values()))}: {shown(value)}")
    return labels[matches[0][0]]


def parse_grade(value: Any) -> Grade:
    """Return the grade that a text names; "not correct", or several grades in one breath, is refused.

    >>> parse_grade("**incorrect.** It is about the ship.")
    <Grade.INCORRECT: 'Incorrect'>
    """
    return _one_label(value, _GRADES)


def parse_support(value: Any) -> Support:
    """Return how much is supported: fully, partially or not, in the usual words.

    >>> parse_support("Partially supported"), parse_support("No support / contradictory")
    (<Support.PARTIALLY: 'Partially'>, <Support.NO: 'No'>)
    """
    return _one_label(value, _SUPPORTS)


def parse_usefulness(value: Any) -> int:
    """Return a mark from 1 to 5; "4/5", "4 out of 5" and "4: well" are understood, other scales are refused.

    >>> parse_usefulness("4/5")
    4
    """
    if isinstance(value, (list, tuple)) and len(value) == 1:
        (value,) = value
    text = told(value) if isinstance(value, str) else str(value)
    text = "" if isinstance(value, bool) else re.sub(r"\s*(?:/|out of)\s*5\b", "", text.lower())
    marks = re.findall(r"\d+(?:[.,]\d+)?", text)
    if len(marks) == 1 and re.fullmatch(r"[1-5](?:[.,]0)?", marks[0]):
        return int(marks[0][0])
    raise ValueError(f"not a mark from 1 to 5: {shown(value)}")


_VERDICT = r"(?P<word>yes|no|true|false)"
_ALONE = re.compile(rf"[\W_]*{_VERDICT}(?:[\W_]|\[\d+\])*", re.I)
# A verdict stands by itself: at the beginning of a sentence or after a colon or "answer is", and before a break.
_BY_ITSELF = re.compile(
    rf"(?:\A|[\n.,!?:;(–—]|\banswer is\b)[\s*_`\"'(\[]*{_VERDICT}\b[*_`\"'\])]*"
    r"(?=\s*(?:[.,;:!(\[–—\n]|\Z)|\s+(?:for|in|because|since|as|the|it|this|that|they|but|and|not)\b)",
    re.I,
)


_BOTH = re.compile(r"\b(?:yes\W+(?:(?:and|or)\W+)?no|no\W+(?:and|or)\W+yes)\b", re.I)


def parse_yes_no(value: Any) -> str:
    r"""Return ``"Yes"`` or ``"No"`` from a text's verdict, from a bool, or from 1 and 0.

    All verdicts of a text must agree; else the first or last line counts, if it has nothing else. A text that says that
    there is no answer means No.

    >>> parse_yes_no("Passage 1: No\nPassage 2: Yes\n\n**Yes**"), parse_yes_no("There is no doubt: Yes")
    ('Yes', 'Yes')

    Raises
    ------
    ValueError
        If there is no verdict, or there are several that differ and none stands alone.
    """
    if isinstance(value, bool) or (isinstance(value, (int, float)) and value in (0, 1)):
        return "Yes" if value else "No"
    inner = list(value.values()) if isinstance(value, Mapping) else value
    if isinstance(inner, (list, tuple)) and len(inner) == 1 and isinstance(inner[0], (str, bool)):
        return parse_yes_no(inner[0])  # not a number: DSPy's repairing parser makes [1] of "No [1]"
    if isinstance(value, str):
        text = strip_dress(told(value))
        if (parsed := json_in(text)) not in (None, []):
            return parse_yes_no(parsed)
        lines = text.splitlines()
        verdicts = {_meant(match) for match in _BY_ITSELF.finditer(text)} if not _BOTH.search(text) else set()
        if len(verdicts) == 1:
            return verdicts.pop()
        ends = {_meant(match) for line in (lines[:1] + lines[-1:]) if (match := _ALONE.fullmatch(line))}
        if len(ends) == 1:
            return ends.pop()
        if not verdicts and says_unanswered(text):
            return "No"
    raise ValueError(f"neither Yes nor No: {shown(value)}")


def _meant(match: re.Match[str]) -> str:
    return "Yes" if match["word"].lower() in ("yes", "true") else "No"
