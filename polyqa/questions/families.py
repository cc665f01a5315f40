"""What one ambiguous question may mean: passages whose titles share a name, questions that differ in a time or a place.

Names are shared in five ways: they are the same (*Titanic*, *Titanic (1953 film)*), one stands in the other (*Forth
Bridge*, *Forth Road Bridge*), they are editions of one thing (*2012 Summer Olympics*, *2016 Summer Olympics*), people
have one surname (*John Adams*, *Bryan Adams*), or organisations one abbreviation (*ABA*).

VERDICT (section 3) takes what different passages answer differently as the readings of one question. Generated
questions show it by themselves: *Who won the 2008 election?* and *Who won the 2012 election?* are the readings of *Who
won the election?*.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polyqa.base.values import Passage
from polyqa.metrics.text import normalize_answer, split_title

from .quality import FUNCTION, WHEN, WORD

_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d(?:[–-]\d{2,4})?\b")
_NUMBER = re.compile(r" (?:\d{1,3}|[IVXL]+)$")
_LIFE = r"\([^()]*\d{4}\s*[–—-]\s*[^()]*\d{4}\)"
_PERSON = re.compile(rf"\((?:[^()]{{0,60}}\b)?born\b|{_LIFE}|\. (?:He|She) (?:was|is|had|has|became)\b")
_OPENING = 400  # characters
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


def shared_name(one: str, other: str) -> str:
    """Return the one of two names that stands for the other, too; ``""`` if none does.

    It has the first and the last word of the other and no word that the other lacks: *Forth Bridge* stands for the
    *Forth Road Bridge*, but *Beast* not for *Beauty and the Beast*.

    >>> shared_name("Forth Road Bridge", "Forth Bridge"), shared_name("Tay Bridge", "Forth Bridge")
    ('Forth Bridge', '')
    """
    short, long = sorted((one.split(), other.split()), key=len)
    ends = len(short) > 1 and (short[0], short[-1]) == (long[0], long[-1])
    return " ".join(short) if ends and [word for word in long if word in short] == short else ""


def edition_of(name: str) -> str:
    """Return what a name is an edition of; ``""`` if it is of nothing.

    >>> edition_of("2016 Summer Olympics"), edition_of("Super Bowl XLIX"), edition_of("Jaws 2")
    ('Summer Olympics', 'Super Bowl', '')
    """
    base = _YEAR.sub(" ", name)
    if base == name:
        base = _NUMBER.sub("", name)
    base = " ".join(base.split()).strip(" –-")
    return base if base != name and len(base.split()) > 1 and base[:1].isupper() else ""


def surname(passage: Passage) -> str:
    """Return the last name of the person whom a passage is about; ``""`` if it is about something else."""
    name = split_title(passage.title)[0]
    words = name.split()
    person = 2 <= len(words) <= 3 and all(re.fullmatch(r"[A-Z][\w'’.-]+", word) for word in words)
    return words[-1] if person and _PERSON.search(passage.text[:_OPENING]) else ""


def abbreviation(passage: Passage) -> str:
    """Return the abbreviation that a passage gives for its name; ``""`` if it gives none."""
    name = split_title(passage.title)[0]
    letters = "".join(word[0] for word in re.findall(r"\b[A-Z]\w+", name))
    return letters if len(letters) > 2 and re.search(rf"\b{letters}\b", passage.text[:_OPENING]) else ""


def base_names(passages: Sequence[Passage]) -> dict[str, str]:
    """Return, for the id of each passage, the name that it shares with the most others; else its own."""
    names = {passage.pid: split_title(passage.title, commas=True)[0] for passage in passages}
    counted = Counter(names.values())
    distinct = [name for name in counted if name]
    options: dict[str, set[str]] = {name: {name} for name in distinct}
    for passage in passages:
        name = names[passage.pid]
        options.get(name, set()).update(filter(None, (edition_of(name), surname(passage), abbreviation(passage))))
    by_last: dict[str, list[str]] = {}
    for name in distinct:
        by_last.setdefault(name.split()[-1], []).append(name)
    for group in by_last.values():
        for at, one in enumerate(group):
            for other in group[at + 1 :]:
                if shared := shared_name(one, other):
                    options[one].add(shared)
                    options[other].add(shared)
    members: Counter[str] = Counter()
    for name in distinct:
        for base in options[name]:
            members[base] += counted[name]
    best = {name: max(options[name], key=lambda base: (members[base], len(base), base)) for name in distinct}
    return {pid: best.get(name, "") for pid, name in names.items()}


def without_qualifier(question: str, title: str, base: str) -> str | None:
    """Return a question with the shared name in place of the title; ``None`` if it does not name it.

    The qualifier goes, in brackets or not, and so do the words of the name that the others lack.

    >>> without_qualifier("Who designed the Forth Road Bridge?", "Forth Road Bridge", "Forth Bridge")
    'Who designed the Forth Bridge?'
    >>> without_qualifier("Who directed the 1953 film Titanic?", "Titanic (1953 film)", "Titanic")
    'Who directed Titanic?'
    """
    name, qualifier = split_title(title, commas=True)
    text = question
    if qualifier:
        text = re.sub(rf"\s*\({re.escape(qualifier)}\)|, {re.escape(qualifier)}\b", "", text)
        text = re.sub(rf"\b(?:the )?{re.escape(qualifier)} (?={re.escape(name)})", "", text)
    if not name or name not in text:
        return None
    text = text.replace(name, base, 1)
    words = f" {normalize_answer(text)} "
    left = [word for word in normalize_answer(qualifier).split() if f" {word} " in words]
    shared = set(normalize_answer(base).split())
    # A word of the qualifier that is still there tells the readings apart: nothing was made ambiguous.
    return None if any(word not in shared and word.isdigit() for word in left) else " ".join(text.split())


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
        begin = body[: matches[0].start()] if len(matches) == 1 else ""
        if begin and begin.count("(") == begin.count(")"):
            cut = matches[0]
            article = re.match(r"\s*the (?=\d)", cut[0])
            middle = " the" if article and body[cut.end() :].strip() else ""
            return _whole(f"{begin}{middle} {body[cut.end() :]}", cut[0], "time")
    return None


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
