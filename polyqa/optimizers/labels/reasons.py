"""Why a question is ambiguous, in words that name what its readings settle."""

import difflib
import re

from polyqa.base.values import AmbiguityType
from polyqa.metrics.gold import Question, Reading

_LEADS = {
    AmbiguityType.SUBJECT: "It is unclear who or what is meant",
    AmbiguityType.OBJECT: "It is unclear which thing is asked for",
    AmbiguityType.PREDICATE: "What happens can mean several things",
    AmbiguityType.TIME: "The answer depends on the time that is meant",
    AmbiguityType.LOCATION: "The answer depends on the place that is meant",
}
_OPEN = "The question leaves open what is meant"
_PLAIN = "The question has one plain meaning."
_MOST = 4
_LONGEST = 8  # words of one phrase
_WORD = re.compile(r"[\w’'&.-]*\w")
_JOINS = frozenset(["a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"])


def reason_of(question: Question, kind: AmbiguityType | None) -> str:
    """Return the reason that a demo gives: the data set's own, else one that lists what the readings settle.

    A reason that fits every question teaches nothing, so the words in which the gold readings differ from the
    question are quoted, at most four. It names no label: the reason stands before the label and leads to it.
    ``kind`` is ``None`` where nobody knows it.
    """
    if question.reason:
        return question.reason
    if kind is AmbiguityType.NONE:
        return _PLAIN
    lead = _LEADS[kind] if kind else _OPEN
    settled = list(dict.fromkeys(filter(None, (_settles(question.question, one) for one in question.readings))))
    if len(settled) < 2:
        return f"{lead}."
    quoted = [f"“{words}”" for words in settled[:_MOST]]
    return f"{lead}: {', '.join(quoted[:-1])} or {quoted[-1]}."


def _settles(question: str, reading: Reading) -> str:
    """Return the longest run of words that a reading adds to the question; empty if it adds none."""
    before, after = _WORD.findall(question), _WORD.findall(reading.question)
    matcher = difflib.SequenceMatcher(None, [word.lower() for word in before], [word.lower() for word in after], False)
    runs = [
        after[start:end]
        for tag, _, _, start, end in matcher.get_opcodes()
        if tag in ("insert", "replace") and any(word.lower() not in _JOINS for word in after[start:end])
    ]
    longest = max(runs, key=len, default=[])[:_LONGEST]
    while longest and longest[-1].lower() in _JOINS:
        longest.pop()
    return " ".join(longest)
