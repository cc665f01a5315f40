"""How many mutated replies of a language model are read rightly, refused, or read wrongly.

python -m lab.replies [--each 500] [--seed 1] [--examples 3]

Each reply is made of a value that is known: written in a form (lines, JSON, a table, …), its parts in a dress (bold,
bullets, quotes), with noise around it (thoughts, a sentence before and after, blank lines). A reply that is refused
costs one more call; one that is read wrongly is an error that nobody sees.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import dspy
import typer
from dspy.utils.exceptions import AdapterParseError

from polyqa import replies as lenient
from polyqa.base.values import Interpretation
from polyqa.evaluation.tables import markdown_table
from polyqa.lm.long_answers import clean_long_answer
from polyqa.signatures import WriteLongFormAnswer

from .reply_forms import FORMS, REFUSED

SEED = 1
EACH = 500
_UNTOLD = Interpretation(question="Which one is told nowhere?", answer="none that any reply gives")


def long_answer(text: str) -> str:
    """Read the long answer to a question of which a reading could be told, as every program does it."""
    reply = dspy.Prediction(answer=text)
    try:
        clean_long_answer(WriteLongFormAnswer, {"interpretations": [_UNTOLD]}, reply, text)
    except AdapterParseError as error:
        raise ValueError(str(error)) from error
    return str(reply.answer)


PARSERS: Mapping[str, Callable[[str], Any]] = {
    "readings": lenient.parse_interpretations,
    "questions": lenient.parse_questions,
    "answers": lenient.parse_answers,
    "yes or no": lenient.parse_yes_no,
    "numbers": lenient.parse_numbers,
    "types": lenient.parse_ambiguity_types,
    "long answer": long_answer,
    "nothing": lenient.is_null,
}


@dataclass(frozen=True)
class Reply:
    """A reply and what it means.

    Attributes
    ----------
    category
        The form that it was written in, ``kind: form``.
    kind
        What is to be read: a key of `PARSERS`.
    meant
        The value in plain strings, `REFUSED` if the reply means nothing.
    """

    category: str
    kind: str
    meant: Any
    text: str


@dataclass(frozen=True)
class Share:
    """What became of the replies of a category, with the first ones that were not read."""

    n: int
    read: int
    refused: int
    wrong: int
    examples: tuple[str, ...]


def replies(*, each: int = EACH, seed: int = SEED) -> Iterator[Reply]:
    """Yield ``each`` replies of every category; the same seed gives the same replies."""
    for (kind, form), make in FORMS.items():
        drawn = random.Random(f"{seed} {kind} {form}")
        for _ in range(each):
            meant, text = make(drawn)
            yield Reply(f"{kind}: {form}", kind, meant, text)


def plain(kind: str, value: Any) -> Any:
    """Return what a parser found, in plain strings; quotes around a whole text do not matter."""
    if kind == "readings":
        rows = [(_bare(one.question), _bare(one.answer), one.pid) for one in value]
        return sorted(rows, key=lambda row: (row[0], row[1], row[2] or ""))
    if kind in ("questions", "answers"):
        return [_bare(one) for one in value]
    return [str(one) for one in value] if kind == "types" else value


def _bare(text: str) -> str:
    return " ".join(text.strip().strip("\"'“”").split())


def outcome(reply: Reply, parse: Callable[[str], Any]) -> tuple[str, Any]:
    """Return ``read``, ``refused`` or ``wrong``, and what was found.

    A reply that means nothing is ``read`` if it is refused.
    """
    try:
        found = plain(reply.kind, parse(reply.text))
    except ValueError as error:
        return ("read" if reply.meant is REFUSED else "refused"), error
    return ("read" if found == reply.meant else "wrong"), found


def shares(
    made: Iterator[Reply], parsers: Mapping[str, Callable[[str], Any]] = PARSERS, *, examples: int = 0
) -> dict[str, Share]:
    """Return what becomes of the replies, by category."""
    counts: dict[str, Counter[str]] = {}
    shown: dict[str, list[str]] = {}
    for reply in made:
        became, found = outcome(reply, parsers[reply.kind])
        counts.setdefault(reply.category, Counter())[became] += 1
        told = shown.setdefault(reply.category, [])
        if became != "read" and sum(one.startswith(became) for one in told) < examples:
            told.append(f"{became}: {reply.text!r}\n    meant {reply.meant!r}\n    found {found!r:.300}")
    return {
        category: Share(count.total(), count["read"], count["refused"], count["wrong"], tuple(shown[category]))
        for category, count in counts.items()
    }


def table(found: Mapping[str, Share]) -> str:
    """Return the table by category, with a last row of sums."""
    rows = [[category, *map(str, (one.n, one.read, one.refused, one.wrong))] for category, one in found.items()]
    sums = [sum(getattr(one, name) for one in found.values()) for name in ("n", "read", "refused", "wrong")]
    return markdown_table(["category", "n", "read", "refused", "wrong"], [*rows, ["all", *map(str, sums)]])


def main(
    each: Annotated[int, typer.Option(min=1, help="How many replies of each category.")] = EACH,
    seed: Annotated[int, typer.Option(help="What the replies are drawn with.")] = SEED,
    examples: Annotated[int, typer.Option(min=0, help="How many of each outcome to show.")] = 0,
) -> None:
    """Make the replies, read them and print the table."""
    found = shares(replies(each=each, seed=seed), examples=examples)
    typer.echo(table(found))
    for category, one in found.items():
        for example in one.examples:
            typer.echo(f"\n{category}, {example}")


if __name__ == "__main__":
    typer.run(main)
