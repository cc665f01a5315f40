"""Which gold readings a prompt's passages answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question, Reading
from polyqa.signatures import Passage

Demo = dict[str, Any]
Held = tuple[Reading, int, str]
"""A reading, the number of the passage that answers it, and the alias that stands there."""


def held_readings(question: Question, passages: Sequence[Passage]) -> list[Held]:
    """Return the readings that passages answer, with the passage's number and the alias that stands there."""
    texts = [passage.render() for passage in passages]
    found = []
    for reading in question.readings:
        places = [number for number, text in enumerate(texts, 1) if exact_presence(reading.short_answers, text)]
        if not places:
            continue
        own = next((number for number in places if passages[number - 1].pid == reading.pid), places[0])
        alias = next(one for one in reading.short_answers if exact_presence([one], texts[own - 1]))
        found.append((reading, own, alias))
    return found


def cut(passages: Sequence[Passage], held: Sequence[Held], *, spare: int) -> tuple[list[Passage], list[Held]]:
    """Return the passages that the readings cite and a few others, and the readings with the new numbers.

    A demo with all the passages of its prompt costs as much as the prompt, and five of them five times as
    much. What a model learns from, is the passages that are cited, and that some are not.

    Parameters
    ----------
    spare
        How many passages that no reading cites are kept, the best ones.
    """
    cited = {number for _, number, _ in held}
    others = [number for number in range(1, len(passages) + 1) if number not in cited][:spare]
    kept = sorted([*cited, *others])
    return (
        [passages[number - 1] for number in kept],
        [(reading, kept.index(number) + 1, alias) for reading, number, alias in held],
    )


def interpretations(held: Sequence[Held]) -> list[Mapping[str, str]]:
    """Return held readings as a demo shows them."""
    return [{"question": reading.question, "answer": alias, "pid": str(number)} for reading, number, alias in held]


def first_empty(question: Question, passages: Sequence[Passage]) -> Passage | None:
    """Return the best passage that holds no gold answer."""
    answers = [answer for reading in question.readings for answer in reading.short_answers]
    return next((passage for passage in passages if not exact_presence(answers, passage.render())), None)
