"""Labels: kinds of ambiguity, grades, support, marks."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from polyqa.base.values import AmbiguityType, Grade, Support

from .text import shown, told, without_fence

_LABELS: dict[str, AmbiguityType] = {
    "ambsub": AmbiguityType.SUBJECT,
    "subject": AmbiguityType.SUBJECT,
    "ambobj": AmbiguityType.OBJECT,
    "object": AmbiguityType.OBJECT,
    "ambpred": AmbiguityType.PREDICATE,
    "predicate": AmbiguityType.PREDICATE,
    "ambtime": AmbiguityType.TIME,
    "time": AmbiguityType.TIME,
    "ambloc": AmbiguityType.LOCATION,
    "location": AmbiguityType.LOCATION,
    "n/a": AmbiguityType.NONE,
    "na": AmbiguityType.NONE,
    "none": AmbiguityType.NONE,
    "unambiguous": AmbiguityType.NONE,
    "not ambiguous": AmbiguityType.NONE,
    "no ambiguity": AmbiguityType.NONE,
}


def _any_of(words: list[str]) -> str:
    return rf"(?<![a-z])(?:{'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})(?![a-z])"


_LABEL = re.compile(_any_of(list(_LABELS)))
_CERTAIN = re.compile(_any_of([word for word in _LABELS if word.startswith("amb")]))
_ONE = rf"[\[*_`\"'(]*{_any_of([word for word in _LABELS if not word.startswith(('n', 'un'))])}[\])*_`\"']*"
# After a label and a colon: the reason for the label, no denial of it, as in "AmbTime: no year is given".
_LACKING = (
    r"(?:no|not)\s+(?:(?:specific|particular|exact|clear)\s+)?"
    r"(?:year|date|season|edition|version|period|place|location|country|city|name|given|specified|stated|clear|said)\b"
    r"(?!\s+(?:\w+\s+)?ambig)"
)
_DENIED = re.compile(
    rf"(?:\b(?:not|no|nor|neither|without|non|excluding|except|rather than|instead of)|n't)[\s-]+"
    rf"(?:(?:really|an?|any|the|so much|both|either)\s+)*{_ONE}(?:\s*(?:,\s*)?(?:\b(?:or|nor)\b|/)\s*{_ONE})*"
    rf"|{_ONE}\s*(?:[:=]\s*|\s[-–—]\s)(?!{_LACKING})(?:no\b|not\b|false\b|0\b|absent\b|n/a\b|none\b)[^\n,;]*"
    rf"|{_ONE}\s+(?:(?:does|do|is|are|was)\s?(?:not|n't)|cannot|can't)\b"
)
_UNCLEAR = re.compile(rf"\b(?:not|no)\b[^.;\n]{{0,40}}{_ONE}\s+and\s+{_ONE}")
_LISTED = re.compile(
    rf"\b(?:not|no|neither|without|excluding|except)\s+{_ONE}\s*,\s*{_ONE}"
)  # is the second denied, too?
_DENIES = re.compile(r"\b(?:not|no|never|without)\b|n't\b")
_ITEM = re.compile(r"[\[\](){}\s*_`\"'.-]*(?P<word>[a-z/ ]+?)(?:\s+ambigu\w+)?[\[\](){}\s*_`\"'.-]*")


def parse_ambiguity_types(value: Any) -> list[AmbiguityType]:
    """Read labels in any case, with or without brackets, one or several; ``N/A`` beside another goes.

    Labels that are denied ("not AmbTime", "AmbObj: no") do not count. Beside labels of the prompt, a plain word
    ("time") counts only as an item of its own. An empty list means ``N/A``.

    >>> parse_ambiguity_types("[ambsub], Time (not AmbLoc)")
    [<AmbiguityType.SUBJECT: 'AmbSub'>, <AmbiguityType.TIME: 'AmbTime'>]

    Raises
    ------
    ValueError
        If no label is left, or it cannot be told what is denied.
    """
    if isinstance(value, str):
        text = without_fence(told(value))
    elif isinstance(value, Mapping) and all(isinstance(item, bool) for item in value.values()):
        text = ", ".join(str(key) for key, item in value.items() if item)
    else:
        text = json.dumps(value, default=str)
    if value is None or text.strip() == "[]":
        text = "none"
    lowered = re.sub(r"(?<=\bn)\.\s?a\b\.?", "/a", text.lower())
    none_denied = re.sub(r"\bnot ambiguous\b|\bno ambiguity\b", "unambiguous", lowered)
    if _UNCLEAR.search(none_denied) or _LISTED.search(none_denied):
        raise ValueError(f"no ambiguity type is clear in: {shown(text)}")
    left = _DENIED.sub(" ", none_denied)
    found = [match[0] for match in _CERTAIN.finditer(left)]
    items = [item["word"] for part in re.split(r"[,;\n(]|\band\b", left) if (item := _ITEM.fullmatch(part))]
    plain = {word for word in items if word in _LABELS}
    if found:
        found = [match[0] for match in _LABEL.finditer(left) if match[0] in found or match[0] in plain]
    else:
        found = [match[0] for match in _LABEL.finditer(left)]
        if not plain.issuperset(found) and _DENIES.search(left):
            found = []  # "the time of the event is not given" names no kind
    labels = list(dict.fromkeys(_LABELS[word] for word in found))
    if not labels:
        raise ValueError(f"no ambiguity type among {', '.join(AmbiguityType)} in: {shown(text)}")
    return [label for label in labels if label is not AmbiguityType.NONE] or labels


_GRADES: dict[str, Grade] = {grade.lower(): grade for grade in Grade}
_SUPPORTS: dict[str, Support] = {
    "fully": Support.FULLY,
    "full": Support.FULLY,
    "partially": Support.PARTIALLY,
    "partly": Support.PARTIALLY,
    "partial": Support.PARTIALLY,
    "no": Support.NO,
    "none": Support.NO,
    "not supported": Support.NO,
    "unsupported": Support.NO,
}
_Label = TypeVar("_Label", Grade, Support)


def _one_label(value: Any, labels: Mapping[str, _Label]) -> _Label:
    """Return the one label that a text names; one that is named first, or alone, counts."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        (value,) = value
    words = "|".join(sorted(map(re.escape, labels), key=len, reverse=True))
    text = told(value) if isinstance(value, str) else ""
    found = list(re.finditer(rf"(?<!not )\b(?:{words})\b", text.lower()))
    leads = bool(found) and not re.search(r"\w", text[: found[0].start()])
    named = {labels[match[0]] for match in found}
    if not (leads or len(named) == 1):
        raise ValueError(f"not one of {', '.join(dict.fromkeys(labels.values()))}: {shown(value)}")
    return labels[found[0][0]]


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
