"""What an instruction asks for beside the task: plain clauses that the engine obeys, wherever they stand.

A clause is recognised by its meaning and its words: the sentence encoder must find it near to one of the clause's
wordings, and the words that decide (a number, *most* or *least*, *newest* or *oldest*) must be there, without a *not*
before them. Numbers are read from the text. Sentences of a signature's own instructions are the task itself and no
clauses. What is no clause is left alone and can be told (`unknown_clauses`).
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polyqa.metrics.text import normalize_words, sentences
from polyqa.models import Encoder


@dataclass(frozen=True)
class Clauses:
    """What an instruction asks for; ``None`` or ``False`` where it says nothing of it.

    Attributes
    ----------
    most, least
        How many readings are given at most, and at least where so many are found.
    certainty
        Whether only readings that are certain are given, or every possible one.
    order
        Which reading comes first by the year that goes with it.
    words, sentences
        About how many words the long answer has, and how many sentences at most.
    manner
        Whether the long answer quotes its passages or states question and answer.
    dates
        Whether a date is given in full or by its year alone.
    brief
        Whether an answer is cut down to the name or figure itself.
    full_names
        Whether a person is named in full, where the passage does so.
    named
        Whether each reading is worded by what distinguishes it, also if it is the only one.
    doubt
        What is said where a judgement is in doubt.
    titles
        Whether passages whose title has words of the question go first.
    agreed
        Whether an answer that several passages give counts for more.
    """

    most: int | None = None
    least: int | None = None
    certainty: Literal["certain", "possible"] | None = None
    order: Literal["newest", "oldest"] | None = None
    words: int | None = None
    sentences: int | None = None
    manner: Literal["quote", "state"] | None = None
    dates: Literal["full", "year"] | None = None
    brief: bool = False
    full_names: bool = False
    named: bool = False
    doubt: Literal["yes", "no"] | None = None
    titles: bool = False
    agreed: bool = False


@dataclass(frozen=True)
class Clause:
    """A clause that can be recognised.

    Attributes
    ----------
    name, meaning
        For people.
    wordings
        What it may be worded like, with ``3`` for any number.
    words
        What must stand in the sentence.
    value
        What it sets, given the numbers of the sentence; ``None`` if they do not fit.
    """

    name: str
    meaning: str
    wordings: tuple[str, ...]
    words: re.Pattern[str]
    value: Callable[[Sequence[int]], Mapping[str, Any] | None]


def _number(field: str, low: int, high: int) -> Callable[[Sequence[int]], Mapping[str, Any] | None]:
    return lambda numbers: {field: numbers[0]} if len(set(numbers)) == 1 and low <= numbers[0] <= high else None


def _always(**values: Any) -> Callable[[Sequence[int]], Mapping[str, Any] | None]:
    return lambda numbers: values


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_READINGS = r"\b(?:readings?|interpretations?|meanings?|questions?|answers?|one|candidates?|pairs?)\b"
CLAUSES = (
    Clause(
        "at-most",
        "At most N readings, the best supported ones.",
        (
            "Give at most 3 readings.",
            "Return no more than 3 interpretations.",
            "Limit the list to 3 readings.",
            "Write at most 3 questions.",
        ),
        _words(
            rf"(?=.*{_READINGS}).*\b(?:at most|(?:no|not|never.*) more than|up to|maximum|limit\w*|single|"
            r"(?:only|just) (?:one|a|the))\b"
        ),
        _number("most", 1, 20),
    ),
    Clause(
        "at-least",
        "At least N readings, where the passages hold so many different answers.",
        ("Give at least 3 readings.", "Return no fewer than 3 interpretations.", "List 3 or more readings."),
        _words(rf"(?=.*{_READINGS}).*\b(?:at least|no fewer than|not fewer than|no less than|or more|minimum)\b"),
        _number("least", 1, 20),
    ),
    Clause(
        "certain",
        "Only readings that are nearly as well supported as the best one.",
        (
            "Give only readings that are certain.",
            "Leave out readings that you are not sure of.",
            "Include a reading only if a passage clearly answers it.",
            "Keep only interpretations with strong support.",
        ),
        _words(
            r"\b(?:certain|sure|clearly|strong\w*|confident|confidence|unsure|doubtful|uncertain|beyond doubt|"
            r"definite\w*)\b"
        ),
        _always(certainty="certain"),
    ),
    Clause(
        "possible",
        "Every possible reading, weakly supported ones among them.",
        (
            "Give every possible reading, also those that are not certain.",
            "Include readings even if the support is weak.",
            "When unsure whether to include a reading, include it.",
        ),
        _words(
            r"\b(?:possible|possibly|even if|weak\w*|unlikely|when unsure|when in doubt|rather too many|plausible)\b"
        ),
        _always(certainty="possible"),
    ),
    Clause(
        "newest-first",
        "Readings by the year that goes with them, the latest first.",
        (
            "Give the newest reading first.",
            "Order the readings from the most recent to the oldest.",
            "Prefer the latest.",
        ),
        _words(r"\b(?:newest|latest|most recent|recent(?:ly)? first|newer|more recent)\b"),
        _always(order="newest"),
    ),
    Clause(
        "oldest-first",
        "Readings by the year that goes with them, the earliest first.",
        (
            "Give the oldest reading first.",
            "Order the readings from the earliest to the latest.",
            "Prefer the earliest.",
        ),
        _words(r"\b(?:oldest|earliest|chronological\w*|older|earlier)\b"),
        _always(order="oldest"),
    ),
    Clause(
        "words",
        "A long answer of about N words.",
        ("Write about 80 words.", "The answer has about 80 words.", "Keep the answer under 80 words."),
        _words(r"^(?!.*\bat least\b).*\bwords\b"),
        _number("words", 5, 1000),
    ),
    Clause(
        "sentences",
        "A long answer of N sentences at most.",
        ("Write at most 3 sentences.", "Answer in 3 sentences.", "Keep the answer to 3 sentences."),
        _words(r"^(?!.*\bat least\b).*\bsentences?\b"),
        _number("sentences", 1, 50),
    ),
    Clause(
        "quote",
        "A long answer that quotes its passages word for word, with their titles.",
        (
            "Quote the passages.",
            "Quote the sentence that holds the answer word for word.",
            "Use quotations as evidence.",
        ),
        _words(r"\b(?:quot\w+|verbatim|word for word|literally)\b"),
        _always(manner="quote"),
    ),
    Clause(
        "state",
        "A long answer that states each reading with its short answer and tells nothing else.",
        (
            "State each reading with its answer and nothing else.",
            "Only state the question and its answer, without quoting the passages.",
            "Say each reading and its answer plainly.",
        ),
        _words(r"\b(?:states?|plainly|nothing else|without quot\w+)\b"),
        _always(manner="state"),
    ),
    Clause(
        "full-dates",
        "Dates with day and month, where the passage has them.",
        ("Give full dates.", "Write dates with day, month and year.", "Give the exact date, not only the year."),
        _words(r"(?=.*\b(?:full|exact|complete|day)\b).*\b(?:dates?|month)\b"),
        _always(dates="full"),
    ),
    Clause(
        "years",
        "The year alone, where a time is asked for.",
        ("Give only the year of a date.", "Write dates as years.", "When a time is asked for, answer with the year."),
        _words(r"\b(?:the|as|by|only|just|its) years?\b"),
        _always(dates="year"),
    ),
    Clause(
        "brief",
        "Short answers that are the bare name or figure, without roles, titles and what stands around it.",
        (
            "Keep each short answer as short as possible.",
            "Give the bare name, without roles or descriptions.",
            "The short answer is a name or a figure and nothing around it.",
            "Copy the fewest words that answer.",
        ),
        _words(
            r"\b(?:as short|very short|shortest|bare|brief\w*|fewest|concise\w*|minimal|nothing around|"
            r"just the name|only the name|(?:no|without) (?:roles?|descriptions?))\b"
        ),
        _always(brief=True),
    ),
    Clause(
        "full-names",
        "People by their full name, where the passage has it.",
        ("Give the full name of a person, not only the surname.", "Write full names.", "Name people with first name."),
        _words(r"\b(?:full names?|first names?|surnames?|complete names?)\b"),
        _always(full_names=True),
    ),
    Clause(
        "distinguish",
        "Each reading is worded by what distinguishes it, also where there is only one.",
        (
            "Name what distinguishes each reading.",
            "Word each reading so that it tells what sets it apart.",
            "Make clear in every question which one is meant.",
        ),
        _words(r"\b(?:distinguish\w*|sets? it apart|tell\w* apart|which one|differs?|difference)\b"),
        _always(named=True),
    ),
    Clause(
        "no-when-in-doubt",
        "No, unless the support is clear.",
        ("Say No when in doubt.", "If you are not sure, answer No.", "Be strict: say Yes only if it is clear."),
        _words(r"\b(?:no|strict\w*|only if)\b"),
        _always(doubt="no"),
    ),
    Clause(
        "yes-when-in-doubt",
        "Yes, unless there is next to no support.",
        ("Say Yes when in doubt.", "If you are not sure, answer Yes.", "Be lenient: say Yes if it may be so."),
        _words(r"\b(?:yes|lenient\w*)\b(?! only)"),
        _always(doubt="yes"),
    ),
    Clause(
        "titles",
        "Passages whose title has words of the question go first.",
        (
            "Prefer passages whose title matches the question.",
            "Trust passages most whose title is named in the question.",
            "Passages with a matching title come first.",
        ),
        _words(r"\btitles?\b"),
        _always(titles=True),
    ),
    Clause(
        "agree",
        "An answer that other passages give, too, counts for more.",
        (
            "Prefer answers that several passages give.",
            "Trust an answer more if more than one passage gives it.",
            "Answers on which passages agree come first.",
            "Favour answers that are found in multiple passages.",
        ),
        _words(
            r"\b(?:(?:several|multiple|many|most|two|other|more than one|different|independent) passages?|"
            r"passages? agree|agree\w*)\b"
        ),
        _always(agreed=True),
    ),
)
"""What the engine knows; the first that fits a sentence best is taken."""

NEAR = 0.5
"""Cosine from which on a sentence is near to a wording."""
_NOT = _words(r"\b(?:do not|don't|never|need not|not necessary)\b(?!.*\b(?:more|fewer|less) than\b)")
_BREAKS = re.compile(r"\s*[;\n]\s*")
_ITEM = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_VERDICT = re.compile(r"(?<=\b[Nn]o\.)\s+(?=[A-Z])")  # else "No. 5"
_NUMBERS = {
    **{
        word: n
        for n, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1)
    },
    "single": 1,
    "once": 1,
    "twenty": 20,
    "fifty": 50,
    "hundred": 100,
}
_NUMBER = _words(rf"\b(?:\d{{1,4}}|{'|'.join(_NUMBERS)})\b")
# Here "one" is no number: "the newest one", "one by one".
_NO_NUMBER = _words(
    r"\b(?:which|each|every|this|that|newest|oldest|latest|best|no|another|the) one\b|\bone (?:by|of|or)\b"
)


@dataclass(frozen=True)
class Heard:
    """The sentences that an instruction adds to its task, each with what it sets; nothing if it is no clause."""

    told: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    @property
    def clauses(self) -> Clauses:
        """What is asked for; of clauses that contradict each other the last one holds, as the one that was added."""
        return Clauses(**{name: value for _, values in self.told for name, value in values.items()})

    def unheeded(self, obeyed: Collection[str]) -> tuple[str, ...]:
        """Return the sentences that are no clauses, or set none of the named fields of `Clauses`."""
        return tuple(part for part, values in self.told if not values.keys() & set(obeyed))


def parts_of(instructions: str) -> list[str]:
    """Return the sentences of an instruction; lines, items of lists and semicolons end one, too."""
    pieces = [_ITEM.sub("", piece) for piece in _BREAKS.split(_VERDICT.sub("\n", instructions))]
    return [one.text.strip() for piece in pieces for one in sentences(piece) if one.text.strip()]


def hear(instructions: str, own: str, encoder: Encoder) -> Heard:
    """Return the clauses of an instruction.

    Parameters
    ----------
    instructions
        As they stand in the prompt.
    own
        The instructions of the signature itself, whose sentences are the task and no clauses.
    encoder
        Judges how near a sentence is to a clause.
    """
    known = {normalize_words(part) for part in parts_of(_joined(own))}
    asked = [part for part in parts_of(_joined(instructions)) if normalize_words(part) not in known]
    if not asked:
        return Heard()
    near = encoder.similarity(
        [_plain(part) for part in asked], [_plain(text) for one in CLAUSES for text in one.wordings]
    )
    return Heard(tuple((part, _meant(part, list(map(float, row)))) for part, row in zip(asked, near, strict=True)))


def _joined(instructions: str) -> str:
    """Put the lines of a paragraph together: a signature's docstring is broken into lines anywhere."""
    return re.sub(r"(?<![.:;\n])\n(?![\n\-*•])", " ", instructions.strip())


def _plain(part: str) -> str:
    """Return a part with one number for all: how near a clause is does not depend on which number it names."""
    return _NUMBER.sub("3", _NO_NUMBER.sub("it", part))


def _meant(part: str, near: Sequence[float]) -> dict[str, Any]:
    numbers = [_value(found[0]) for found in _NUMBER.finditer(_NO_NUMBER.sub("it", part))]
    fitting: list[tuple[float, Mapping[str, Any]]] = []
    place = 0
    for clause in CLAUSES:
        best = max(near[place : place + len(clause.wordings)])
        place += len(clause.wordings)
        value = clause.value(numbers)
        if best >= NEAR and value is not None and clause.words.search(part) and not _NOT.search(part):
            fitting.append((best, value))
    return dict(max(fitting, key=lambda pair: pair[0])[1]) if fitting else {}


def _value(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS[text.lower()]
