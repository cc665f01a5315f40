"""Demos of the calls that judge passages."""

from collections.abc import Mapping, Sequence

from polyqa.metrics.exact_presence import exact_presence
from polyqa.metrics.gold import Question
from polyqa.programs.strips import split_sentences
from polyqa.signatures import Grade, Passage, render_passages

from .held import Demo, cut, first_empty, held_readings


def verifying(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return demos of `VerifyInterpretation`: each gold reading, over two passages."""
    held = {reading.question: [one] for one in held_readings(question, passages) for reading in one[:1]}
    demos: list[Demo] = []
    for reading in question.readings:
        own = held.get(reading.question, [])
        shown, _ = cut(passages, own, spare=2 - len(own))
        demos.append(
            {
                "passages": render_passages(shown),
                "question": reading.question,
                "answerable": "Yes" if own else "No",
            }
        )
    return demos


def grading(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return demos of `GradePassage`: one of each grade."""
    # One of each: the nearest demos would otherwise all be passages of one training question.
    held = held_readings(question, passages)
    chosen = [
        (passages[min(number for _, number, _ in held) - 1] if held else None, Grade.CORRECT),
        (first_empty(question, passages), Grade.INCORRECT),
    ]
    return [
        {"question": question.question, "passage": passage.render(), "grade": str(grade)}
        for passage, grade in chosen
        if passage is not None
    ]


def drafting(question: Question, passages: Sequence[Passage]) -> list[Demo]:
    """Return demos of `DraftSegment`: a passage that answers and one that does not."""
    held = held_readings(question, passages)
    demos: list[Demo] = []
    for number in sorted({number for _, number, _ in held}):
        own = [(reading, alias) for reading, at, alias in held if at == number]
        said = [
            sentence
            for sentence in split_sentences(" ".join(question.long_answers[:1]))
            if any(exact_presence(reading.short_answers, sentence) for reading, _ in own)
        ]
        if said:
            readings = [{"question": reading.question, "answer": alias} for reading, alias in own]
            demos.append(_draft(question, passages[number - 1], "Yes", readings, " ".join(said)))
            break
    empty = first_empty(question, passages)
    return demos if empty is None else [*demos, _draft(question, empty, "No", [], "None")]


def _draft(
    question: Question, passage: Passage, relevant: str, readings: Sequence[Mapping[str, str]], segment: str
) -> Demo:
    return {
        "question": question.question,
        "passage": passage.render(),
        "relevant": relevant,
        "readings": list(readings),
        "segment": segment,
    }
