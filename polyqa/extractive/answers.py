"""From the reader's span to a whole answer: "18 February 1925", not "February 1925" of it or a clause around it."""

import re

from polyqa.models import Span

from .answer_kinds import answer_kind, years
from .grammar import DATE, NAME

_MARKS = " .,;:"
_PAIRS = (("(", ")"), ("“", "”"), ("[", "]"))
_INSIDE = re.compile(r"((?:the )?[A-Z].*?),? in (?:the )?[A-Z].*")
_YEAR_ASKED = re.compile(r"\b(?:what|which) year\b", re.I)
_TWICE = re.compile(r"(\S+(?:\s+\S+)+)\s+\1")
_RANGE = re.compile(r"\b(?:to|until|till|and|through)\b|[–—-]")


def whole_answer(question: str, text: str, span: Span) -> str:
    """Return the answer that a span of a text stands for.

    Marks at its ends go, and brackets or quotation marks without their other half. A date of which the span holds a
    part is completed, and what stands around a single date goes where a time is asked for, as does a role before
    the name where a person is, where a place lies, and the noun that the question names itself. What stands twice, as
    where a heading runs into its text, is said once.
    """
    kind = answer_kind(question)
    answer = _balanced(span.text.strip(_MARKS))
    if twice := _TWICE.fullmatch(answer):  # "Warren Hastings Warren Hastings", but not "Duran Duran"
        answer = twice[1]
    if kind == "time":
        return _date(question, text, span) or answer
    if kind == "person":
        return _person(answer)
    if kind == "place" and (inside := _INSIDE.fullmatch(answer)):
        return inside[1]
    return _without_asked(question, answer)


def _without_asked(question: str, answer: str) -> str:
    """Drop a common noun that the question names: "Delta IV Heavy rocket" to *What rocket …?*"""
    asked = set(re.findall(r"\b[a-z]{3,}\b", question))
    before, _, noun = answer.rpartition(" ")
    if noun in asked and re.search(r"[A-Z\d]", before):
        return before
    of = re.fullmatch(r"(?:.* )?([a-z]{3,}) of ([A-Z].*)", answer)
    return of[2] if of and of[1] in asked else answer


def _balanced(answer: str) -> str:
    for left, right in _PAIRS:
        if answer.count(left) > answer.count(right):
            before, _, after = answer.rpartition(left)
            answer = before if len(before) > len(after) else after
        elif answer.count(right) > answer.count(left):
            before, _, after = answer.partition(right)
            answer = before if len(before) > len(after) else after
    if answer.count('"') % 2:
        answer = answer.replace('"', "")
    if answer.endswith(("'", "’")) and not answer.startswith(("'", "‘")):
        answer = answer[:-1]
    return answer.strip(_MARKS)


def _date(question: str, text: str, span: Span) -> str:
    touched = [match[0] for match in DATE.finditer(text) if match.start() < span.end and match.end() > span.start]
    if len(touched) != 1 or _RANGE.search(span.text.replace(touched[0], "")):
        return ""
    found = years(touched[0])
    return found[0] if found and _YEAR_ASKED.search(question) else touched[0]


def _person(answer: str) -> str:
    role, comma, name = answer.rpartition(", ")
    return name if comma and role[:1].islower() and NAME.fullmatch(name) else answer
