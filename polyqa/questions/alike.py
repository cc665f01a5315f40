"""Questions that are the same but for a time or a place: what a question that names neither may mean.

VERDICT (section 3) takes what different passages answer differently as the readings of one question. Generated
questions show it by themselves: *Who won the 2008 election?* and *Who won the 2012 election?* are the readings of *Who
won the election?*.
"""

import re
from dataclasses import dataclass
from typing import Literal

from .quality import FUNCTION, WHEN, WORD

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = rf"(?:\d{{1,2}} )?(?:(?:{_MONTH}) )?(?:\d{{1,2}}, )?\d{{4}}s?(?:\s*[–-]\s*\d{{2,4}})?"
_SPAN = rf"{_DATE}(?: (?:to|until|and) {_DATE})?"
_ORDINAL = r"\d{1,3}(?:st|nd|rd|th)"
_BEFORE_TIME = r"in|on|during|since|until|by|before|after|from|between|for|of|at"
_TIME = re.compile(rf"\s*\b(?:(?:{_BEFORE_TIME}) )?(?:the )?(?:year )?{_SPAN}\b(?! \w+ (?:and|to))")
_NUMBERED = re.compile(rf"\b{_ORDINAL} (?=[A-Za-z])")
_PLACE = re.compile(r" in (?:the )?((?:[A-Z][\w'’.-]*)(?: (?:of |the )?[A-Z][\w'’.-]*)*)$")
_DANGLING = re.compile(r"\b(?:in|on|during|since|until|by|before|after|from|between|for|of|at|the|to|and|a|an)$")
_NAME = re.compile(r"\b[A-Z]")


@dataclass(frozen=True)
class Without:
    """A question without what says when or where.

    Attributes
    ----------
    question
        Without it.
    cut
        What was cut out of it.
    kind
        Whether it was a time or a place.
    """

    question: str
    cut: str
    kind: Literal["time", "location"]


def without_time(question: str) -> Without | None:
    """Return a question without its time; ``None`` if it names none, or is no question without it.

    >>> without_time("Who won the 2008 election?")
    Without(question='Who won the election?', cut='2008', kind='time')
    >>> without_time("What was the population of Perth in 2010?").question
    'What was the population of Perth?'
    """
    body = question.rstrip("? ")
    if WHEN.match(body):
        return None  # it asks for the time
    for pattern in (_TIME, _NUMBERED):
        matches = list(pattern.finditer(body))
        if len(matches) == 1 and matches[0].start() and not _in_brackets(body, matches[0].start()):
            cut = matches[0]
            begin = body[: cut.start()]
            article = re.match(r"\s*the (?=\d)", cut[0])
            middle = " the" if article and body[cut.end() :].strip() else ""
            return _whole(f"{begin}{middle} {body[cut.end() :]}", cut[0], "time")
    return None


def _in_brackets(body: str, at: int) -> bool:
    return body.count("(", 0, at) != body.count(")", 0, at)


def without_place(question: str) -> Without | None:
    """Return a question without the place at its end; ``None`` if there is none, or it is no question without it.

    >>> without_place("Where did Argentina play its first match in South Africa?").question
    'Where did Argentina play its first match?'
    """
    body = question.rstrip("? ")
    match = _PLACE.search(body)
    if match is None or not _NAME.search(body[: match.start()], 1):
        return None  # without a name nobody knows what it is about
    return _whole(body[: match.start()], match[1], "location")


def _whole(text: str, cut: str, kind: Literal["time", "location"]) -> Without | None:
    body = " ".join(text.split()).replace(" ,", ",").rstrip(", ")
    content = [word for word in WORD.findall(body)[1:] if word.lower() not in FUNCTION and len(word) > 2]
    if _DANGLING.search(body) or len(content) < 2:
        return None
    return Without(f"{body}?", re.sub(r"^(?:(?:in|on|of|the|year)\b\s*)+", "", cut.strip()), kind)
