"""Which generated questions are good enough to train with, and why the others are not.

Some generated questions their own reader can answer and nobody would ask: with a name spelled wrongly, about a birth
with the date of the death. For finding passages they do no harm; in training they would teach what is wrong. The rules
here look only at the question, its answer and its passage, and say in words what they found. They are heuristics of
English, tried in order, each for one kind of fault. What a small writer asks in bad grammar is left to how far its
questions are trusted (`polyqa.extractive.ExtractiveEngine.trust`).
"""

import re
from calendar import day_name, month_name
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from polyqa.base.values import Passage
from polyqa.metrics.text import SECTION, content_words, names_and_numbers, stems

WORD = re.compile(r"[^\W\d_][\w'’.-]*")
WHEN = re.compile(r"^(?:When|(?:In|On|At) (?:what|which) (?:year|date|day|month|century|decade)|What (?:year|date))\b")
"""How a question begins that asks for a time."""
FUNCTION = frozenset(
    """
    a an the of in on at to from by for with and or as is was are were be been did do does has have had it its that this
    what which who whom whose when where why how many much long old far into about than there their his her he she they
    not also only between during after before until since under over although while however following despite because
    then though if
    """.split()  # noqa: SIM905
)
OFTEN_CAPITAL = frozenset(
    """
    is was are were did does do has have had city country year company state date county river team person man woman
    type kind language province region town village school university club band song film book island plateau
    """.split()  # noqa: SIM905
)
PERSON = re.compile(
    r"\w+(?:er|or|ist|ian|ant|ent|man|woman|ess|ief|eer|ar|king|queen|prince|duke|earl|count|pope|wife|husband|son|"
    r"daughter|uncle|aunt|niece|nephew|cousin|child|captain|coach|host|judge|voice|lead|head|star|bride|groom|ally|"
    r"people|men|women|twin|ace|founder|winner|author|cast)s?"
)
CONTINENTS = frozenset({"Africa", "Antarctica", "Asia", "Europe", "North America", "Oceania", "South America"})
"""None of them is a country, too."""
_AFTER_ASKING = re.compile(r"^((?:[A-Z][a-z]+ )?(?:[Ww]hat|[Ww]hich)) ([A-Z][A-Za-z]+)\b")
_ASKING = re.compile(
    r"^(?:(?:In|On|At|To|From|By|For|With) (?:what|which|whom)|What|Which|Who|Whom|Whose|When|Where|Why|How)\b"
)
_NAME_OF = re.compile(
    r"^(?:What|Which) (?:is|was|are|were) (?:the )?names? (?:of|given to)\b(?: the ([a-z ]+?)(?: of| in| at|$))?"
)
_CALENDAR = re.compile(rf"\b(?:{'|'.join((*day_name, *month_name[1:]))})s?\b")
_SAYS_WHICH = re.compile(r"\b(?:that|who|which|where)\b")
_DATE = re.compile(r"\d|century|decade")
_TIME = re.compile(
    r"\d|\b(?:centur|decade|year|month|week|hour|night|morning|evening|noon|spring|summer|autumn|winter)|day"
)
_LATER = re.compile(r"\b(?:year|month|week|day|hour)s? (?:later|earlier|after|before|ago)\b")
_MARKS = re.compile(r"[\"“”]{2}|\s-\w|\w- |\(\s|\s\)")
_SPAN = re.compile(r"\bfrom (\d{3,4}s?) (?:to|until) (\d{3,4}s?)\b")
_YEAR_OF = re.compile(r"\bthe (\d{4}) (?:[a-z]+ )?([a-z]+)\b")
_PEOPLE = re.compile(r"(?:ian|can|ish|ese|nch|utch|reek|erman|orean)$")
_TO_AN_END = re.compile(
    r"\b(?:until|to|till|between|through|before|after|by)\s+(?:the )?$|\d\s*[–-]\s*$|\bbetween [^.;]{0,40} and $"
)
_ASKS_END = re.compile(r"\b(?:until|end|ended|close|closed|die|died|last|before|after|by)\b")


def mended(question: str) -> str:
    """Return a question with a small writer's slips mended: "' S", a capital after the question word, a word twice.

    >>> mended("In what City is Niva' S office?")
    "In what city is Niva's office?"
    """
    text = re.sub(r"\s*['’]\s+[Ss]\b", "'s", question)
    text = re.sub(r"(\([^()]*?(\b\w+)\)) \2\b", r"\1", text)
    match = _AFTER_ASKING.match(text)
    if match and match[2].lower() in OFTEN_CAPITAL:
        text = f"{match[1]} {match[2].lower()}{text[match.end() :]}"
    return text


