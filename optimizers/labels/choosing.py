"""Demos of the calls that choose from a list."""

from collections.abc import Sequence

from polyqa.metrics.agreement import agree
from polyqa.metrics.gold import Question
from polyqa.programs.sixpaq import render_candidates
from polyqa.signatures import Interpretation, Passage, render_passages

from .held import Demo, held_readings


def selecting(question: Question, shortlist: Sequence[Passage], count: int) -> list[Demo]:
    """Return the demo of `SelectPassages`: of a shortlist the first passage of each gold reading."""
    numbers = dict.fromkeys(number for _, number, _ in held_readings(question, shortlist))
    if not numbers or len(shortlist) <= count:
        return []
    chosen = list(dict.fromkeys([*numbers, *range(1, len(shortlist) + 1)]))[:count]
    return [
        {
            "passages": render_passages(shortlist),
            "question": question.question,
            "count": count,
            "selected": chosen,
        }
    ]


def keeping(question: Question, candidates: Sequence[Interpretation]) -> list[Demo]:
    """Return the demo of `SelectQuestions`: of the candidates the first with an answer of each gold reading."""
    if not candidates:
        return []
    kept = [
        next((number for number, one in enumerate(candidates, 1) if agree(one.answer, reading.short_answers)), None)
        for reading in question.readings
    ]
    return [
        {
            "question": question.question,
            "candidates": render_candidates(candidates),
            "kept": sorted({number for number in kept if number is not None}),
        }
    ]
