"""Readings in lines that say what they hold: ``DQ n: … / DA n: …``, ``Question: … / Answer: … / Passage: …``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from polyqa.base.values import Interpretation

from .records import passage_number, reading_of
from .text import is_rule, shown, strip_dress

_BEFORE = r"\s*(?:[-*•–+]\s+|\(?\d{1,3}\s*[.)]\s*|\[\d{1,3}\]\s*)?[#>\s]*(?P<mark>[*_`]+)?"
_KIND = (
    r"(?:(?P<question>DQ|disambiguated[ _]question|question|interpretation|reading|Q(?=\s*\d*[*_]*\s*:))|"
    r"(?P<answer>DA|disambiguated[ _]answer|short[ _]answer|answer|A(?=\s*\d*[*_]*\s*:))|"
    r"(?P<passage>pid|passages?|sources?|citation))"
)
# After the name a colon or the like, or nothing but the number: then what it names stands on the next line.
_HEADER = re.compile(
    rf"{_BEFORE}{_KIND}(?:\s*[#(\[]?\s*(?P<number>\d{{1,3}})\s*[)\]]?)?[*_`]*"
    r"\s*(?:[:=]|\.(?!\w)|\s[-–—]\s|(?(number)\Z|(?!)))(?(mark)[*_`]*)\s*",
    re.I,
)
# A passage that is cited on a line of its own: "[3]", "Passage 5", "(passages 9 and 2)".
_CITATION = re.compile(
    r"[\s*_]*(?:\[|\(?(?:passages?|sources?)\s*[\[(#]*)(?P<number>\d{1,3})[\])\[\d\s,;&and]*[\s*_.]*", re.I
)


@dataclass(frozen=True)
class _Line:
    kind: str
    """``question``, ``answer`` or ``passage``."""
    number: int | None
    text: str
    tagged: bool
    """Whether it is named DQ or DA."""


def _lines(text: str) -> list[_Line]:
    """Return the lines that have a header; an empty one takes the line that follows, if that has none."""
    found: list[_Line] = []
    named = bool(re.search(r"\bD[QA]\s*#?\d", text))  # then "Q:" is no header: "Q: The Winged Serpent" is a film
    for line in text.splitlines():
        match = _HEADER.match(line)
        kind = next(kind for kind in ("question", "answer", "passage") if match[kind]) if match else ""
        if match and not (named and len(match[kind]) == 1):
            body = line[match.end() :].strip()
            body, number = "" if is_rule(body) else body, match["number"]
            if kind == "passage" and not body and number:
                body, number = number, None  # "Passage 5"
            tagged = match[kind].upper() in ("DQ", "DA")
            found.append(_Line(kind, int(number) if number else None, body, tagged))
        elif found and not found[-1].text and not is_rule(line):
            found[-1] = replace(found[-1], text=line.strip())
        elif found and found[-1].kind == "answer" and (cited := _CITATION.fullmatch(line)):
            found.append(_Line("passage", None, cited["number"], False))
    return found


def headed_questions(text: str) -> list[str]:
    r"""Return what stands after ``DQ 1:`` or ``Question:``.

    >>> headed_questions("- **DQ 1:** Who won?\nDA 1: Jones"), headed_questions("Who won?")
    (['Who won?'], [])
    """
    return [_clean(line.text) for line in _lines(text) if line.kind == "question" and line.text]


def is_tagged(text: str) -> bool:
    r"""Return whether a text has lines for questions and for answers, or ``DQ`` lines.

    >>> is_tagged("Reading: Who won?\nShort answer: Jones"), is_tagged("Question: Who won?")
    (True, False)
    """
    lines = _lines(text)
    return {line.kind for line in lines} >= {"question", "answer"} or any(line.tagged for line in lines)


def parse_interpretation_lines(text: str) -> list[Interpretation]:
    """Read ``DQ n: … / DA n: …`` lines (the format of the RAC prompt of Tree of Clarifications).

    An answer belongs to the question of its number, in whatever order they stand; where one of them has no number, to
    the question before it. A question without an answer, or whose answer says that there is none, is dropped. Lines of
    other kinds are passed over; an ``Answer:`` line without a number ends the list of ``DQ`` lines, as there the long
    answer begins.

    Raises
    ------
    ValueError
        If there is no answer, or it cannot be told which question one belongs to.
    """
    lines = list(_before_the_long_answer(_lines(text)))
    asked = [line for line in lines if line.kind == "question" and line.text]
    numbers = [line.number for line in asked]
    numbered = None not in numbers and len(set(numbers)) == len(numbers)  # all called "DQ 1" are told apart by order
    answers: dict[int, str] = {}
    pids: dict[int, str | None] = {}
    last, answered = -1, -1
    for line in lines:
        by_number = numbered and line.number is not None
        if line.kind == "question":
            last += bool(line.text)
        elif line.kind == "answer":
            place = numbers.index(line.number) if by_number and line.number in numbers else -1 if by_number else last
            if place < 0 or place in answers:
                raise ValueError(f"no interpretation found in: {shown(text)}: what does {line.text!r:.80} answer?")
            answers[place], answered = line.text, place
        else:
            place = numbers.index(line.number) if by_number and line.number in numbers else answered
            pids[place] = pids.get(place) or _pid(line.text)
    if not answers:
        raise ValueError(f"no interpretation found in: {shown(text)}")
    found = [reading_of(_clean(one.text), answers[n], pids.get(n)) for n, one in enumerate(asked) if n in answers]
    return [reading for reading in found if reading is not None]


def _before_the_long_answer(lines: list[_Line]) -> Iterator[_Line]:
    tagged = False
    for line in lines:
        if line.kind == "answer" and tagged and not line.tagged and line.number is None:
            return
        tagged = tagged or line.tagged
        yield line


def _pid(text: str) -> str | None:
    """Return the number of a passage; its title may follow."""
    found = passage_number(f"passage {text}" if text[:1].isdigit() else text)
    return found if found is not None and found.isdigit() else None


def _clean(text: str) -> str:
    return strip_dress(text.strip().removesuffix("**").removesuffix("__") if text.count("**") == 1 else text)
