"""Readings in lines that say what they hold: ``DQ n: … / DA n: …``, ``Question: … / Answer: … / Passage: …``."""

import re
from dataclasses import dataclass
from enum import Enum

from polyqa.base.values import Interpretation

from .nothing import is_null, looks_like_refusal
from .records import passage_number, split_citation
from .text import is_rule, shown, strip_dress

_NUMBER = r"(?:\s*[#(\[]?\s*(?P<number>\d{1,3})\s*[)\]]?)?"
_BEFORE = r"(?:[-*•–+]\s+|\(?\d{1,3}\s*[.)]\s*|\[\d{1,3}\]\s*)?[#>\s]*(?P<mark>[*_`]+)?"
_KINDS = {
    "question": r"DQ|disambiguated[ _]question|question|interpretation|reading|Q(?=\s*\d*[*_]*\s*:)",
    "answer": r"DA|disambiguated[ _]answer|short[ _]answer|answer|A(?=\s*\d*[*_]*\s*:)",
    "passage": r"pid|passages?|sources?|citation",
}
_KIND = "|".join(f"(?P<{kind}>{words})" for kind, words in _KINDS.items())
_HEADER = re.compile(rf"\s*{_BEFORE}(?:{_KIND}){_NUMBER}[*_`]*\s*(?:[:=]|\.(?!\w)|\s[-–—]\s)(?(mark)[*_`]*)\s*", re.I)
_BARE_HEADER = re.compile(
    rf"\s*{_BEFORE}(?P<tag>DQ|DA|question|answer|reading)\s*#?(?P<number>\d{{1,3}})[*_`]*\s*\Z", re.I
)
_LETTER = re.compile(rf"\s*{_BEFORE}[QA]\s*[:.]", re.I)
# A passage that is cited on a line of its own: "[3]", "Passage 5", "(passages 9 and 2)", "passage [3]".
_CITATION = re.compile(
    r"[\s*_]*(?:\[(?P<bare>\d{1,3})\]|[\[(]?(?:passages?|sources?)\s*[\[(#]*\s*(?P<named>\d{1,3})[\])]*)"
    r"(?:\s*,?\s*\[\d{1,3}\]|\s*(?:,|;|&|and)\s*\d{1,3}[\])]*)*[\s*_.]*",
    re.I,
)
_INLINE_DQ = re.compile(r"(?<=\S)[|;,/–—-]*\s+[\s|;,/–—-]*(?=[*_]*D[QA]\s*#?\s*\d{1,3}[*_]*\s*:)", re.I)
_INLINE = re.compile(
    r"(?<=\S)[*_]*\s*(?:[|;/–—-]\s*|,\s+|(?<=[?\"”'])[*_]*\s+)"
    r"(?=[*_]*(?:(?:short |disambiguated )?answer|passage|pid|source|A)\s*#?\d*\s*[*_]*:[*_]*\s)",
    re.I,
)


class _Kind(Enum):
    QUESTION = "question"
    ANSWER = "answer"
    PASSAGE = "passage"


@dataclass(frozen=True)
class _Line:
    kind: _Kind
    number: int | None
    text: str
    tagged: bool
    """Whether it is named DQ or DA."""


def question_of(line: str) -> str | None:
    """Return what stands after ``DQ 1:`` or ``Question:``, ``None`` if the line has no such header.

    >>> question_of("- **DQ 1:** Who won?"), question_of("Who won?")
    ('Who won?', None)
    """
    match = _HEADER.match(line) or _BARE_HEADER.match(line)
    if not match or match.groupdict().get("answer") or match.groupdict().get("passage"):
        return None
    return line[match.end() :]


def is_other_header(line: str) -> bool:
    """Return whether a line begins with ``DA 1:``, ``Answer:`` or ``Passage:``."""
    match = _HEADER.match(line)
    return bool(match and not match["question"])


def is_tagged(text: str) -> bool:
    r"""Return whether a text has lines for questions and for answers, or numbered ``DQ`` lines.

    >>> is_tagged("Reading: Who won?\nShort answer: Jones"), is_tagged("Question: Who won?")
    (True, False)
    """
    lines = _lines(text)
    if {line.kind for line in lines} >= {_Kind.QUESTION, _Kind.ANSWER}:
        return True
    return any(line.tagged for line in lines)


