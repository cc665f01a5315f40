"""Simple clauses of a sentence: subject, verb, rest. What is not simple is left out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .candidates import DATE
from .verbs import BASE_OF_PAST, PAST_OF_PARTICIPLE

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
            return _made(tokens[:at], token, adverb, verb, after)
        if at and token in BASE_OF_PAST:
            return _made(tokens[:at], "", "", token, tokens[at + 1 :])
        if at and token in ("has", "had"):
            return _made(tokens[:at], "", "", token, tokens[at + 1 :])
        if token.endswith(",") or (at and re.fullmatch(r"(?:that|to|by|[a-z]+ing)", token)):
            return None
    return None


def _made(subject: list[str], auxiliary: str, adverb: str, verb: str, rest: list[str]) -> Clause:
    return Clause(" ".join(subject), auxiliary, adverb, verb, " ".join(rest))
