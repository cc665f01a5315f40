"""Which gold readings a prompt's passages answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from metrics.exact_presence import exact_presence
from metrics.gold import Question, Reading
from signatures import Passage

Demo = dict[str, Any]


def held_readings(question: Question, passages: Sequence[Passage]) -> list[tuple[Reading, int, str]]:
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


def interpretations(held: Sequence[tuple[Reading, int, str]]) -> list[Mapping[str, str]]:
    """Return held readings as a demo shows them."""
    return [{"question": reading.question, "answer": alias, "pid": str(number)} for reading, number, alias in held]


def first_empty(question: Question, passages: Sequence[Passage]) -> Passage | None:
    """Return the best passage that holds no gold answer."""
    answers = [answer for reading in question.readings for answer in reading.short_answers]
    return next((passage for passage in passages if not exact_presence(answers, passage.render())), None)