class Asked(NamedTuple):
    """A question, without its question mark in ``body``, with its answer, which is a span of its passage."""

    body: str
    answer: str
    passage: Passage


def fault(question: str, answer: str, passage: Passage) -> str:
    """Return what is wrong with a question whose answer is a span of a passage; ``""`` if nothing is seen.

    >>> passage = Passage(pid="1", title="Ada Lind", text="Ada Lind (3 May 1909 – 15 August 2014) sang in Oslo.")
    >>> fault("When was Ada Lind born?", "15 August 2014", passage)
    'asks for a beginning, and the answer is an end'
    >>> fault("When was Ada Lind born?", "3 May 1909", passage)
    ''
    """
    candidate = Asked(question.rstrip("? "), answer, passage)
    for rule in _RULES:
        if why := rule(candidate):
            return why
    return ""


_UNCLEAR = "does not say clearly whom or what it is about"


def _form(candidate: Asked) -> str:
    body = candidate.body
    if not _ASKING.match(body):
        return "does not begin as a question does"
    match = _NAME_OF.match(body)
    if match and not _SAYS_WHICH.search(body) and not (match[1] and PERSON.fullmatch(match[1].split()[-1])):
        return "asks for a name only"
    if _MARKS.search(body) or body.count("(") != body.count(")") or body.count('"') % 2:
        return "has marks that do not fit together"
    if _says_twice(body, candidate.passage.title):
        return _UNCLEAR
    return ""


def _says_twice(body: str, title: str) -> bool:
    """Whether a word comes twice that its title has once at most."""
    words = [re.sub(r"['’]s$", "", word) for word in WORD.findall(body)[1:]]
    counted = Counter(word for word in words if len(word) > 3 and word.lower() not in FUNCTION)
    in_title = Counter(WORD.findall(title))
    return any(count > max(1, in_title[word]) for word, count in counted.items())


def _names(candidate: Asked) -> str:
    for word in WORD.findall(candidate.body)[1:]:
        bare = re.sub(r"['’]s$", "", word).strip(".'’-")
        if not bare[:1].isupper() or bare == "I" or bare in candidate.passage.title:
            continue
        # A word such as "The" belongs to a name where it has its capital within a sentence.
        within = r"(?<!^)(?<![.!?] )" if bare.lower() in FUNCTION else ""
        if not re.search(rf"{within}\b{re.escape(bare)}", candidate.passage.text):
            return f"has a name that its passage lacks: {bare}"
    return ""


def _about_something(candidate: Asked) -> str:
    """Whether a question has a name, a figure or a word of the title, which *When was the station opened?* has not.

    A day or a month is no name: *What happens on Friday?* Of a section's title it is a word of the heading, or two:
    *What does the creature eat?* could be asked of all sections of *Creatures*.
    """
    names = _CALENDAR.sub("", candidate.body)
    if names_and_numbers(names) or re.search(r"\d", names):
        return ""
    title, asked = candidate.passage.title, stems(candidate.body)
    heading_stems, title_stems = (
        stems(" ".join(content_words(text))) & asked for text in (title.rpartition(SECTION)[2], title)
    )
    return "" if heading_stems or len(title_stems) > 1 else _UNCLEAR


def _times(candidate: Asked) -> str:
    body, passage = candidate.body, candidate.passage
    if (span := _SPAN.search(body)) and not _tells_span(passage.text, span[1], span[2]):
        return "has a span of years that its passage does not tell"
    if (year := _YEAR_OF.search(body)) and not re.search(
        rf"\b{year[1]}\b(?:\W+[\w'’-]+){{0,5}}?\W+{re.escape(year[2])}", f"{passage.title} {passage.text}"
    ):
        return "has a year that its passage tells of something else"
    return ""


def _tells_span(text: str, begin: str, end: str) -> bool:
    if begin == end:
        return False
    return bool(re.search(rf"{begin}\s*(?:to|until|and|[–—-])\s*(?:{end}|{end[2:]})", text))


def _kind_of_answer(candidate: Asked) -> str:
    body, answer = candidate.body, candidate.answer
    before = candidate.passage.text.partition(answer)[0]
    if WHEN.match(body) and (_LATER.search(answer) or not (_TIME if body.startswith("When") else _DATE).search(answer)):
        return "asks for a time, and the answer is none"
    if "country" in body.split()[:3] and (_PEOPLE.search(answer) or answer in CONTINENTS):
        return "asks for a country, and the answer is none"
    if WHEN.match(body) and not _ASKS_END.search(body) and _TO_AN_END.search(before):
        return "asks for a beginning, and the answer is an end"
    return ""


_RULES: tuple[Callable[[Asked], str], ...] = (_form, _names, _times, _kind_of_answer, _about_something)
