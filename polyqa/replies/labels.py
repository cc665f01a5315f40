"""Labels: kinds of ambiguity, grades, support, marks."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from polyqa.base.values import AmbiguityType, Grade, Support

from .text import shown, told, without_fence

_KINDS = [kind for kind in AmbiguityType if kind is not AmbiguityType.NONE]
_LABELS: dict[str, AmbiguityType] = {word: kind for kind in _KINDS for word in (kind.lower(), kind.name.lower())}
_LABELS |= dict.fromkeys(("n/a", "na", "none", "unambiguous"), AmbiguityType.NONE)


def _any_of(words: list[str]) -> str:
    return rf"(?<![a-z])(?:{'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})(?![a-z])"


_LABEL = re.compile(_any_of(list(_LABELS)))
_ONE = rf"[\[*_`\"'(]*{_any_of([word for word in _LABELS if not word.startswith(('n', 'un'))])}[\])*_`\"']*"
_DENIED = re.compile(
    rf"(?:\b(?:not|no|nor|neither|without|excluding|except|rather than)|n't)\s+(?:an?\s+|any\s+|the\s+)?{_ONE}"
    rf"(?:\s*(?:\b(?:or|nor)\b|/)\s*{_ONE})*"
    rf"|{_ONE}\s+(?:does|do|is|are)\s?(?:not|n't)\b|{_ONE}\s*[:=]\s*(?:no|not|false|n/a|none)\b\W*(?=[,;\n]|\Z)"
)
_LISTED = re.compile(rf"\b(?:not|no|without)\s+{_ONE}\s*,\s*{_ONE}")  # is the second denied, too?
_ITEM = re.compile(r"[\W_]*(?:\d{1,2}\.\s*)?(?P<word>[a-z/ ]+?)(?:\s+ambigu\w+)?[\W_]*")


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
    lowered = re.sub(r"\bnot ambiguous\b|\bno ambiguity\b", "unambiguous", text.lower())
    if _LISTED.search(lowered):
        raise ValueError(f"no ambiguity type is clear in: {shown(text)}")
    left = _DENIED.sub(" ", re.sub(r"(?<=\bn)\.\s?a\b\.?", "/a", lowered))
    items = [item["word"] for part in re.split(r"[,;:\n(]|\band\b", left) if (item := _ITEM.fullmatch(part))]
    # "the time of the event is not given" names no kind
    found = [word for word in _LABEL.findall(left) if word.startswith("amb") or word in (*items, "n/a", "unambiguous")]
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
