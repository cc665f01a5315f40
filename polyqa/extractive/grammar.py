"""Simple English: the spans that a person might ask for, verb forms, and clauses of a subject, a verb and a rest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from polyqa.metrics.text import STOPWORDS, normalize_words, sentences, split_title

from .prompt import PromptPassage

# --- spans: dates, quantities, counts, names

MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:1[0-9]{3}|20[0-9]{2})"
DATE = re.compile(rf"\b(?:\d{{1,2}} {MONTH} {_YEAR}|{MONTH} \d{{1,2}}, {_YEAR}|{MONTH}(?: of)? {_YEAR}|{_YEAR})\b")
_UNITS = (
    r"(?:metres|meters|kilometres|kilometers|miles|feet|inches|tonnes|tons|acres|hectares|degrees|percent|years|days|"
    r"hours|minutes|(?:million |billion )?(?:dollars|pounds|euros))"
)
_COUNT = r"(?:\d[\d,.]*\d|\d|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
QUANTITY = re.compile(rf"\b{_COUNT}(?: million| billion)? {_UNITS}\b")
# "It has 19 arches": the number alone answers "How many arches ...?".
COUNTED = re.compile(rf"\b(?:has|had) (?P<count>{_COUNT}) (?:[a-z-]+ )?[a-z]+s\b")
_WORD = r"[A-Z][\w’'-]*[\w]|[A-Z]\."
NAME = re.compile(rf"(?:{_WORD})(?: (?:(?:de|von|van|der|la|of|du) )?(?:the )?(?:{_WORD}|III|II|IV|VI|V))*")
_COORDINATED = re.compile(rf"(?:{NAME.pattern})(?:(?:, (?:{NAME.pattern}))* and (?:{NAME.pattern}))+")


def candidate_spans(passage: PromptPassage) -> list[str]:
    """Return the spans of a passage in its order, each once.

    Names joined by "and" are one span, as the question that leads to one of them leads to all. The title
    and its parts are left out, and so is a word that only begins a sentence.
    """
    found: list[tuple[int, str]] = []
    for sentence in sentences(passage.text):
        spans = [(match.start(), match[0]) for pattern in (DATE, QUANTITY) for match in pattern.finditer(sentence.text)]
        spans += [(match.start("count"), match["count"]) for match in COUNTED.finditer(sentence.text)]
        for pattern in (_COORDINATED, NAME):
            for match in pattern.finditer(sentence.text):
                start, text = _without_opening(match.start(), match[0])
                inside = any(at < start + len(text) and start < at + len(other) for at, other in spans)
                if text and not inside and not _belongs_to(text, passage.title):
                    spans.append((start, text))
        found += [(sentence.start + start, text) for start, text in spans]
    return list(dict.fromkeys(text for _, text in sorted(found)))


def _without_opening(start: int, text: str) -> tuple[int, str]:
    """Drop articles and the like from the beginning of a capitalised span."""
    while text and text.split()[0].lower() in STOPWORDS:
        head, _, text = text.partition(" ")
        start += len(head) + 1
    single = " " not in text and start == 0
    return start, "" if single else text


def _belongs_to(text: str, title: str) -> bool:
    name = split_title(title)[0]
    return f" {normalize_words(text)} " in f" {normalize_words(title)} {normalize_words(name)} "


# --- verbs that questions are made with: base form, past, participle; a verb that is not here makes none

_REGULAR = (
    "abolish accept add adopt announce appear appoint approve arrest arrive automate award bury burn call cancel carry "
    "carve cast close collapse commission complete compose conclude conduct consecrate construct convert create crown "
    "dedicate defeat demolish depart describe design destroy develop die direct discover divorce donate double draft "
    "edit elect electrify end enlarge enter erect establish execute expand explode extend fail film finish flood form "
    "found graduate host inaugurate inherit install introduce invade invent issue join kill land last launch lease "
    "locate marry merge murder move name nickname nominate open ordain organize own paint patent perform plan play "
    "premiere produce promote publish raise ratify rebuild record recover reach release rename reopen repair replace "
    "resign rescue restore retire return sail settle ship sign sponsor stage start supervise survive succeed "
    "transfer translate visit widen"
)
_DOUBLED = {"ship": "shipped", "transfer": "transferred", "plan": "planned"}
_IRREGULAR = (
    "begin began begun|build built built|buy bought bought|catch caught caught|come came come|draw drew drawn|"
    "fall fell fallen|find found found|fly flew flown|give gave given|hold held held|lay laid laid|lead led led|"
    "leave left left|light lit lit|lose lost lost|make made made|rebuild rebuilt rebuilt|rise rose risen|"
    "sell sold sold|sing sang sung|sink sank sunk|stand stood stood|strike struck struck|take took taken|"
    "teach taught taught|win won won|write wrote written|bear bore born|cast cast cast|dig dug dug|"
    "become became become|go went gone|know knew known|hear heard heard|show showed shown|meet met met|"
    "cost cost cost"
)


def _past(base: str) -> str:
    if base in _DOUBLED:
        return _DOUBLED[base]
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    return f"{base}ed"


_IRREGULAR_FORMS = [tuple(entry.split()) for entry in _IRREGULAR.split("|")]
_FORMS = [(base, _past(base), _past(base)) for base in _REGULAR.split() if base not in {f[0] for f in _IRREGULAR_FORMS}]
_ALL = [*_FORMS, *_IRREGULAR_FORMS]
BASE_OF_PAST = {past: base for base, past, _ in reversed(_ALL)}
PAST_OF_PARTICIPLE = {participle: past for _, past, participle in reversed(_ALL)}

# --- clauses; what is not simple is left out

BE = ("was", "were", "is", "are")
_ADVERBS = ("first", "finally", "officially", "formally", "originally", "completely", "later", "soon", "once", "then")
_BREAK = re.compile(
    r"; |: |, (?=(?:and|but|when|where|which|who|whose|though|although|while|because|so|as|after|before|having)\b)"
    r"| (?=(?:but|when|where|which|who|whose|though|although|while|because|so that|and was|and is)\b)"
)
_APPOSITION = re.compile(r"^([^,]+?), (?:an?|the|his|her|whose|engineer)[^,]*, (?=[a-z]+(?:ed|t)? )")
_FRONTED = re.compile(rf"^(In|On) ({DATE.pattern}),? ")
_LONGEST_SUBJECT = 8


@dataclass(frozen=True)
class Clause:
    """A clause with one finite verb.

    Attributes
    ----------
    subject
        As it stands.
    auxiliary
        A form of *be*, or ``""`` for a plain past.
    adverb, verb
        "was **first** **lit**": the verb is a participle after an auxiliary, else a past form. After *be*
        without a participle it is ``""``.
    rest
        What follows, up to the end of the clause.
    """

    subject: str
    auxiliary: str
    adverb: str
    verb: str
    rest: str


def clauses(sentence: str) -> Iterator[Clause]:
    """Yield the clauses of a sentence that are simple enough to be turned into a question."""
    text = re.sub(r"\s*\([^()]*\)", "", sentence).strip().rstrip(".!?")
    text = _APPOSITION.sub(r"\1 ", text)
    front = _FRONTED.match(text)
    if front:  # "In 1902 it was sold": the date goes where others stand
        text = text[front.end() :]
        text = text[:1].upper() + text[1:]
    subject = ""
    for number, part in enumerate(_BREAK.split(text)):
        part = part.strip(" ,")
        inherited = re.match(r"and (?=was\b|is\b|[a-z]+\b)", part)
        if number and not inherited:
            return  # a subordinate clause; what it hangs on is not a simple subject any more
        if inherited:
            part = f"{subject} {part[inherited.end() :]}" if subject else ""
        clause = _clause(part)
        if clause is None:
            return
        subject = clause.subject
        if front and not number:
            clause = replace(clause, rest=f"{clause.rest} {front[1].lower()} {front[2]}".strip())
        yield clause


def _clause(part: str) -> Clause | None:
    tokens = part.split()
    for at, token in enumerate(tokens[: _LONGEST_SUBJECT + 1]):
        if token in BE and at:
            after = tokens[at + 1 :]
            adverb = after.pop(0) if after and after[0] in _ADVERBS else ""
            verb = after.pop(0) if after and after[0] in PAST_OF_PARTICIPLE else ""
            return Clause(" ".join(tokens[:at]), token, adverb, verb, " ".join(after))
        if at and (token in BASE_OF_PAST or token in ("has", "had")):
            return Clause(" ".join(tokens[:at]), "", "", token, " ".join(tokens[at + 1 :]))
        if token.endswith(",") or (at and re.fullmatch(r"(?:that|to|by|[a-z]+ing)", token)):
            return None
    return None
