"""Candidate clauses: plain sentences that may be added to an instruction, and what each is for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dspy

from polyqa.signatures import (
    ClarifyQuestion,
    ExtractInterpretations,
    InferPseudoInterpretations,
    InterpretPassage,
    LocateAnswer,
    RelaxQuery,
    SelectQuestions,
    TypeAmbiguity,
    VerifyAgainstRoot,
    VerifyInterpretation,
    VerifyInterpretations,
    VerifyReadings,
    WriteLongFormAnswer,
)
from polyqa.signatures.lookup import find_by_fields


@dataclass(frozen=True)
class Candidate:
    """A clause that may be added to an instruction.

    Attributes
    ----------
    name
        For people and commands; unique.
    group
        Of clauses of one group an instruction has one at most: they say different things of the same matter.
    text
        What is added, one or two sentences.
    purpose
        When it helps.
    """

    name: str
    group: str
    text: str
    purpose: str


_NUMBER = (
    Candidate("one-reading", "number", "Give only one reading, the likeliest.", "most questions have one answer"),
    Candidate("two-readings", "number", "Give at most two readings.", "long lists hold wrong readings"),
    Candidate("three-readings", "number", "Give at most three readings.", "long lists hold wrong readings"),
    Candidate("no-lone-reading", "number", "Give at least two readings.", "all questions are ambiguous"),
)
_CERTAINTY = (
    Candidate(
        "certain", "certainty", "Leave out every reading that you are not certain of.", "a wrong reading costs a lot"
    ),
    Candidate(
        "possible",
        "certainty",
        "Give every possible reading, also those that are not certain.",
        "a missing reading costs more than a wrong one",
    ),
)
_ORDER = (
    Candidate("newest-first", "order", "Give the newest reading first.", "people mean the latest edition"),
    Candidate("oldest-first", "order", "Give the oldest reading first.", "people mean the first time"),
)
_DATES = (
    Candidate("full-dates", "dates", "Give full dates, with day and month.", "answers are dates, not years"),
    Candidate("years", "dates", "Where a time is asked for, give only the year.", "answers are years, not dates"),
)
_FORM = (
    Candidate(
        "brief",
        "form",
        "Keep each short answer as short as possible: the bare name or figure, without roles or descriptions.",
        "answers are compared word for word",
    ),
    Candidate("full-names", "names", "Give the full name of a person, not only the surname.", "answers are full names"),
)
_READINGS = (
    *_NUMBER,
    *_CERTAINTY,
    *_ORDER,
    *_DATES,
    *_FORM,
    Candidate(
        "distinguish",
        "wording",
        "Name in each reading what distinguishes it from the others.",
        "readings are told apart by their wording",
    ),
    Candidate(
        "titles",
        "passages",
        "Prefer passages whose title matches the question.",
        "some passages only mention the subject of the question",
    ),
)
_AGREE = Candidate(
    "agree",
    "agreement",
    "Prefer an answer that several passages give to one that stands in a single passage.",
    "passages repeat what is right more often than what is wrong",
)
_ANSWER = (
    Candidate("forty-words", "length", "Write about 40 words.", "short answers are wanted"),
    Candidate("eighty-words", "length", "Write about 80 words.", "an answer of the usual length is wanted"),
    Candidate("long", "length", "Write about 130 words.", "answers with more context are wanted"),
    Candidate("quote", "manner", "Quote the passages word for word.", "the wording of the source matters"),
    Candidate("state", "manner", "State each reading with its answer and nothing else.", "only the answers are wanted"),
)
_DOUBT = (
    Candidate("no-in-doubt", "doubt", "Say No when in doubt.", "too many readings are accepted"),
    Candidate("yes-in-doubt", "doubt", "Say Yes when in doubt.", "too few readings are accepted"),
)
_DOUBT_IN_NUMBERS = (
    Candidate(
        "strict", "doubt", "Be strict: when in doubt say no and leave the number out.", "too many readings are accepted"
    ),
    Candidate(
        "lenient", "doubt", "Be lenient: when in doubt say yes and give the number.", "too few readings are accepted"
    ),
)

LIBRARY: Mapping[type[dspy.Signature], Sequence[Candidate]] = {
    ClarifyQuestion: (*_READINGS, _AGREE, *_ANSWER),
    ExtractInterpretations: (*_READINGS, _AGREE),
    WriteLongFormAnswer: _ANSWER,
    InterpretPassage: (*_CERTAINTY, *_DATES, *_FORM),
    LocateAnswer: (*_DATES, *_FORM, *_READINGS[-1:], _AGREE),
    VerifyInterpretation: _DOUBT,
    VerifyAgainstRoot: _DOUBT,
    VerifyInterpretations: _DOUBT_IN_NUMBERS,
    VerifyReadings: _DOUBT_IN_NUMBERS,
    SelectQuestions: (*_NUMBER[:3], *_CERTAINTY),
    InferPseudoInterpretations: (
        Candidate("few-guesses", "number", "Write at most three questions.", "guesses that nobody means cost searches"),
        Candidate(
            "search-words",
            "wording",
            "Use words that a text about the answer would contain.",
            "the questions are searched for",
        ),
    ),
    TypeAmbiguity: (
        Candidate(
            "plain-in-doubt",
            "doubt",
            "Call a question ambiguous only if two readings have different answers.",
            "plain questions are taken for ambiguous ones",
        ),
    ),
    RelaxQuery: (
        Candidate(
            "names-only", "wording", "Keep names, years and the main verb, and nothing else.", "queries are long"
        ),
    ),
}
"""The clauses of each task of polyqa; a task of one's own gets those of the task that it has the fields of."""


def candidates_for(signature: type[dspy.Signature]) -> Sequence[Candidate]:
    """Return the clauses that may be added to a signature's instructions; none for a task that is not known."""
    return find_by_fields(LIBRARY, signature.input_fields, signature.output_fields) or ()
