"""What clauses do to evidence: how answers are worded, which passages are preferred, in which order readings come."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from polyqa.metrics.text import STOPWORDS, content_words, sentence_at, split_title

from .answer_kinds import YEAR, answer_kind, years
from .clauses import Clauses
from .evidence import Evidence, same_answer
from .grammar import DATE, NAME

DOUBTS = {None: 1.0, "no": 2.0, "yes": 0.4}
"""How much more support a judgement needs, where the clauses say what to do in doubt."""
_MATCHING = 0.5
_OTHERS = 0.5
_ROLE = re.compile(rf"(?:the |an? )?(?:[a-z][\w’'-]* )+(?P<name>{NAME.pattern})")
_BEHIND = re.compile(rf"(?P<name>{NAME.pattern})(?:,| the| an?| as| who| which) .+")
_ONE_NAME = re.compile(r"[A-Z][\w’'-]+")
_TWICE = re.compile(r"(?P<name>\w+(?: \w+)*) (?P=name)(?: .*)?")
_LAST_WORDS = re.compile(r"(?: (?:the|an?|of|and|in|on|at|to|for|by))+$")


def worded(question: str, found: Sequence[Evidence], clauses: Clauses) -> list[Evidence]:
    """Return evidence with its answers as the clauses want them, best supported first."""
    answers = [replace(one, answer=as_asked(question, one, clauses)) for one in found]
    if clauses.titles:
        asked = set(content_words(question))
        for at, one in enumerate(answers):
            named = set(content_words(one.passage.title))
            share = len(named & asked) / max(1, len(named))
            answers[at] = replace(one, support=one.support * (_MATCHING + (1 - _MATCHING) * share))
        answers.sort(key=lambda one: -one.support)
    return agreed(answers) if clauses.agreed else answers


def agreed(found: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence, best supported first, whose support grows with that of the same answer in other passages.

        1 − (1 − s) ∏ (1 − s′ / 2)

    s is its own, s′ the best support of the same answer in each other passage: half of it counts, as passages repeat
    one another's errors.
    """
    supported = []
    for one in found:
        others: dict[int, float] = {}
        for other in found:
            number = other.passage.number
            if number != one.passage.number and same_answer(other.answer, one.answer):
                others[number] = max(others.get(number, 0.0), other.support)
        doubt = math.prod([1 - one.support, *(1 - _OTHERS * support for support in others.values())])
        supported.append(replace(one, support=1 - doubt))
    return sorted(supported, key=lambda one: -one.support)


def as_asked(question: str, one: Evidence, clauses: Clauses) -> str:
    """Return the answer of evidence as the clauses want it."""
    answer = one.answer
    if clauses.dates and answer_kind(question) == "time":
        answer = _year_of(answer) if clauses.dates == "year" else _date_of(one)
    if clauses.brief:
        answer = bare(answer, one.passage.title)
    if clauses.full_names and answer_kind(question) == "person":
        answer = _full_name(answer, one)
    return answer


def _year_of(answer: str) -> str:
    """Return the year of a date; anything else as it is.

    >>> _year_of("20 July 1969"), _year_of("1914 to 1918")
    ('1969', '1914 to 1918')
    """
    found = years(answer)
    return found[0] if len(found) == 1 and DATE.fullmatch(answer) else answer


def _date_of(one: Evidence) -> str:
    """Return the date of which the answer is the year, as its sentence has it; else the answer."""
    sentence = sentence_at(one.passage.text, one.span.start)
    at = one.span.start - sentence.start
    whole = [found[0] for found in DATE.finditer(sentence.text) if found.start() <= at < found.end()]
    return whole[0] if whole and one.answer in whole[0] else one.answer


def _full_name(answer: str, one: Evidence) -> str:
    """Return the first name in the title or the passage that ends with the answer, if that is one word."""
    if not _ONE_NAME.fullmatch(answer):
        return answer
    longer = rf"\b(?:[A-Z][\w’'-]*\.? ){{1,3}}{re.escape(answer)}\b"
    for text in (split_title(one.passage.title)[0], one.passage.text):
        for found in re.finditer(longer, text):
            if found[0].split()[0].lower() not in STOPWORDS:
                return found[0]
    return answer


def bare(answer: str, title: str = "") -> str:
    """Return the name or figure of an answer, without a role before it and what is said of it behind it.

    What is said twice is said once, but in a name that the title of the passage has.

    >>> bare("footballer Cristiano Ronaldo"), bare("Ann Lee the singer"), bare("Old Hall Old Hall"), bare("a ring")
    ('Cristiano Ronaldo', 'Ann Lee', 'Old Hall', 'a ring')
    >>> bare("Duran Duran", "Duran Duran")
    'Duran Duran'
    """
    text = _LAST_WORDS.sub("", answer)
    if (found := _TWICE.fullmatch(text)) and f"{found['name']} {found['name']}" not in title:
        text = found["name"]
    for pattern in (_ROLE, _BEHIND):
        if found := pattern.fullmatch(text):
            text = found["name"]
    return text


def in_order(chosen: Sequence[Evidence], clauses: Clauses) -> list[Evidence]:
    """Return readings by the year that goes with each, where the clauses name an order; without a year come last."""
    if clauses.order is None:
        return list(chosen)
    sign = -1 if clauses.order == "newest" else 1
    return sorted(chosen, key=lambda one: sign * (_year(one) or sign * math.inf))


def _year(one: Evidence) -> int | None:
    """Return the year of the answer, else of its sentence, the nearest to the answer, else of the title."""
    sentence = sentence_at(one.passage.text, one.span.start)
    at = one.span.start - sentence.start
    near = min(YEAR.finditer(sentence.text), key=lambda found: (abs(found.start() - at), found[0]), default=None)
    found = [*years(one.answer), *([near[0]] if near else []), *years(one.passage.title)]
    return int(found[0]) if found else None
