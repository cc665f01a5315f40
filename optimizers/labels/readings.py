"""Demos of the calls that give readings and answers."""

from collections.abc import Sequence

from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question
from polyqa.signatures import Passage, render_passages

from .held import Demo, cut, held_readings, interpretations


def extraction(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return the demo of `ExtractInterpretations`: the gold readings that the passages answer."""
    held = held_readings(question, passages)
    if not held:
        return []
    shown, held = cut(passages, held, spare=1)
    return [
        {
            "passages": render_passages(shown),
            "question": question.question,
            "interpretations": interpretations(held),
        }
    ]


def writing(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return the demo of `WriteLongFormAnswer`: the reference answer beside the passages that its readings cite."""
    held = held_readings(question, passages)
    if not held or not question.long_answers:
        return []
    shown, held = cut(passages, held, spare=0)  # what no reading cites teaches nothing about writing
    return [
        {
            "passages": render_passages(shown),
            "question": question.question,
            "interpretations": interpretations(held),
            "answer": question.long_answers[0],
        }
    ]


def interpreting(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return demos of `InterpretPassage`: passages that answer a reading, and as many that answer none."""
    held = held_readings(question, passages)
    given = {number: (reading.question, alias) for reading, number, alias in reversed(held)}
    empty = [
        number
        for number, passage in enumerate(passages, 1)
        if not any(exact_presence(reading.short_answers, passage.render()) for reading in question.readings)
    ]
    return [
        {
            "question": question.question,
            "passage": passages[number - 1].render(),
            "interpretation": interpretation,
            "short_answer": answer,
        }
        for number in sorted([*given, *empty[: len(given)]])
        for interpretation, answer in [given.get(number, ("null", "null"))]
    ]


def locating(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return the demo of `LocateAnswer`: the answer of the first passage that holds one."""
    held = held_readings(question, passages)
    if not held:
        return []
    shown, held = cut(passages, held, spare=1)
    _, number, alias = min(held, key=lambda one: one[1])
    return [
        {
            "passages": render_passages(shown),
            "question": question.question,
            "short_answer": alias,
            "source": str(number),
            "settled": "Yes" if len(held) == 1 else "No",
        }
    ]


def refined(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return the demo of `AnswerRefined`: the reference answer from the gold readings."""
    if not question.long_answers:
        return []
    return [
        {
            "question": question.question,
            "refinements": [{"question": one.question, "answer": one.short_answers[0]} for one in question.readings],
            "answer": question.long_answers[0],
        }
    ]