def _lines(text: str) -> list[_Line]:
    """Return the lines that have a header; an empty one takes the line that follows, if that has none."""
    found: list[_Line] = []
    waits = False
    named = bool(re.search(r"\bD[QA]\s*#?\d", text))  # then "Q:" is no header: "Q: The Winged Serpent" is a film
    physical = [part for line in text.splitlines() for whole in _INLINE_DQ.split(line) for part in _split(whole)]
    for line in physical:
        match = _HEADER.match(line) or _BARE_HEADER.match(line)
        if match and not (named and _LETTER.match(line)):
            kind = _kind(match)
            number = int(match["number"]) if match["number"] else None
            tag = line[: match.end()].upper()
            body = line[match.end() :].strip()
            found.append(_Line(kind, number, body, "DQ" in tag or "DA" in tag))
            waits = not body or is_rule(body)
        elif waits and line.strip() and not is_rule(line):
            last = found[-1]
            found[-1] = _Line(last.kind, last.number, line.strip(), last.tagged)
            waits = False
        elif found and found[-1].kind is _Kind.ANSWER and (cited := _CITATION.fullmatch(line)):
            found.append(_Line(_Kind.PASSAGE, None, cited["bare"] or cited["named"], False))
    return found


def _split(line: str) -> list[str]:
    """Return a line in parts if it begins with a question's header and has that of the answer further on."""
    match = _HEADER.match(line)
    return _INLINE.split(line) if match and match["question"] else [line]


def _kind(match: re.Match[str]) -> _Kind:
    groups = match.groupdict()
    if tag := groups.get("tag"):
        return _Kind.ANSWER if tag.lower() in ("da", "answer") else _Kind.QUESTION
    return next(kind for kind in _Kind if groups[kind.value])


@dataclass
class _Reading:
    number: int | None
    question: str
    answer: str | None = None
    pid: str | None = None


def parse_interpretation_lines(text: str) -> list[Interpretation]:
    """Read ``DQ n: … / DA n: …`` lines (the format of the RAC prompt of Tree of Clarifications).

    An answer belongs to the question of its number, in whatever order they stand; where one of them has no
    number, to the question before it. A question without an answer line is dropped, one whose answer line
    says that there is none stays, with that answer. Lines of other kinds are passed over; an ``Answer:`` line without
    a number ends the list of ``DQ`` lines, as there the long answer begins.

    Raises
    ------
    ValueError
        If it cannot be told which question an answer belongs to.
    """
    lines = _lines(text)
    tagged = False
    for place, line in enumerate(lines):
        if line.kind is _Kind.ANSWER and tagged and not line.tagged and line.number is None:
            lines = lines[:place]  # the long answer
            break
        tagged = tagged or (line.tagged and line.kind is _Kind.QUESTION)
    asked = [line for line in lines if line.kind is _Kind.QUESTION and line.text]
    numbers = [line.number for line in asked if line.number is not None]
    numbered = len(set(numbers)) == len(numbers) > 0  # all called "DQ 1" are told apart by their order
    readings = [_Reading(line.number if numbered else None, _clean(line.text)) for line in asked]
    by_number = {reading.number: reading for reading in readings if reading.number is not None}
    upcoming = iter(readings)
    last: _Reading | None = None
    answered: _Reading | None = None
    for line in lines:
        if line.kind is _Kind.QUESTION:
            last = next(upcoming) if line.text else None
        elif line.kind is _Kind.ANSWER:
            owner = by_number.get(line.number) if numbered and line.number is not None else last
            if owner is None and line.number in by_number:
                owner = by_number[line.number]
            if owner is None and not line.text:
                continue
            if owner is None or owner.answer is not None:
                raise ValueError(
                    f"no interpretation found in: {shown(text)}: which question is answered by {line.text!r:.80}?"
                )
            owner.answer, answered = line.text, owner
        else:
            owner = by_number.get(line.number) if numbered and line.number is not None else answered
            if owner is not None:
                owner.pid = owner.pid or _pid(line.text)
    return [_told(reading) for reading in readings if reading.answer is not None]


def _pid(text: str) -> str | None:
    """Return the number of a passage; its title may follow."""
    found = passage_number(f"passage {text}" if text[:1].isdigit() else text)
    return found if found is not None and found.isdigit() else None


def _clean(text: str) -> str:
    return strip_dress(text.strip().removesuffix("**").removesuffix("__") if text.count("**") == 1 else text)


def _told(reading: _Reading) -> Interpretation:
    assert reading.answer is not None
    answer = _clean(reading.answer)
    if is_null(answer) or looks_like_refusal(answer):
        return Interpretation(question=reading.question, answer="")
    answer, cited = split_citation(answer)
    return Interpretation(question=reading.question, answer=_clean(answer), pid=reading.pid or cited)
