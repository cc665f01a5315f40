"""Replies in plausible dresses, each with its right reading; not by the author of the parsers."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from polyqa.base.values import AmbiguityType, Interpretation
from polyqa.replies import (
    parse_ambiguity_types,
    parse_interpretations,
    parse_numbers,
    parse_questions,
    parse_yes_no,
    without_thoughts,
)

REPLIES = 3_000
_QUESTIONS = (
    "Who won the men's 1998 World Cup?",
    "When did the film “Titanic” (1953) come out in the U.S.?",
    "How many are there: two, or three?",
    "What does N.A.S.A. stand for?",
    "Which two are on the $1 | $2 bills?",
    "Who sang No, No, Nanette in São Paulo?",
    "When was World War I, not II, declared?",
    "Why is it called [sic] so?",
)
_ANSWERS = (
    "France",
    "18 April 1953",
    "No",
    "None of the Above",
    "$1.50",
    "Paris, Texas",
    "Unknown Pleasures",
    "São Paulo",
    "1,000 [approx]",
    "“Yes” (single)",
    "Answer Me",
    "O'Neill",
)
_NOTHING = ("null", "None", "N/A.", "**null**", "no answer.", "Not mentioned in the passages", "null (not about this)")
_INTROS = ("", "", "Here is my answer:\n", "Sure!\n\n", "Based on the passages:\n")
_THOUGHTS = ("", "", "", "<think>Yes? No. 1. What | then [9]\nDQ 1: Hm?\nDA 1: Hm</think>\n")


@dataclass(frozen=True)
class Reply:
    """A reply, how it is read, and what it means."""

    kind: str
    text: str
    read: Callable[[str], Any]
    means: Any


def replies(count: int = REPLIES) -> Iterator[Reply]:
    """Yield replies of every kind in turn, each with its right reading."""
    draw = random.Random(0)
    kinds: list[Callable[[random.Random], Reply]] = [
        *(_reading_kind(name, write) for name, write in _READING_FORMATS.items()),
        *(_question_kind(name, write) for name, write in _LIST_FORMATS.items()),
        _abstention,
        _verdict,
        _numbers,
        _labels,
    ]
    for number in range(count):
        yield kinds[number % len(kinds)](draw)


def tally(made: Iterator[Reply]) -> dict[str, Counter[str]]:
    """Return for each kind how many replies are read rightly, refused, and read wrongly."""
    table: dict[str, Counter[str]] = {}
    for reply in made:
        try:
            outcome = "read" if reply.read(without_thoughts(reply.text)) == reply.means else "wrong"
        except ValueError:
            outcome = "refused"
        table.setdefault(reply.kind, Counter())[outcome] += 1
    return table


def _drawn(draw: random.Random) -> list[Interpretation]:
    count = draw.randint(1, 4)
    questions, answers = draw.sample(_QUESTIONS, count), draw.sample(_ANSWERS, count)
    return [Interpretation(question=one, answer=other) for one, other in zip(questions, answers, strict=True)]


def _lines(readings: Sequence[Interpretation], draw: random.Random) -> str:
    mark = draw.choice(("{}. ", "{}) ", "- ", "* ", "{}: "))
    return "\n".join(f"{mark.format(n)}{one.question} | {one.answer}" for n, one in enumerate(readings, 1))


def _tagged(readings: Sequence[Interpretation], draw: random.Random) -> str:
    bold = draw.choice(("", "**"))
    questions = [f"{bold}DQ {n}:{bold} {one.question}" for n, one in enumerate(readings, 1)]
    answers = [f"{bold}DA {n}:{bold} {one.answer}" for n, one in enumerate(readings, 1)]
    order = draw.choice(("pairs", "pairs", "questions first", "shuffled answers"))
    if order == "pairs":
        return "\n".join(line for pair in zip(questions, answers, strict=True) for line in pair)
    if order == "shuffled answers":
        draw.shuffle(answers)
    return "\n".join([*questions, *answers])


def _plain(readings: Sequence[Interpretation]) -> list[dict[str, str]]:
    return [{"question": one.question, "answer": one.answer} for one in readings]


def _json(readings: Sequence[Interpretation], draw: random.Random) -> str:
    rows: Any = _plain(readings)
    dress = draw.choice(("list", "wrapped", "fence", "both questions"))
    if dress == "wrapped":
        rows = {"interpretations": rows}
    elif dress == "both questions":
        rows = [
            {"question": "Who?", "disambiguated_question": row["question"], "answer": row["answer"]} for row in rows
        ]
    text = json.dumps(rows, ensure_ascii=False, indent=draw.choice((None, 2)))
    return f"```json\n{text}\n```" if dress == "fence" else text


_READING_FORMATS: dict[str, Callable[[Sequence[Interpretation], random.Random], str]] = {
    "readings as lines": _lines,
    "readings as DQ and DA": _tagged,
    "readings as JSON": _json,
}


def _reading_kind(
    name: str, write: Callable[[Sequence[Interpretation], random.Random], str]
) -> Callable[[random.Random], Reply]:
    def make(draw: random.Random) -> Reply:
        readings = _drawn(draw)
        intro = draw.choice(_INTROS) if name == "readings as DQ and DA" else ""
        return Reply(name, draw.choice(_THOUGHTS) + intro + write(readings, draw), parse_interpretations, readings)

    return make


_LIST_FORMATS: dict[str, Callable[[Sequence[str], random.Random], str]] = {
    "questions as a list": lambda items, draw: "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1)),
    "questions as bullets": lambda items, draw: "\n".join(f"- **{item}**" for item in items),
    "questions as JSON": lambda items, draw: json.dumps(list(items), ensure_ascii=False),
}


def _question_kind(name: str, write: Callable[[Sequence[str], random.Random], str]) -> Callable[[random.Random], Reply]:
    def make(draw: random.Random) -> Reply:
        items = draw.sample(_QUESTIONS, draw.randint(1, 5))
        intro = "" if name.endswith("JSON") else draw.choice(_INTROS)
        return Reply(name, draw.choice(_THOUGHTS) + intro + write(items, draw), parse_questions, items)

    return make


def _abstention(draw: random.Random) -> Reply:
    readings = _drawn(draw)
    left_out = draw.randrange(len(readings))
    shown = [
        one.model_copy(update={"answer": draw.choice(_NOTHING)}) if n == left_out else one
        for n, one in enumerate(readings)
    ]
    text = draw.choice((_lines, _tagged, _json))(shown, draw)
    return Reply(
        "readings that abstain", text, parse_interpretations, [one for n, one in enumerate(readings) if n != left_out]
    )


def _verdict(draw: random.Random) -> Reply:
    said = draw.choice(("Yes", "No"))
    other = "No" if said == "Yes" else "Yes"
    dresses = [
        f"{said}.",
        f"**{said}**",
        f"{said}, although passage 2 is about something else.",
        f"Passage 1: {other}\nPassage 2: {said}\n\n**{said}**",
        f"The answer is {said}.",
        f"The passages were read with care.\n\n{said}",
        f"There is no doubt: {said}" if said == "Yes" else "The passages do not contain the answer.",
    ]
    return Reply("verdicts", draw.choice(_THOUGHTS) + draw.choice(dresses), parse_yes_no, said)


def _numbers(draw: random.Random) -> Reply:
    numbers = sorted(draw.sample(range(1, 9), draw.randint(0, 4)))
    row = ", ".join(map(str, numbers))
    dresses = [row, f"[{row}]", f"Covered: {row}.", "\n".join(f"- {number}" for number in numbers)]
    if not numbers:
        dresses = ["none", "[]", "None of the 5 candidates", "None of them."]
    return Reply("numbers", draw.choice(dresses), parse_numbers, numbers)


def _labels(draw: random.Random) -> Reply:
    kinds = list(AmbiguityType)[:-1]
    chosen = draw.sample(kinds, draw.randint(1, 2))
    dresses = [
        ", ".join(chosen),
        " ".join(f"[{kind}]" for kind in chosen),
        "\n".join(f"- {kind.lower()}" for kind in chosen),
        json.dumps(chosen),
        f"{', '.join(chosen)}: the question gives neither.",
    ]
    return Reply("kinds of ambiguity", draw.choice(_THOUGHTS) + draw.choice(dresses), parse_ambiguity_types, chosen)
