"""What an instruction asks for beside the task: plain clauses that the engine obeys, wherever they stand.

A clause is recognised by its meaning and its words: the sentence encoder must find it near to one of the clause's
wordings, and the words that decide (a number, *most* or *least*, *yes* or *no*) must be there, without a *not* before
them. Numbers are read from the text. Sentences of a signature's own instructions are the task itself and no
clauses. What is no clause is left alone and can be told (`Heard.unheeded`).
"""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator

from polyqa.base.text import COUNTS
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
    words
        About how many words the long answer has.
    manner
        Whether the long answer quotes its passages or states question and answer.
    years
        Whether a date is given by its year alone.
    doubt
        What is said where a judgement is in doubt.
    agreed
        Whether an answer that several passages give counts for more.
    """

    most: int | None = None
    least: int | None = None
    certainty: Literal["certain", "possible"] | None = None
    words: int | None = None
    manner: Literal["quote", "state"] | None = None
    years: bool = False
    doubt: Literal["yes", "no"] | None = None
    agreed: bool = False


class Number(NamedTuple):
    """A field of `Clauses` that is set to the number of a sentence, and the bounds of that number."""

    field: str
    low: int
    high: int


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class Clause(BaseModel, frozen=True):
    """A clause that can be recognised; ``clauses.toml`` has them. Name and meaning are for people.

    Attributes
    ----------
    wordings
        What it may be worded like, with ``3`` for any number.
    words
        What must stand in the sentence.
    sets, number
        What it sets, or which number and nothing but that.
    """

    name: str
    meaning: str
    wordings: tuple[str, ...]
    words: Annotated[re.Pattern[str], BeforeValidator(_words)]
    sets: Mapping[str, Any] = {}
    number: Number | None = None

    def value(self, numbers: Sequence[int]) -> Mapping[str, Any] | None:
        """Return what it sets, given the numbers of the sentence; ``None`` if they do not fit."""
        if self.number is None:
            return self.sets
        fits = len(set(numbers)) == 1 and self.number.low <= numbers[0] <= self.number.high
        return {self.number.field: numbers[0]} if fits else None


_TABLE = tomllib.loads(files(__package__).joinpath("clauses.toml").read_text(encoding="utf-8"))
CLAUSES = tuple(map(Clause.model_validate, _TABLE["clause"]))
"""What the engine knows; the first that fits a sentence best is taken."""

NEAR = 0.5
"""Cosine from which on a sentence is near to a wording."""
_NOT = _words(r"\b(?:do not|don't|never|need not|not necessary)\b(?!.*\b(?:more|fewer|less) than\b)")
_BREAKS = re.compile(r"\s*[;\n]\s*")
_ITEM = re.compile(r"^(?:[-*•]|\d+[.)])\s+")
_VERDICT = re.compile(r"(?<=\b[Nn]o\.)\s+(?=[A-Z])")  # else "No. 5"
_NUMBERS = {
    **{word: n for n, word in enumerate(COUNTS[1:11], 1)},
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


def hear(instructions: str, task: str, encoder: Encoder) -> Heard:
    """Return the clauses of an instruction: none is a sentence of ``task``, the signature's own."""
    task_parts = {normalize_words(part) for part in parts_of(_joined(task))}
    new_parts = [part for part in parts_of(_joined(instructions)) if normalize_words(part) not in task_parts]
    if not new_parts:
        return Heard()
    near = encoder.similarity(
        [_plain(part) for part in new_parts], [_plain(text) for clause in CLAUSES for text in clause.wordings]
    )
    return Heard(tuple((part, _meant(part, list(map(float, row)))) for part, row in zip(new_parts, near, strict=True)))


def _joined(instructions: str) -> str:
    """Put the lines of a paragraph together: a signature's docstring is broken into lines anywhere."""
    return re.sub(r"(?<![.:;\n])\n(?![\n\-*•])", " ", instructions.strip())


def _plain(part: str) -> str:
    """Return a part with one number for all: how near a clause is does not depend on which number it names."""
    return _NUMBER.sub("3", _NO_NUMBER.sub("it", part))


def _meant(part: str, near: Sequence[float]) -> dict[str, Any]:
    numbers = [_value(match[0]) for match in _NUMBER.finditer(_NO_NUMBER.sub("it", part))]
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
